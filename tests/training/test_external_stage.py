"""Stage external as a user runs it: files of replies in, tables out."""

from __future__ import annotations

import csv
from pathlib import Path

from tests.e2e.running import Run, ccfw

CHEAP = ("tracking=none", "report.shown=0", "bootstrap.resamples=50")


def rows(run: Run, name: str) -> list[list[str]]:
    path = run.folder / run.closings["external"]["out"] / f"{name}.csv"
    return list(csv.reader(path.read_text("utf-8").splitlines()))[1:]


def test_replies_are_scored_by_the_rules_of_each_benchmark(tmp_path: Path) -> None:
    (tmp_path / "shield.csv").write_text(
        "country,query_en,answer,reply\nJapan,q,Yes,Yes.\nJapan,q,No,perhaps\nItaly,q,No,yes\n", "utf-8"
    )
    (tmp_path / "easy.csv").write_text(
        'question_id,country,answer,reply\na,Japan,B,"{""Answer"": ""B""}"\nb,Japan,B,B\n', "utf-8"
    )
    (tmp_path / "medium.csv").write_text(
        "question_id,country,option_1,option_2,option_3,option_4\n"
        "a,Japan,false,False.,false,true\nb,Italy,false,false,true,true\n",
        "utf-8",
    )
    (tmp_path / "hard.csv").write_text(
        "question_id,country,answer,norm_id,acceptability,satisfy,neutral,violate\n"
        "a,Japan,1,n,No,0,-inf,-inf\nb,Italy,1,m,No,-inf,-inf,0\n",
        "utf-8",
    )
    files = ("cultureforest_easy=easy.csv", "cultureforest_medium=medium.csv", "cultureforest_hard=hard.csv")
    run = ccfw(tmp_path, "stage=external", "external.culshield=shield.csv", *(f"external.{f}" for f in files), *CHEAP)
    assert (run.code, run.err, run.closings["external"]["done"]) == (0, "", 9)
    shield = {row[0]: [row[1].split()[0], row[2].split()[0], *row[3:]] for row in rows(run, "culshield")}
    assert shield == {
        "all": ["50.0", "33.3", "1", "3"],
        "Italy": ["0.0", "0.0", "0", "1"],
        "Japan": ["100.0", "50.0", "1", "2"],
    }
    assert {row[0]: row[1].split()[0] for row in rows(run, "cultureforest_easy")}["all"] == "50.0"
    medium = {row[0]: row[1].split()[0] for row in rows(run, "cultureforest_medium")}
    assert medium == {"all": "50.0", "Italy": "0.0", "Japan": "100.0"}
    assert [row[1].split()[0] for row in rows(run, "cultureforest_hard")] == ["0.000", "-100.000", "100.000"]


def test_every_fault_of_every_file_is_named_at_once(tmp_path: Path) -> None:
    (tmp_path / "shield.csv").write_text("country,answer,reply\nJapan,Maybe,Yes\n", "utf-8")
    (tmp_path / "hard.csv").write_text("question_id,country\na,Japan\n", "utf-8")
    given = (
        "external.culshield=shield.csv",
        "external.cultureforest_hard=hard.csv",
        "external.cultureforest_easy=no.csv",
    )
    run = ccfw(tmp_path, "stage=external", *given, *CHEAP)
    assert run.code == 2
    assert run.err.splitlines() == [
        "ccfw: external.culshield=shield.csv: line 2: answer is 'Maybe', and must be Yes or No",
        "ccfw: external.cultureforest_easy=no.csv: No such file or directory",
        "ccfw: external.cultureforest_hard=hard.csv: lacks answer, norm_id, acceptability, satisfy, neutral, violate; "
        "its columns must be question_id, country, answer, norm_id, acceptability, satisfy, neutral, violate",
    ]
