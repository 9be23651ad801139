"""Wikitext → prose: what is kept, what goes, and that nothing takes long."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccfw.knowledge import markup
from ccfw.knowledge.rendering import Markup
from ccfw.knowledge.rules import read_rules
from ccfw.knowledge.wikitext import Article, categories, interwiki, read_article, templates
from ccfw.resources import resource

RULES = read_rules(resource("data") / "kb")[1]


@pytest.fixture
def rules() -> Markup:
    return RULES


def read(text: str, rules: Markup, language: str = "en") -> Article:
    return read_article(text, rules.names(language, {}), rules, language)


def lead(text: str, rules: Markup, language: str = "en") -> str:
    return read(text, rules, language).sections[0].text


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("'''Tết''' is ''a'' [[Vietnam|Vietnamese]] [[festival]]s.", "Tết is a Vietnamese festivals."),
        ("A<ref>B [[c]]</ref> d<ref name=x/> e<ref name=y />.", "A d e."),
        ("A<!-- b\n\nc --> d", "A d"),
        ("A <!-- never closed", "A"),
        ("A<gallery>\nFile:x.jpg|B\n</gallery> c", "A c"),
        ("<div class='x'>A</div><br/>b<br>c", "A\nb\nc"),
        ("A [[File:x.jpg|thumb|A [[b]] c]] d", "A d"),
        ("A [[Image:x.png]] [[Category:B]] [[th:สงกรานต์]] c", "A c"),
        ("A [[:Category:B|b]] [[:th:สงกรานต์|c]]", "A b c"),
        ("A [[B (c)#d|e]] [[F#g]] [[h_i]]", "A e F h i"),
        ("A [http://x.org b c] d [http://y.org] e", "A b c d e"),
        ("a&nbsp;b &amp; c&#233; &ndash; &bogus;", "a b & cé – &bogus;"),
        ("{| class=x\n| a\n{| \n| b\n|}\n|}\nC", "C"),
        ("A\n{| class=x\n| never closed\n", "A"),
        ("{{Infobox|a={{b|c}}|d=[[e]]}}A", "A"),
        ("A {{unknown|b}} c", "A c"),
        ("A ({{unknown|b}}) c ({{x}}; d)", "A c (d)"),
        ("A {{lang|th|สงกรานต์}} b {{lang-th|ไทย}} {{langx|th|ผ้า}}", "A สงกรานต์ b ไทย ผ้า"),
        ("A {{nihongo|tea|茶道|sadō}} {{nihongo|B|茶}} {{Nihongo|C}}", "A tea (茶道, sadō) B (茶) C"),
        ("A ({{zh|s=春节|t=春節|p=Chūnjié}}) {{convert|5|km}}", "A (春节, Chūnjié) 5, km"),
        ("A {{nowrap|{{lang|ko|떡}} b}} {{transl|ko|rr|tteok}}", "A 떡 b tteok"),
        ("A {{ill|B|ms|C}} {{ill|D|ms|E|lt=F}} {{仮リンク|G|en|H}}", "A B F G"),
        ("{{Template:lang|th|ผ้า}} a {{okina}}o {{Main|x}}b", "ผ้า a ʻo b"),
        ("* A\n* B\n# C\n: D", "A\nB\nC\nD"),
        ("__NOTOC__A __NOEDITSECTION__", "A"),
        ("A <nowiki>b</nowiki> c", "A b c"),
    ],
)
def test_prose_is_kept_and_the_rest_goes(text: str, plain: str, rules: Markup) -> None:
    assert lead(text, rules) == plain


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("A-{zh-hans:计算机; zh-hant:電腦}-b", "A计算机b"),
        ("A-{电脑}-b", "A电脑b"),
        ("A-{H|zh-cn:甲;zh-tw:乙}-b", "Ab"),
        ("A-{zh-tw:乙;zh-hk:丙}-b", "A乙b"),
        ("A-{A|zh-cn:甲;zh-tw:乙}-b", "A甲b"),
    ],
)
def test_chinese_conversion_gives_one_wording(text: str, plain: str) -> None:
    assert markup.converted(text) == plain


def test_sections_keep_their_headings_and_those_without_prose_of_their_own_go(rules: Markup) -> None:
    text = "Lead.\n== Food ==\nA.\n=== ''[[Phở|Noodles]]'' ===\nB.\n== Notes ==\nC.\n===D===\nE.\n== Dress==\n{{x}}\n"
    text += "=== Hat ===\nF."
    found = read(text, rules).sections
    assert [(each.path, each.text) for each in found] == [
        ((), "Lead."),
        (("Food",), "A."),
        (("Food", "Noodles"), "B."),
        (("Dress", "Hat"), "F."),
    ]


def test_headings_inside_comments_and_references_are_none(rules: Markup) -> None:
    found = read("A <!--\n== B ==\n--> c <ref>\n== D ==\n</ref> e\n== F ==\ng", rules).sections
    assert [each.path for each in found] == [(), ("F",)]


def test_sections_to_skip_are_known_in_the_articles_language(rules: Markup) -> None:
    assert [each.path for each in read("A\n== Tham khảo ==\nb\n== Món ăn ==\nc", rules, "vi").sections] == [
        (),
        ("Món ăn",),
    ]


def test_an_article_without_a_lead_has_an_empty_one(rules: Markup) -> None:
    assert [(each.path, each.text) for each in read("==A==\nb", rules).sections] == [((), ""), (("A",), "b")]


def test_what_writers_marked_is_told(rules: Markup) -> None:
    section = read("''bánh chưng'' and '''bold''' and {{lang|ko|떡}} of [[Huế]], ''it's''.", rules).sections[0]
    assert section.marked == ("떡", "bánh chưng", "it's")
    assert section.links == ("Huế",)


def test_an_odd_mark_of_italics_does_not_swallow_the_rest_of_the_article(rules: Markup) -> None:
    assert read("''a b\nc ''de'' f", rules).sections[0].marked == ("de",)


@pytest.mark.parametrize(
    ("language", "text", "names"),
    [
        ("vi", "[[Thể loại:Ẩm thực Việt Nam]] [[thể_loại: Tết |x]]", ("Ẩm thực Việt Nam", "Tết")),
        ("th", "[[หมวดหมู่:อาหารไทย]]", ("อาหารไทย",)),
        ("zh", "[[分类:春节]] [[分類:節日]]", ("春节", "節日")),
        ("en", "[[Category:A_b]] [[Category:A b]] [[:Category:C]] [[Thể loại:D]]", ("A b",)),
    ],
)
def test_categories_are_found_under_their_local_name(
    language: str, text: str, names: tuple[str, ...], rules: Markup
) -> None:
    assert categories(text, rules.names(language, {})) == names


def test_namespaces_named_by_the_dump_count_besides_the_table(rules: Markup) -> None:
    names = rules.names("jv", {14: "Kategori", 6: "Gambar", 0: "", 1: "Dhiskusi"})
    assert categories("[[Kategori:Batik]] [[Category:B]]", names) == ("Batik", "B")
    assert read_article("A [[Gambar:x.png|b]]c", names, rules, "jv").sections[0].text == "A c"


def test_titles_in_other_languages_are_told() -> None:
    text = "[[th:สงกรานต์]] [[zh-min-nan:A]] [[:en:B]] [[File:C]] [[Category:D]]"
    assert interwiki(text) == {"th": "สงกรานต์", "zh-min-nan": "A"}


def test_names_of_templates_are_told() -> None:
    assert templates("{{Disambig}} {{ Infobox food\n|a={{B_c|d}}}} {{#if:x}} {{{1}}}") == {
        "disambig",
        "infobox food",
        "b c",
    }


@given(st.text(alphabet="{}[]|'<!->ab=\n", max_size=400))
def test_whatever_the_markup_it_is_read_and_no_bracket_is_left_open(text: str) -> None:
    for section in read(text, RULES).sections:
        assert "{{" not in section.text or "}}" not in section.text


@given(st.text(alphabet="{}[] a", max_size=200))
def test_balancing_leaves_what_is_balanced_alone_and_takes_only_brackets(text: str) -> None:
    mended, repairs = markup.balanced(text)
    assert markup.balanced(mended) == (mended, 0) or repairs
    assert mended.replace("{", "").replace("}", "").replace("[", "").replace("]", "").count("a") <= text.count("a")
    assert markup.balanced("{{a|[[b]]}} [[c]]") == ("{{a|[[b]]}} [[c]]", 0)


PATHOLOGICAL = {
    "unclosed templates": "{{a|" * 100_000,
    "unclosed links": "[[a|" * 100_000,
    "unclosed tags": "<div>" * 100_000,
    "unclosed references": "<ref>a " * 100_000,
    "unclosed comments": "<!-- a " * 100_000,
    "unclosed tables": "{|\n| a\n" * 80_000,
    "deep templates": "{{a|" * 50_000 + "}}" * 50_000,
    "deep links": "[[a|" * 50_000 + "]]" * 50_000,
    "a huge table": "{|\n" + "|-\n| a || b || {{c|d}} || [[e]]\n" * 20_000 + "|}",
    "quotes": "'''''a'' " * 100_000,
    "single braces": "{" * 500_000,
    "single brackets": "[" * 500_000,
    "external links": "[http://a " * 80_000,
    "equals signs": "=" * 500_000,
    "headings": "== a ==\n" * 60_000,
    "arguments": "{{{a|" * 80_000,
    "entities": "&amp" * 120_000,
    "conversions": "-{a|" * 100_000,
    "blanks": " " * 500_000 + "\n" * 100_000,
    "brackets in prose": "(a " * 200_000,
}


@pytest.mark.parametrize("name", PATHOLOGICAL)
def test_a_pathological_article_takes_no_seconds(name: str, rules: Markup) -> None:
    started = time.process_time()
    text = PATHOLOGICAL[name]
    read(text, rules)
    categories(text, rules.names("en", {}))
    templates(text)
    assert time.process_time() - started < 3


@pytest.mark.parametrize("text", ["{{a|b", "a]]", "{|\n| x", "{{a|[[b}}"])
def test_what_was_mended_is_counted(text: str, rules: Markup) -> None:
    assert read(text, rules).repairs >= 1
    assert read("{{a|b}} [[c]]\n{|\n| x\n|}", rules).repairs == 0
