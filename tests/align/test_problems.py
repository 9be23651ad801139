"""Everything that is wrong with ratings and scores is said at once, a line each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ccfw.errors import RequestError
from tests.align.files import long_csv, read, table
from tests.e2e.running import ccfw

WRONG = """\
item,rater,metric,score,region
d1,ann,helpful,4,SG
d1,ann,helpful,3,SG
d1,bo,helpful,6,MY
d1,bo,funny,3,
d2,ann,helpful,good,SG
,ann,helpful,4,SG
d2,bo,helpful,,SG
"""


def problems(option: str, path: Path, **changes: Any) -> tuple[str, ...]:
    with pytest.raises(RequestError) as caught:
        read(option, path, **changes)
    return caught.value.problems


def test_every_problem_of_a_file_has_a_line(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text(WRONG, "utf-8")
    found = problems("long", path, metrics={"helpful": "helpful"}, columns={"region": "region"})
    assert found == (
        f"{path}, line 3: helpful of d1 by ann is rated a second time; the first is at line 2",
        f"{path}, line 4: d1 is in region MY, and in region SG before",
        f"{path}, line 4: helpful of d1 by bo is 6, off the scale of 1 to 5",
        f"{path}, line 6: helpful of d2 by ann is 'good', no number",
        f"{path}, line 7: names no item",
        f"{path}: metric 'funny', 1 times, is not in ratings.metrics; there are helpful; null leaves one out",
    )


def test_of_many_problems_twenty_are_listed_and_the_rest_counted(tmp_path: Path) -> None:
    path = long_csv(tmp_path / "r.csv", {(f"d{number}", "helpful", "ann"): 9 for number in range(25)})
    found = problems("long", path)
    assert len(found) == 21
    assert found[19:] == (
        f"{path}, line 21: helpful of d19 by ann is 9, off the scale of 1 to 5",
        f"{path}: and 5 more like these",
    )


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("r.csv", "", "{path}: holds no ratings"),
        ("r.csv", "item,rater,metric,score\n", "{path}: holds no ratings"),
        ("r.csv", "item,rater,metric,score\nd1,ann,helpful,\n", "{path}: holds no score"),
        (
            "r.csv",
            b"item,rater\n\xff\xfe",
            "{path}: not readable: 'utf-8' codec can't decode byte 0xff in position 11: invalid start byte",
        ),
        (
            "r.json",
            "{",
            "{path}: not readable: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)",
        ),
        ("r.jsonl", "3\n", "{path}: not readable: line 1 is no JSON object"),
        (
            "r.json",
            "[" * 100_000,
            "{path}: not readable: maximum recursion depth exceeded while decoding a JSON array from a unicode string",
        ),
        ("r.xlsx", "", "{path}: not a kind of file that is read; there are .csv, .tsv, .json, .jsonl, .parquet"),
    ],
    ids=["empty", "head only", "blank", "bytes", "json", "jsonl", "deep", "kind"],
)
def test_a_file_that_cannot_be_read_says_so(tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    assert problems("long", path) == (f"ratings.path={message.format(path=path)}",)


def test_a_file_that_is_not_there_says_so(tmp_path: Path) -> None:
    assert problems("long", tmp_path / "no.csv") == (f"ratings.path={tmp_path / 'no.csv'}: No such file or directory",)


def test_a_parquet_file_that_is_none_says_so(tmp_path: Path) -> None:
    path = tmp_path / "r.parquet"
    path.write_bytes(b"PAR1")
    (line,) = problems("long", path)
    assert line.startswith(f"ratings.path={path}: not readable: {path}: not a Parquet table: ")


def test_missing_columns_are_named_with_those_that_there_are(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    path.write_text(table("episode annotator metric score", [("d1", "ann", "helpful", 4)]))
    assert problems("long", path, columns={"region": "land"}) == (
        f"ratings.columns.item=item: no such column in {path}; it has episode, annotator, metric, score",
        f"ratings.columns.rater=rater: no such column in {path}; it has episode, annotator, metric, score",
        f"ratings.columns.region=land: no such column in {path}; it has episode, annotator, metric, score",
    )


def test_off_the_scale_is_missing_with_its_reason_where_the_setting_says_so(tmp_path: Path) -> None:
    path = long_csv(
        tmp_path / "s.csv", {("d1", "helpful", "j"): "0.666667", ("d2", "helpful", "j"): 4, ("d3", "helpful", "j"): ""}
    )
    found = read("long", path, scale={"outside": "missing"})
    assert list(found.scores) == [("d2", "helpful")]
    assert found.dropped == {
        (("d1", "helpful"), "j"): "off the scale",
        (("d3", "helpful"), "j"): "no score given",
    }


# ---- through the program


def test_ratings_and_scores_are_wrong_together_and_nothing_is_written(tmp_path: Path) -> None:
    long_csv(tmp_path / "r.csv", {("d1", "helpful", "ann"): 7})
    long_csv(tmp_path / "s.csv", {("d1", "helpful", "gpt5mini"): 9}, "judge")
    run = ccfw(
        tmp_path,
        "stage=align",
        "judge=gpt5mini",
        "ratings.path=r.csv",
        "ratings@align.scores=long",
        "align.scores.path=s.csv",
        "align.scores.columns.rater=judge",
    )
    assert (run.code, run.out) == (2, "")
    assert run.err.splitlines() == [
        "ccfw: r.csv, line 2: helpful of d1 by ann is 7, off the scale of 1 to 5",
        "ccfw: s.csv, line 2: helpful of d1 by gpt5mini is 9, off the scale of 1 to 5",
    ]
    assert not (tmp_path / "workspace").exists()


def test_a_judge_without_scores_in_the_file_is_named_with_those_that_have_some(tmp_path: Path) -> None:
    long_csv(tmp_path / "r.csv", {("d1", "helpful", "ann"): 4})
    long_csv(tmp_path / "s.csv", {("d1", "helpful", "gpt5mini"): 4, ("d1", "helpful", "grok420"): 4})
    scores = ("ratings@align.scores=long", "align.scores.path=s.csv", "tracking=none")
    run = ccfw(tmp_path, "stage=align", "judge=trio_deepseek_v31_gpt5mini_qwen36flash", "ratings.path=r.csv", *scores)
    assert run.code == 2
    assert run.err.splitlines() == [
        f"ccfw: judge=trio_deepseek_v31_gpt5mini_qwen36flash: no scores of {name} in align.scores.path=s.csv; "
        "there are gpt5mini, grok420"
        for name in ("deepseek_v31", "qwen36flash")
    ]


@pytest.mark.parametrize(
    ("item", "metric", "message"),
    [
        ("e1", "helpful", "ratings.columns.item: people rated items such as d1, judges scored e1: no item in common"),
        (
            "d1",
            "Help",
            "ratings.metrics: people rated helpful, judges scored Help: no metric in common; map them, as in "
            "+ratings.metrics.Helpfulness=helpful",
        ),
    ],
    ids=["items", "metrics"],
)
def test_what_has_nothing_in_common_says_why(tmp_path: Path, item: str, metric: str, message: str) -> None:
    long_csv(tmp_path / "r.csv", {("d1", "helpful", "ann"): 4})
    long_csv(tmp_path / "s.csv", {(item, metric, "gpt5mini"): 4})
    scores = ("ratings@align.scores=long", "align.scores.path=s.csv", "tracking=none")
    run = ccfw(tmp_path, "stage=align", "judge=gpt5mini", "ratings.path=r.csv", *scores)
    assert (run.code, run.err) == (2, f"ccfw: {message}\n")


def test_without_ratings_the_setting_is_named(tmp_path: Path) -> None:
    run = ccfw(tmp_path, "stage=align", "judge=gpt5mini", "tracking=none")
    first, second = run.err.splitlines()
    assert run.code == 2
    assert first == "ccfw: ratings.path: must be given, as in ratings.path=my/ratings.csv (docs/align.md)"
    assert second.startswith(
        "ccfw: judge=gpt5mini: no judgements of model=smollm2 by gpt5mini with these settings under "
    )
    assert second.endswith(
        "; judge first with stage=evaluate and otherwise the same line, or give a file of scores: "
        "ratings@align.scores=…"
    )
