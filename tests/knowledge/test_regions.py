"""Where an article belongs by the rules that ship, and what PetScan's files add."""

from __future__ import annotations

import itertools
import json
import re

import pytest
import yaml

from ccfw.errors import RequestError
from ccfw.knowledge.lists import normal, titles
from ccfw.knowledge.regions import Classifier, Lists, Rules
from ccfw.knowledge.rules import read_lists, read_rules
from ccfw.records import Region
from ccfw.resources import resource
from ccfw.universe.reading import read_universe

MAIN = {"MY": "ms", "ID": "id", "TH": "th", "VN": "vi", "PH": "tl", "CN": "zh", "JP": "ja", "KR": "ko", "BN": "ms"}
LANGUAGES = ("en", *sorted(set(MAIN.values())))


@pytest.fixture(scope="module")
def rules() -> Rules:
    return read_rules(resource("data") / "kb")[0]


def classifier(rules: Rules, language: str, lists: Lists | None = None) -> Classifier:
    return Classifier(rules, language, lists or Lists())


@pytest.mark.parametrize(
    ("language", "title", "categories", "tags"),
    [
        ("vi", "Tiến quân ca", ["Bài hát tiếng Việt", "Nhạc nghi lễ Việt Nam"], ""),
        ("vi", "Áo dài", ["Trang phục Việt Nam"], "dress"),
        ("vi", "Hội Lim", ["Các lễ hội Việt Nam"], "festivals"),
        ("vi", "Gióng", ["Danh sách về văn hóa", "Nhạc dân tộc"], ""),
        ("vi", "Đám cưới người Mông", ["Người Mông"], "weddings"),
        ("tl", "Ati-Atihan", ["Mga kapistahan sa Pilipinas"], "festivals"),
        ("th", "สงกรานต์", ["เทศกาลในประเทศไทย"], "festivals"),
        ("id", "Rawon", ["Masakan Jawa"], "food"),
        ("id", "Bandung", ["Kota dengan kuliner"], ""),
        ("en", "Android", ["Osaka University research"], ""),
        ("en", "Aikido", ["Japanese martial arts"], "arts"),
        ("en", "Laksa", ["Food and drink in Malaysia"], "food drink"),
        ("en", "Ponggal", ["Festivals (Tamil)"], "festivals"),
        ("en", "Sayonara", ["Japanese-language films"], ""),
        ("en", "Merisik", ["Wedding films", "Marriage law"], "weddings law"),  # two different words say weddings
        ("en", "Merisik", ["Wedding films", "Wedding songs"], ""),
        ("ko", "추석", ["한국의 명절 음식"], "food festivals"),
    ],
)
def test_an_article_is_about_what_its_title_or_the_heads_of_its_categories_say(
    rules: Rules, language: str, title: str, categories: list[str], tags: str
) -> None:
    assert classifier(rules, language).place(title, categories).tags == tuple(tags.split())


@pytest.mark.parametrize(
    ("headings", "tags"),
    [
        (["Văn hóa", "Ẩm thực"], ("food",)),
        (["Văn hóa", "Thể thao"], ("arts",)),
        (["Người nổi tiếng"], ()),
        (["Sử dụng", "Tiếng Việt"], ("language",)),
        ([], ()),
    ],
)
def test_a_section_is_about_what_the_nearest_heading_says(
    rules: Rules, headings: list[str], tags: tuple[str, ...]
) -> None:
    assert classifier(rules, "vi").tags(headings) == tags


@pytest.mark.parametrize(
    ("language", "title", "categories", "regions"),
    [
        ("en", "Nasi lemak", ["Malaysian cuisine", "Rice dishes"], "MY"),
        ("en", "Laksa", ["Malaysian noodle dishes", "Singaporean noodle dishes", "Soups"], "SG MY"),
        ("en", "Losar", ["Tibetan festivals", "Buddhist holidays in China"], "CN"),
        ("en", "Rice", ["Crops", "Staple foods"], ""),
        ("en", "Java (programming language)", ["Java platform", "Programming languages"], ""),
        ("en", "Chinatown, London", ["British people of Chinese descent", "Districts of London"], ""),
        ("en", "Gulf War", ["Wars involving Japan", *(f"Wars involving X{n}" for n in range(12))], ""),
        ("en", "Rice cake", ["Korean cuisine", "Japanese cuisine", "Chinese cuisine", "Vietnamese cuisine"], ""),
        ("en", "Juche", ["North Korean culture"], ""),
        ("en", "Thaipusam in Malaysia", ["Festivals"], "MY"),
        ("en", "Malayalam", ["Languages of India"], ""),
        ("vi", "Áo dài", ["Trang phục Việt Nam"], "VN"),
        ("vi", "Kimchi", ["Ẩm thực Hàn Quốc"], "KR"),
        ("th", "สงกรานต์", ["เทศกาลในประเทศไทย"], "TH"),
        ("zh", "春节", ["中国节日", "農曆節日"], "CN"),
        ("zh", "新加坡菜", ["新加坡飲食"], "SG"),
        ("ja", "お盆", ["日本の年中行事"], "JP"),
        ("ko", "추석", ["한국의 명절"], "KR"),
        ("id", "Slametan", ["Budaya Jawa"], "ID"),
        ("ms", "Rewang", ["Budaya Malaysia"], "MY"),
        ("tl", "Simbang Gabi", ["Kultura ng Pilipinas"], "PH"),
        ("fr", "Phở", ["Cuisine vietnamienne"], ""),
    ],
)
def test_an_article_belongs_where_categories_and_title_say(
    language: str, title: str, categories: list[str], regions: str, rules: Rules
) -> None:
    assert sorted(classifier(rules, language).place(title, categories).regions) == sorted(regions.split())


@pytest.mark.parametrize(
    ("language", "title", "categories", "templates", "kind"),
    [
        ("en", "Malaysia", [], [], "country"),
        ("en", "List of Malaysian dishes", [], [], "list"),
        ("en", "1998", [], [], "year"),
        ("en", "March 3", [], [], "year"),
        ("en", "Batik (disambiguation)", [], [], "disambiguation"),
        ("en", "Tan", [], ["disambig"], "disambiguation"),
        ("en", "Tan", [], ["disambiguation needed"], None),
        ("en", "P. Ramlee", ["1929 births", "Malaysian actors"], [], "person"),
        ("en", "Battle of X", ["Battles in China"], [], "event"),
        ("en", "Kenduri", ["Malay culture"], [], None),
        ("vi", "Việt Nam", [], [], "country"),
        ("vi", "Danh sách lễ hội", [], [], "list"),
        ("vi", "Tháng 7", [], [], "year"),
        ("vi", "Trang Chính", [], [], "portal"),
        ("vi", "Hoa", [], ["trang định hướng"], "disambiguation"),
        ("th", "ประเทศไทย", [], [], "country"),
        ("ja", "日本の祭り一覧", [], [], "list"),
        ("ja", "2011年", [], [], "year"),
        ("ko", "대한민국", [], [], "country"),
        ("zh", "中国节日列表", [], [], "list"),
        ("id", "Daftar makanan", [], [], "list"),
        ("ms", "Senarai masakan", [], [], "list"),
        ("tl", "Talaan ng mga pista", [], [], "list"),
    ],
)
def test_hubs_are_told_by_their_kind(
    language: str, title: str, categories: list[str], templates: list[str], kind: str | None, rules: Rules
) -> None:
    assert classifier(rules, language).hub(title, categories, templates) == kind


@pytest.mark.parametrize(
    ("language", "text", "tag"),
    [
        ("en", "Malaysian cuisine", "food"),
        ("vi", "Ẩm thực Việt Nam", "food"),
        ("th", "อาหารไทย", "food"),
        ("ja", "日本の葬儀", "funerals"),
        ("ko", "한국의 명절", "festivals"),
        ("zh", "中国婚礼", "weddings"),
        ("id", "Adat Minangkabau", "etiquette"),
        ("ms", "Perayaan di Malaysia", "festivals"),
        ("tl", "Mga kapistahan sa Pilipinas", "festivals"),
    ],
)
def test_tags_are_told_in_every_language(language: str, text: str, tag: str, rules: Rules) -> None:
    assert tag in classifier(rules, language).tags([text])


def test_a_tag_is_not_told_by_part_of_a_word_where_blanks_part_words(rules: Rules) -> None:
    assert classifier(rules, "vi").tags(["Lịch sử Việt Nam", "Anh hùng dân tộc Việt Nam"]) == ()
    assert classifier(rules, "en").tags(["Steamships", "Lawnmowers"]) == ()


def test_communities_are_told_within_their_region(rules: Rules) -> None:
    chosen = classifier(rules, "en")
    assert chosen.place("Gawai Dayak", ["Iban people", "Festivals in Malaysia"]).identities == {
        Region.MY: ("Borneo_Bumiputera_Christian",)
    }
    assert chosen.identities(Region.JP, ["Iban people"]) == ()


def test_every_region_is_named_in_every_language_and_every_tag_too(rules: Rules) -> None:
    assert set(rules.regions) == set(Region)
    lacking = {region: set(LANGUAGES) - set(each.names) for region, each in rules.regions.items()}
    assert {region: found for region, found in lacking.items() if found} == {}
    assert {tag: set(LANGUAGES) - set(words) for tag, words in rules.tags.items() if set(LANGUAGES) - set(words)} == {}


def test_every_kind_of_hub_but_disambiguation_is_told_in_every_language(rules: Rules) -> None:
    for kind in ("country", "list", "year", "portal", "disambiguation"):
        assert set(rules.left_out[kind].titles) >= set(LANGUAGES), kind


def test_every_pattern_is_a_pattern(rules: Rules) -> None:
    words = [each.names for each in rules.regions.values()] + [each.but_not for each in rules.regions.values()]
    words += [*rules.tags.values(), *itertools.chain(*(codes.values() for codes in rules.identities.values()))]
    words += [getattr(hub, part) for hub in rules.left_out.values() for part in ("titles", "templates", "categories")]
    for each in words:
        for pattern in itertools.chain(*each.values()):
            assert re.compile(pattern).match("") is None, pattern


def test_the_communities_are_those_of_the_universe(rules: Rules) -> None:
    universe = read_universe(resource("data") / "universe")
    known = {(each.region, identity.code) for each in universe.regions for identity in each.identities}
    named = {(region, code) for region, codes in rules.identities.items() for code in codes}
    assert named <= known
    assert {region for region, _ in named} == set(Region)


def test_no_key_of_the_rules_is_read_as_anything_but_a_text() -> None:
    content = yaml.safe_load((resource("data") / "kb" / "rules.yaml").read_text("utf-8"))
    assert set(content["regions"]) == {region.value for region in Region}


# ---- lists

FULL = {"n": "result", "*": [{"n": "combination", "a": {"type": "subset", "*": [
    {"n": "page", "title": "Nasi_lemak", "id": 1, "namespace": 0, "len": 9},
    {"n": "page", "title": "Malaysian_cuisine", "id": 2, "namespace": 14, "len": 9}]}}]}  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "Nasi lemak\nAis kacang\n",
        "\ufeffnasi_lemak\r\n\r\nAis_kacang",
        "* [[Nasi lemak]]\n* [[:Ais kacang|ABC]]",
        '"number","title","pageid","namespace","length","touched"\n"1","Nasi_lemak","5","","9","2"\n"2","Ais_kacang","6","0","9","2"\n"3","Malaysia","7","14","9","2"',
        "number\ttitle\tpageid\tnamespace\n1\tNasi_lemak\t5\t\n2\tAis_kacang\t6\t(Main)\n3\tX\t7\tCategory",
        json.dumps({"*": [{"a": {"*": ["Nasi_lemak", "Ais_kacang"]}}]}),
        json.dumps({"pages": [{"page_title": "Nasi_lemak", "page_namespace": 0}, {"page_title": "Ais_kacang"}]}),
        json.dumps(["Nasi lemak", "Ais kacang"]),
    ],
    ids=["plain", "underscores", "wiki", "csv", "tsv", "sparse-json", "json-lines", "array"],
)
def test_titles_are_read_from_any_export_of_petscan(text: str) -> None:
    assert titles(text) == {"Nasi lemak", "Ais kacang"}


def test_of_petscans_full_json_the_articles_count() -> None:
    assert titles(json.dumps(FULL)) == {"Nasi lemak"}


@pytest.mark.parametrize("text", ['{"error": "timeout"}', "[1, 2]", '{"*": 3}', "{"])
def test_json_that_is_no_list_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        titles(text)


def test_a_title_is_as_a_dump_has_it() -> None:
    assert normal("  nasi__lemak ") == "Nasi lemak"
    assert normal("") == ""


def test_a_list_puts_a_title_in_a_region_whatever_its_categories(rules: Rules) -> None:
    lists = Lists({Region.BN: {"Ambuyat"}}, {"food": {"Ambuyat"}}, {(Region.BN, "Iban_Christian"): {"Ambuyat"}})
    place = classifier(rules, "en", lists).place("Ambuyat", ["Malaysian things"])
    assert (place.regions, place.tags) == ((Region.BN, Region.MY), ("food",))
    assert place.identities == {Region.BN: ("Iban_Christian",), Region.MY: ()}


def test_a_list_follows_redirects() -> None:
    lists = Lists({Region.VN: {"Pho", "Tết"}}, {"food": {"Pho"}}, {}).followed({"Pho": "Phở", "X": "Y"})
    assert lists.regions == {Region.VN: {"Pho", "Tết", "Phở"}}
    assert lists.tags == {"food": {"Pho", "Phở"}}


def test_every_fault_of_the_lists_is_named_at_once(rules: Rules, tmp_path: object) -> None:
    with pytest.raises(RequestError) as caught:
        read_lists({Region.MY: ["none.tsv"]}, {"foods": []}, {"MY/Nobody": []}, rules)
    assert [problem.partition("; there are ")[0] for problem in caught.value.problems] == [
        "kb.build.lists.identities: no identity MY/Nobody",
        "kb.build.lists.tags: no tag foods",
        "kb.build.lists: none.tsv: No such file or directory",
    ]
