"""The leaderboard sets apart what does not compare, and the paper's own rows."""

from __future__ import annotations

import csv
import io
import re

import numpy as np
import pytest

from ccfw.records import LanguageMode
from ccfw.report.leaderboard import Apart, leaderboard
from ccfw.report.published_scores import PublishedScores
from ccfw.report.sections import TableView
from ccfw.report.standings import of_table, standings
from ccfw.stages.report_page import published
from tests.report.boards import TERMS, alike, assistant, laid_out, scored

EN = LanguageMode.ENGLISH


@pytest.fixture(scope="module")
def paper() -> PublishedScores:
    return published()


@pytest.fixture(scope="module")
def table(paper: PublishedScores) -> TableView:
    seeds = alike(12)
    runs = [assistant("Low", seeds, [[2, 2]] * 12), assistant("High", seeds, [[4, 5]] * 12)]
    other = Apart("another judge (x), other data", (of_table("Other", scored(["a__EN"], [3]), 1, TERMS),))
    return leaderboard(standings(laid_out(seeds, runs), None, TERMS), TERMS, "gpt5mini", [other], paper)


def test_those_that_compare_come_first_the_best_on_top(table: TableView) -> None:
    assert [row[0] for row in table.rows[:3]] == ["High", "Low", "Other"]
    assert [row[-3:] for row in table.rows[:3]] == [
        ("1", "1", "24 of 24 (100.0%)"),
        ("2", "2", "24 of 24 (100.0%)"),
        ("–", "–", "1"),
    ]


def test_each_break_says_why_what_follows_does_not_compare(table: TableView) -> None:
    assert table.breaks == (
        (2, "Not comparable with the rows above: another judge (x), other data"),
        (3, "Published, not run here: CultureConverse, Table 17. Not comparable: other prompts, other data"),
    )


def test_the_papers_rows_are_grey_and_all_there(table: TableView, paper: PublishedScores) -> None:
    assert len(paper.table_17) == 18
    assert table.grey == frozenset(range(3, 21))
    assert table.rows[3] == (
        *("GPT-5 mini", "4.28 [4.28, 4.29]", "3.80 [3.79, 3.81]", "4.60 [4.59, 4.61]", "4.45 [4.43, 4.47]"),
        *("3.81 [3.81, 3.82]", "4.07 [4.06, 4.07]", "3.72 [3.71, 3.73]", "3.65 [3.64, 3.66]", "87.7 [87.1, 88.2]"),
        *("–", "–", "14,610"),
    )


def test_another_judge_than_the_papers_is_named(paper: PublishedScores) -> None:
    seeds = alike(2)
    found = standings(laid_out(seeds, [assistant("A", seeds, [[3, 3]] * 2)]), None, TERMS)
    [(_, text)] = leaderboard(found, TERMS, "smollm2", [], paper).breaks
    assert text.endswith("Not comparable: another judge (GPT-5 mini), other prompts, other data")


def test_the_csv_says_where_a_row_is_from_and_holds_shares(table: TableView) -> None:
    rows = list(csv.DictReader(io.StringIO(table.csv())))
    assert [row["source"] for row in rows] == ["own"] * 3 + ["published"] * 18
    assert [row["section"] == "" for row in rows] == [True, True] + [False] * 19
    assert (rows[0]["3h"], rows[0]["rank"], rows[0]["judged"], rows[0]["planned"]) == ("4.500000", "1", "24", "24")
    assert (rows[3]["clean"], rows[3]["3h_n"], rows[3]["rank"]) == ("0.877000", "", "")


def test_every_form_shows_the_breaks(table: TableView) -> None:
    markdown, latex = table.markdown(), table.latex()
    for _, text in table.breaks:
        assert f"**{text}**" in markdown
        assert rf"\emph{{{text}}}" in latex.replace("$-$", "-")
    assert markdown.count("| Assistant | 3H |") == 3
    parts = latex.count(r"\begin{tabular}") + latex.count(r"\begin{longtable}")
    assert latex.count(r"\textcolor{gray}{GPT-5 mini}") == parts
    assert re.search(r"\\usepackage\{booktabs,.*xcolor\}", latex)


def test_who_lacks_a_language_stands_behind_a_break_without_a_rank() -> None:
    """Dusk has 5 in English alone, Ember 4 in both."""
    seeds = alike(12)
    runs = [assistant("Dusk", seeds, [[5.0]] * 12), assistant("Ember", seeds, [[4.0, 4.0]] * 12)]
    board = laid_out(seeds, runs)
    both, english = (leaderboard(standings(board, scope, TERMS), TERMS, "j", [], None) for scope in (None, EN))
    assert [(row[0], row[-3]) for row in both.rows] == [("Ember", "1"), ("Dusk", "–")]
    assert both.breaks == ((1, "Not ranked: dialogues in English alone"),)
    assert [row["section"] for row in csv.DictReader(io.StringIO(both.csv()))] == ["", both.breaks[0][1]]
    assert ([(row[0], row[-3]) for row in english.rows], english.breaks) == ([("Dusk", "1"), ("Ember", "2")], ())


def test_ranks_go_by_shared_dialogues_which_stand_beside_the_means_where_they_differ() -> None:
    """On the first 10 seeds A has 4 and B 3; on the other 10, which A did not meet, B has 5.5, and so 4.25 in all."""
    seeds = alike(20)
    runs = [assistant("A", seeds[:10], [[4.0]] * 10), assistant("B", seeds, [[3.0]] * 10 + [[5.5]] * 10)]
    found = standings(laid_out(seeds, runs), EN, TERMS)
    table = leaderboard(found, TERMS, "j", [], None)
    assert table.head[-4:] == ("3H shared", "Rank", "Group", "Judged")
    assert [(row[0], row[1][:4], row[-4][:4], row[-3]) for row in table.rows] == [
        ("A", "4.00", "4.00", "1"),
        ("B", "4.25", "3.00", "2"),
    ]
    assert "over the 10 dialogues that all ranked assistants have scored" in table.note
    full = leaderboard(standings(laid_out(seeds[:10], [runs[0]]), EN, TERMS), TERMS, "j", [], None)
    assert "3H shared" not in full.head


def test_what_is_judged_is_counted_of_what_the_runs_were_asked_for() -> None:
    seeds = alike(58)
    run = assistant("A", seeds[:3], [[3.0]] * 3)
    asked = {*run.held, f"{seeds[3].seed.seed_id}__EN"}
    found = standings(laid_out(seeds, [run._replace(asked=asked)]), None, TERMS)
    assert (found.rows[0].planned, found.rows[0].held) == (4, 3)
    assert leaderboard(found, TERMS, "j", [], None).rows[0][-1] == "3 of 4 (75.0%)"


def test_a_3h_over_far_fewer_dialogues_than_its_columns_says_over_how_many() -> None:
    """Of 20 dialogues 12 have all three of 3H's scores, and 20 two of them."""
    seeds = alike(20)
    run = assistant("A", seeds, [[3.0]] * 20)
    run.scores.metrics[12:, 2] = np.nan
    table = leaderboard(standings(laid_out(seeds, [run]), None, TERMS), TERMS, "j", [], None)
    plain, thin = "3.00 [3.00, 3.00]", "3.00 [3.00, 3.00] (n=12)"
    assert table.rows[0][1:5] == (thin, plain, plain, thin)
    assert "3H and TDQ need all three of theirs" in table.note


def test_nothing_in_a_label_is_markup() -> None:
    seeds = alike(2)
    hostile = "<script>|a|</script> \\input{x} & $1$ \x1b[31m"
    found = standings(laid_out(seeds, [assistant(hostile, seeds, [[3, 3]] * 2)]), None, TERMS)
    table = leaderboard(found, TERMS, "j", [], None)
    assert "| \\<script\\>\\|a\\|\\</script\\> \\\\input{x} \\& \\$1\\$ " in table.markdown()
    assert "\x1b" not in table.markdown() + table.latex()
    assert r"\textless{}script\textgreater{}" in table.latex()
    assert r"\textbackslash{}input\{x\} \& \$1\$" in table.latex()
    assert len(next(csv.reader(io.StringIO(table.csv())))) == len(table.data_head)


def test_every_published_interval_holds_its_mean_and_3h_is_the_mean_of_three(paper: PublishedScores) -> None:
    for row in paper.table_17:
        assert all(low <= mean <= high for mean, low, high in row.scores.values()), row.label
        parts = [row.scores[name][0] for name in ("helpful", "honest", "harmless")]
        assert row.scores["3h"][0] == pytest.approx(sum(parts) / 3, abs=0.011), row.label
