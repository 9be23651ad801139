"""``stage=kb query=…`` as a user runs it: what is taken literally, what is refused, what is printed."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import given
from hypothesis import strategies as st
from omegaconf import OmegaConf

from ccfw.knowledge.answered import answer_lines
from ccfw.knowledge.retriever import Answer, Found, FoundTaboo
from ccfw.paragraphs import columns
from ccfw.request import literal
from tests.e2e.running import Run, ccfw, environment
from tests.knowledge.test_building import PAGES, english
from tests.knowledge.test_retriever import PASSAGES, TABOOS, TERMS

ENTRY = re.compile(r"(?P<id>\S+) \[(?P<region>[A-Z]{2})\] (?P<title>.+): (?P<score>-?\d+\.\d+)")
SPECIAL = st.text(
    st.one_of(st.sampled_from(list("\"'\\${}[](),:=#?~ \n\t%@*")), st.characters(exclude_categories=["Cs"])), min_size=1
)


def asked(folder: Path, query: str, *more: str, env: dict[str, str] | None = None) -> Run:
    return ccfw(folder, "stage=kb", "retriever=bm25", f"query={query}", *more, env=env or {})


def entries(run: Run) -> list[dict[str, str]]:
    return [match.groupdict() for match in map(ENTRY.fullmatch, run.out.splitlines()) if match]


def closing(run: Run) -> str:
    return run.out.splitlines()[-1]


# ---- the query, literally


@given(SPECIAL)
def test_a_query_reaches_the_settings_as_it_was_typed(text: str) -> None:
    if literal(f"query={text}") == f"query={text}":
        return  # null, or in quotation marks of its own
    config = OmegaConf.create({"query": None})
    OmegaConf.update(config, "query", OverridesParser.create().parse_override(literal(f"query={text}")).value())
    assert config.query == text


@pytest.mark.parametrize(
    ("override", "value"),
    [
        ('query="money packet"', "money packet"),
        ("query='结婚红包'", "结婚红包"),
        (r'query="a \"b\""', 'a "b"'),
        ("query=null", None),
        ("+query=What, when?", "What, when?"),
        ("query='a' or 'b'", "'a' or 'b'"),
    ],
)
def test_quoted_queries_mean_what_they_meant(override: str, value: str | None) -> None:
    assert OverridesParser.create().parse_override(literal(override)).value() == value


@pytest.mark.parametrize("override", ["region=[SG,MY]", "query_other=a, b", 'query="a","b"', "query=", "~query"])
def test_nothing_else_is_touched(override: str) -> None:
    assert literal(override) == override


@pytest.mark.parametrize(
    "query",
    [
        "结婚红包",
        'the "best" ${x}',
        *(
            pytest.param(each, marks=pytest.mark.long)
            for each in ("can't eat beef", "funeral: what to bring (and not)", "What, when?", "2023")
        ),
    ],
)
def test_a_query_needs_no_quotation_marks_of_its_own(tmp_path: Path, query: str) -> None:
    run = asked(tmp_path, query)
    assert (run.code, run.err) == (0, "")
    assert closing(run).startswith("ccfw stage=kb status=ok ")


# ---- whom it is asked of


def test_names_that_there_are_not_are_refused_all_at_once(tmp_path: Path) -> None:
    run = asked(tmp_path, "rice", "region=[MY,XX]", "identity=[Kinh_Buddhist,Malay_Muslim]", "domain=Food", "limit=3")
    assert (run.code, run.out) == (2, "")
    assert run.err.splitlines() == [
        "ccfw: domain: stage=kb looks up by query, region and identity; put the subject into the query",
        "ccfw: limit: stage=kb looks up by query, region and identity; retriever.passages= and retriever.taboos= "
        "say how much is shown",
        "ccfw: region=XX: no such region; options: SG, MY, ID, TH, VN, PH, CN, JP, KR, BN",
        "ccfw: identity=Kinh_Buddhist: no such identity in MY; options: Malay_Muslim, Chinese_Buddhist_Taoist, "
        "Chinese_Christian, Tamil_Hindu, Indian_Muslim, Borneo_Bumiputera_Christian, Western_Expatriate",
    ]


def test_every_identity_that_is_asked_for_counts(tmp_path: Path) -> None:
    more = ("region=MY", "retriever.min_score=-9", "retriever.identity_bonus=50", "retriever.passages=6")
    both = asked(tmp_path, "wedding", "identity=[Malay_Muslim,Tamil_Hindu]", *more)
    raised = {each["id"] for each in entries(both) if float(each["score"]) > 40}
    ones = [asked(tmp_path, "wedding", f"identity={name}", *more) for name in ("Malay_Muslim", "Tamil_Hindu")]
    of_one = [{each["id"] for each in entries(run) if float(each["score"]) > 40} for run in ones]
    assert all(of_one)
    assert raised & of_one[0]
    assert raised & of_one[1]


def test_without_a_region_taboos_are_of_all_regions(tmp_path: Path) -> None:
    everywhere = entries(asked(tmp_path, "ang pow funeral salam songkran", "retriever.taboos=40"))
    regions = {each["region"] for each in everywhere if each["title"].startswith("taboo,")}
    assert len(regions) > 3
    two = entries(asked(tmp_path, "funeral", "region=[JP,KR]", "retriever.taboos=40"))
    assert {each["region"] for each in two if each["title"].startswith("taboo,")} == {"JP", "KR"}


# ---- what is printed


@pytest.mark.parametrize(("most", "taboos"), [(0, 1), pytest.param(1, 0, marks=pytest.mark.long), (3, 2)])
def test_as_much_is_shown_as_was_asked_for(tmp_path: Path, most: int, taboos: int) -> None:
    run = asked(tmp_path, "wedding money", f"retriever.passages={most}", f"retriever.taboos={taboos}")
    kinds = [each["title"].startswith("taboo,") for each in entries(run)]
    assert kinds == [False] * most + [True] * taboos
    assert f" done={most + taboos} " in closing(run)
    assert ("No passage is shown: retriever.passages=0." in run.out) == (most == 0)
    assert ("No taboo is shown: retriever.taboos=0." in run.out) == (taboos == 0)


def test_lines_fit_the_terminal_with_a_blank_line_between_entries(tmp_path: Path) -> None:
    run = asked(tmp_path, "结婚 红包 wedding", "region=[SG,CN]", env={"COLUMNS": "60"})
    assert len(entries(run)) > 3
    lines = run.out.splitlines()[:-1]
    assert max(map(columns, lines)) <= 60
    heads = [number for number, line in enumerate(lines) if re.match(r"[A-Z]{2}_P?\d+ \[", line)]
    assert all(lines[number - 1] == "" for number in heads)


def test_what_nothing_answers_is_said_to_have_no_answer(tmp_path: Path) -> None:
    run = asked(tmp_path, "qzxv wkjh")
    assert run.out.splitlines()[:-1] == ["No passage is found.", "", "No taboo is found.", ""]
    strict = asked(tmp_path, "wedding", "retriever.min_score=1000")
    assert strict.out.splitlines()[:-1] == [
        "No passage lies above retriever.min_score=1000.",
        "",
        "No taboo lies above retriever.min_score=1000.",
        "",
    ]
    assert " done=0 " in closing(strict)


def test_what_shares_no_word_with_the_query_is_said_to_be_near_by_meaning_at_most() -> None:
    note = "No word of the query is in what follows: it is what lies nearest by meaning, and may be far from it."
    terms = TERMS.model_copy(update={"passages": 1, "taboos": 1})
    answer = Answer((Found(PASSAGES[1], "scenario", 0.8, 2.0),), (), (FoundTaboo(TABOOS[2], 1.0),), "deviations", terms)
    said = {
        query: note in answer_lines(query, answer, 110) for query in ("asdkjh the", "the village", "in", "结婚", "pork")
    }
    assert said == {"asdkjh the": True, "the village": False, "in": False, "结婚": True, "pork": False}


def test_out_is_what_was_searched(tmp_path: Path) -> None:
    dump = english(tmp_path, *PAGES)
    base = ("kb=wikipedia", f"kb.dumps=[{dump}]")
    built = ccfw(tmp_path, "stage=kb", *base).closings["kb"]["out"]
    run = asked(tmp_path, "laksa", *base, "region=MY")
    assert closing(run).endswith(f" out={built}")
    assert [each["id"] for each in entries(run)][:1] == ["enwiki_5_0_MY"]
    assert "  Source: enwiki:Laksa, revision 7, licence: CC-BY-SA-4.0" in run.out.splitlines()
    assert closing(asked(tmp_path, "laksa")).endswith("/data/knowledge")


# ---- Ctrl-C while passages are embedded


@pytest.mark.long
@pytest.mark.embedded
def test_ctrl_c_ends_embedding_between_portions_and_keeps_what_is_done(tmp_path: Path) -> None:
    rows = "".join(f"SG,Do the thing of number {n} before the guests have come,Because {n}.\n" for n in range(400))
    (tmp_path / "mine.csv").write_text("region,action,explanation\n" + rows, "utf-8")
    command = [sys.executable, "-m", "ccfw", "stage=kb", "query=rice", "region=SG", "kb.taboos=[mine.csv]"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=tmp_path, env=environment(), stdout=pipe, stderr=pipe, text=True) as process:
        started = time.monotonic()
        while not any(each.stat().st_size for each in tmp_path.glob("workspace/kb/vectors/*.vectors")):
            assert time.monotonic() - started < 120
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (1, "")
    assert err.splitlines()[-1].endswith("WARNING stopped (SIGINT); the same line goes on")
    (kept,) = tmp_path.glob("workspace/kb/vectors/*.vectors")
    assert kept.stat().st_size % (16 + 384 * 4) == 0
    assert 0 < kept.stat().st_size // (16 + 384 * 4) < 400
