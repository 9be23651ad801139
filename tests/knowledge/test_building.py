"""A knowledge base of small dumps: what is kept, why the rest is not, and the same files after any kill."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ccfw.errors import StoreError
from ccfw.frames import read_table, write_table
from ccfw.knowledge.building import Built, build, clean, read_passages
from ccfw.knowledge.drafts import Plan, Tally
from ccfw.knowledge.harvest import Recipe
from ccfw.knowledge.records import Passage
from ccfw.knowledge.regions import Lists, Rules
from ccfw.knowledge.rendering import Markup
from ccfw.knowledge.rules import read_rules
from ccfw.knowledge.splitting import Size
from ccfw.knowledge.terms import Rarity
from ccfw.records import Region
from ccfw.resources import resource
from tests.knowledge.test_dumps import dump_text, page

ENGLISH = (
    '<mediawiki version="{version}" xml:lang="en"><siteinfo><dbname>enwiki</dbname><namespaces>'
    '<namespace key="14">Category</namespace></namespaces></siteinfo>'
)


def prose(name: str, words: int = 60) -> str:
    return " ".join(f"{name.lower()}{number}{'. Then' if number % 9 == 8 else ''}" for number in range(words)) + "."


def article(name: str, category: str, *sections: str) -> str:
    return page(name, "\n".join([f"'''{name}''' is {prose(name)}", *sections, f"[[Category:{category}]]"]))


LAKSA = article(
    "Laksa", "Malaysian cuisine", "== Serving ==", prose("serving"), "== Notes ==", "x", "== Tiny ==", "y z"
)
PAGES = (
    LAKSA,
    article("Pantun", "Singaporean culture]] [[Category:Malaysian culture"),
    article("Gold", "Chemical elements"),
    article("Malaysia", "Malaysia"),
    article("List of Malaysian dishes", "Malaysian cuisine"),
    article("Muar", "Rivers of Malaysia"),
    page("Curry mee", "#REDIRECT [[Laksa]]", 0, '<redirect title="Laksa" />'),
    page("Talk:Laksa", "hi", 1),
    article("Laksa again", "Malaysian cuisine").replace("laksa again", "laksa").replace("Laksa again'''", "Laksa'''"),
    article("Asam", "Malaysian cuisine", "== Serving ==", prose("serving").replace("serving50", "other")),
    page("Empty", " "),
)


@cache
def rules_and_markup() -> tuple[Rules, Markup]:
    return read_rules(resource("data") / "kb")


def recipe(**changes: Any) -> Recipe:
    rules, markup = rules_and_markup()
    made = Recipe(rules, markup, Lists(), Size(80, 200), 0.2, True, "CC-BY-SA-4.0")
    return replace(made, **changes)


def plan(*dumps: Path, **changes: Any) -> Plan:
    made = Plan(dumps, recipe(), Rarity(0.0, 2, 8), 0.8, False, passages_in_file=2, pages_in_file=3)
    return replace(made, **changes)


def english(folder: Path, *pages: str, name: str = "enwiki.xml") -> Path:
    path = folder / name
    path.write_text(dump_text(*pages, head=ENGLISH), "utf-8")
    return path


def built(chosen: Plan, folder: Path) -> Built:
    done = build(chosen, folder, lambda _: True)
    assert isinstance(done, Built)
    return done


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted((folder / "passages").iterdir())}


def test_every_page_is_accounted_for_by_what_became_of_it(tmp_path: Path) -> None:
    done = built(plan(english(tmp_path, *PAGES)), tmp_path / "out")
    (dump,) = done.tally.dumps
    assert dump["kinds"] == {
        "kept": 4,
        "no region": 1,
        "hub: country": 1,
        "hub: list": 1,
        "no topic": 1,
        "redirect": 1,
        "namespace": 1,
        "empty": 1,
    }
    assert sum(dump["kinds"].values()) == dump["pages"] == len(PAGES)
    assert (dump["wiki"], dump["language"], dump["status"], dump["ruled"]) == ("enwiki", "en", "whole", True)
    assert done.regions == {**dict.fromkeys(map(str, Region), 0), "MY": 4, "SG": 1}
    assert done.lost == {"too short": 1, "no topic": 1, "exact duplicate": 1, "near-duplicate": 1}


def test_a_passage_says_where_it_is_from_and_the_lead_comes_first(tmp_path: Path) -> None:
    built(plan(english(tmp_path, *PAGES)), tmp_path / "out")
    found = list(read_passages(tmp_path / "out"))
    lead, serving = found[:2]
    assert lead == Passage(
        passage_id="enwiki_5_0_MY",
        region=Region.MY,
        title="Laksa",
        tags=("food",),
        identities=(),
        niche_terms=(),
        text=f"Laksa is {prose('Laksa')}",
        check=None,
        source="enwiki:Laksa",
        revision="7",
        licence="CC-BY-SA-4.0",
        language="en",
    )
    assert (serving.title, serving.text) == ("Laksa › Serving", prose("serving"))
    assert [(each.title, each.region) for each in found[2:]] == [("Pantun", "SG"), ("Pantun", "MY"), ("Asam", "MY")]


def test_what_many_articles_of_any_kind_use_is_no_niche_term(tmp_path: Path) -> None:
    elsewhere = [article(f"Disk {n}", "Computing", f"It runs on Windows. {prose('disk')}") for n in range(4)]
    linked = [
        article(f"City {n}", "Cities in France", f"Near [[Nouvelle-Aquitaine|it]]. {prose('city')}") for n in range(4)
    ]
    told = "They cook in Windows, in Gombak and in Nouvelle-Aquitaine."
    dump = english(tmp_path, article("Klang", "Cuisine of Malaysia", f"{told} {prose('curry')}"), *elsewhere, *linked)
    built(plan(dump), tmp_path / "out")
    terms = [term.term for each in read_passages(tmp_path / "out") for term in each.niche_terms]
    assert terms == ["Gombak"]


def test_a_build_is_stopped_between_its_walks_too_and_goes_on(tmp_path: Path) -> None:
    made = plan(english(tmp_path, *PAGES))
    drafts = tmp_path / "out" / "drafts"
    assert isinstance(build(made, tmp_path / "out", lambda _: Tally.read(drafts).dump == 0), Tally)
    assert not (tmp_path / "out" / "passages").exists()
    built(made, tmp_path / "out")
    built(made, tmp_path / "whole")
    assert files(tmp_path / "out") == files(tmp_path / "whole")


def test_a_tag_may_come_from_a_sections_heading(tmp_path: Path) -> None:
    dump = english(
        tmp_path, article("Klang", "Cities in Malaysia", "== Cuisine ==", prose("curry"), "== Roads ==", prose("road"))
    )
    built(plan(dump), tmp_path / "out")
    assert [(each.title, each.tags) for each in read_passages(tmp_path / "out")] == [("Klang › Cuisine", ("food",))]
    built(plan(dump, recipe=recipe(need_topic=False)), tmp_path / "all")
    assert len(list(read_passages(tmp_path / "all"))) == 3


def test_terms_that_are_rare_in_the_corpus_are_kept(tmp_path: Path) -> None:
    rare = "with Nyonya Buah Keluak inside"
    pages = [
        article(f"Dish{number}", "Malaysian cuisine").replace(
            "''' is", f" is from Penang, {rare if number < 2 else ''} and"
        )
        for number in range(9)
    ]
    built(plan(english(tmp_path, *pages)), tmp_path / "out")
    terms = [[term.term for term in each.niche_terms] for each in read_passages(tmp_path / "out")]
    assert terms == [["Nyonya Buah Keluak"]] * 2 + [[]] * 7


def test_two_languages_lie_in_one_knowledge_base(tmp_path: Path) -> None:
    vietnamese = tmp_path / "viwiki.xml"
    vietnamese.write_text(dump_text(page("Phở", f"'''Phở''' là {prose('món')} [[Thể loại:Ẩm thực Việt Nam]]")), "utf-8")
    done = built(plan(english(tmp_path, LAKSA), vietnamese), tmp_path / "out")
    assert [(each.title, each.language) for each in read_passages(tmp_path / "out")] == [
        ("Laksa", "en"),
        ("Laksa › Serving", "en"),
        ("Phở", "vi"),
    ]
    assert [dump["language"] for dump in done.tally.dumps] == ["en", "vi"]


def test_a_language_without_rules_gives_what_lists_name(tmp_path: Path) -> None:
    path = tmp_path / "frwiki.xml"
    path.write_text(dump_text(page("Laksa", prose("soupe")), head="<mediawiki>"), "utf-8")
    done = built(plan(path), tmp_path / "none")
    assert (done.tally.dumps[0]["ruled"], sum(done.regions.values())) == (False, 0)
    lists = Lists({Region.MY: {"Laksa"}}, {"food": {"Laksa"}}, {})
    done = built(plan(path, recipe=recipe(lists=lists)), tmp_path / "some")
    assert (done.tally.dumps[0]["ruled"], done.regions["MY"]) == (True, 1)


@pytest.mark.parametrize(("follow", "kept"), [(True, 1), (False, 0)])
def test_a_listed_redirect_stands_for_its_target_if_asked(tmp_path: Path, follow: bool, kept: int) -> None:
    dump = english(
        tmp_path, article("Soup", "Soups"), page("Sup", "#REDIRECT [[Soup#A]]", 0, '<redirect title="Soup#A" />')
    )
    chosen = plan(dump, recipe=recipe(lists=Lists({Region.MY: {"Sup"}}, {}, {})), follow=follow)
    assert built(chosen, tmp_path / "out").regions["MY"] == kept


def test_a_truncated_dump_gives_its_whole_pages_and_says_so(tmp_path: Path) -> None:
    path = english(tmp_path, *PAGES)
    path.write_text(path.read_text("utf-8")[:-100], "utf-8")
    (dump,) = built(plan(path), tmp_path / "out").tally.dumps
    assert (dump["status"], dump["pages"]) == ("truncated", len(PAGES) - 1)


def test_a_dump_without_anything_of_use_makes_an_empty_knowledge_base(tmp_path: Path) -> None:
    done = built(plan(english(tmp_path, article("Gold", "Metals"))), tmp_path / "out")
    assert sum(done.regions.values()) == 0
    assert list(read_passages(tmp_path / "out")) == []


@pytest.mark.long
@settings(max_examples=25)
@given(stops=st.lists(st.integers(1, 24), max_size=4))
def test_a_build_that_was_stopped_anywhere_ends_in_the_same_files(
    tmp_path_factory: pytest.TempPathFactory, stops: list[int]
) -> None:
    folder = tmp_path_factory.mktemp("build")
    more = [article(f"Dish {number}", "Malaysian cuisine") for number in range(9)]
    dumps = english(folder, *PAGES), english(folder, *more, name="second.xml")
    whole = built(plan(*dumps), folder / "whole")
    for stop in stops:
        seen = Counter[str]()

        def watch(_: int, stop: int = stop, seen: Counter[str] = seen) -> bool:
            seen["page"] += 1
            return seen["page"] < stop

        build(plan(*dumps), folder / "again", watch)
    again = built(plan(*dumps), folder / "again")
    assert again == whole
    assert files(folder / "again") == files(folder / "whole")


def test_a_build_that_died_while_it_finished_goes_on(tmp_path: Path) -> None:
    dump = english(tmp_path, *PAGES)
    whole = built(plan(dump), tmp_path / "whole")
    built(plan(dump), tmp_path / "again")
    for path in sorted((tmp_path / "again" / "passages").iterdir())[1:]:
        path.unlink()
    assert built(plan(dump), tmp_path / "again") == whole
    assert files(tmp_path / "again") == files(tmp_path / "whole")


def test_a_file_of_drafts_without_its_tally_is_written_again(tmp_path: Path) -> None:
    dump = english(tmp_path, *PAGES)
    whole = built(plan(dump), tmp_path / "whole")
    left = iter([True] * 6 + [False])
    assert isinstance(build(plan(dump), tmp_path / "again", lambda _: next(left)), Tally)
    max((tmp_path / "again" / "drafts").glob("*.json")).unlink()
    assert built(plan(dump), tmp_path / "again") == whole
    assert files(tmp_path / "again") == files(tmp_path / "whole")


def test_cleaning_leaves_the_passages_alone(tmp_path: Path) -> None:
    built(plan(english(tmp_path, *PAGES)), tmp_path / "out")
    before = files(tmp_path / "out")
    clean(tmp_path / "out")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["passages"]
    assert files(tmp_path / "out") == before


def test_a_packed_dump_makes_the_same_passages_as_a_plain_one(tmp_path: Path) -> None:
    plain = english(tmp_path, *PAGES)
    packed = tmp_path / "packed"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    built(plan(plain), tmp_path / "one")
    built(plan(packed), tmp_path / "two")
    assert files(tmp_path / "one") == files(tmp_path / "two")


# ---- tables


def test_a_table_keeps_its_types_even_without_rows(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    write_table(path, {"a": [], "b": [], "c": []}, {"a": "text", "b": "terms", "c": "number"})
    assert read_table(path) == {"a": [], "b": [], "c": []}
    rows: dict[str, list[Any]] = {"a": ["x", None], "b": [[{"term": "t", "native": None}], []], "c": [1, (1 << 64) - 1]}
    write_table(path, rows, {"a": "text", "b": "terms", "c": "number"})
    assert read_table(path, ["c", "b"]) == {"c": rows["c"], "b": rows["b"]}
    assert [each.name for each in tmp_path.iterdir()] == ["table.parquet"]


def test_what_is_no_table_is_said_to_be_none(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    path.write_text(json.dumps({}), "utf-8")
    with pytest.raises(StoreError) as caught:
        read_table(path)
    assert str(caught.value).startswith(f"{path}: not a Parquet table: ")
