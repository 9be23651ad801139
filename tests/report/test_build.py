"""A report of whatever there is: its tables, its figures, and the sentences that say what came out."""

from __future__ import annotations

import re

import numpy as np
import pytest

from ccfw.errors import StoppedError
from ccfw.records import LanguageMode, SimulationMode
from ccfw.report import build
from ccfw.report.board import Board
from ccfw.report.composition import composition
from ccfw.stages.report_page import published
from tests.report.boards import TERMS, alike, assistant, laid_out, scored

SEEDS = alike(12)


def source(board: Board, **more: object) -> build.Source:
    held = [(SimulationMode.EVAL, {"nothing"})]
    plain = build.Source(
        title="starter, judged by <j>",
        facts=(("Judge", "j"),),
        cautions=(),
        board=board,
        mode=SimulationMode.EVAL,
        counterpart=None,
        others=(),
        composition=composition(SEEDS, held),
        costs=(None,) * len(board.labels),
        judge="j",
        published=published(),
        terms=TERMS,
    )
    return plain._replace(**more)  # type: ignore[arg-type]


def two() -> Board:
    low, high = ([[base + number % 2, base + number % 3 // 2] for number in range(12)] for base in (1.0, 4.0))
    return laid_out(SEEDS, [assistant("Low", SEEDS, low), assistant("High", SEEDS, high)])


def test_every_table_and_figure_of_the_paper_is_made() -> None:
    given = source(two(), costs=(0.01, 0.2))
    found = build.compute(given)
    assert [table.name for table in build.tables(given, found)] == [
        *("leaderboard", "leaderboard_english", "leaderboard_native", "differences", "language_delta"),
        *("language_delta_region", "trap_effect", "spreads", "disparities", "score_distribution"),
        *(f"slices_{axis}" for axis in ("region", "identity", "age", "gender", "domain", "subdomain", "tier")),
        *("slices_cross_cultural", "slices_taboo_grounded", "slices_language", "composition"),
    ]
    assert [figure.view.name for figure in build.drawings(given, found)] == [
        *("intervals", "metrics", "assistance_and_quality", "language_delta", "language_delta_region"),
        *("slices_region", "slices_age", "slices_gender", "slices_domain", "slices_tier", "disparities"),
        *("score_distribution", "cost_and_quality"),
    ]


def test_every_row_has_as_many_cells_as_its_head() -> None:
    given = source(two())
    for table in build.tables(given, build.compute(given)):
        assert {len(row) for row in table.rows} <= {len(table.head)}, table.name
        assert {len(row) for row in table.data} <= {len(table.data_head)}, table.name
        assert all(0 <= row <= len(table.rows) for row, _ in table.breaks), table.name


def test_the_summary_says_who_leads_and_what_holds() -> None:
    """High has 4.5 in English and 4.33 in the native languages."""
    given = source(two())
    who, best, held, *_ = build.summary(given, build.compute(given)).splitlines()
    assert who == "2 assistants, 12 seeds, dialogues in English and native language, eval mode."
    shown = r"Highest 3H: High, 4\.42 \[4\.\d\d, 4\.\d\d\]\. It is surely ahead of 1 of the 1 others \(at 95%\)\."
    assert re.fullmatch(shown, best)
    assert held == "1 of 1 differences in 3H between two assistants hold, corrected for how many there are."


def test_one_dialogue_makes_a_report() -> None:
    board = laid_out(SEEDS[:1], [assistant("A", SEEDS[:1], [[3.0]])])
    given = source(board)
    found = build.compute(given)
    assert list(build.tables(given, found))
    assert list(build.drawings(given, found))
    said = build.summary(given, found)
    assert "1 assistant, 1 seed, dialogues in English, eval mode." in said
    assert "Gaps between groups were not tested: no axis has two groups of 10 seeds." in said
    assert said.endswith("Fewer than 10 dialogues: an interval over so few says little, however narrow it is.")


@pytest.mark.parametrize("held", [True, False])
def test_no_score_at_all_makes_a_report_that_says_so(held: bool) -> None:
    nobody = assistant("A", SEEDS, [[np.nan, np.nan]] * 12)
    board = laid_out(SEEDS, [nobody if held else nobody._replace(held=set())])
    given = source(board)
    found = build.compute(given)
    assert "leaderboard" in [table.name.rpartition("_")[0] or table.name for table in build.tables(given, found)]
    assert list(build.drawings(given, found)) == []
    assert "No dialogue has a 3H: nothing can be said of any assistant." in build.summary(given, found)


def test_runs_that_do_not_compare_stand_behind_a_break_in_their_own_language() -> None:
    other = build.Other("Other", scored(["a__EN", "b__EN"], [2, 3]), {"a__EN", "b__EN"})
    given = source(two(), others=(build.OtherGroup("another judge (x)", (other,)),), published=None)
    found = build.compute(given)
    tables = {table.name: table for table in build.tables(given, found)}
    text = "Not comparable with the rows above: another judge (x)"
    assert tables["leaderboard"].breaks == tables["leaderboard_english"].breaks == ((2, text),)
    assert tables["leaderboard"].rows[2][:2] == ("Other", "2.50 [2.00, 3.00]")
    assert tables["leaderboard_native"].breaks == ()
    assert "1 other run does not compare with these and stands apart, with the reason." in build.summary(given, found)


def test_a_price_that_is_unknown_is_not_drawn_as_free() -> None:
    given = source(two(), costs=(None, 0.2))
    found = build.compute(given)
    [figure] = [each for each in build.drawings(given, found) if each.view.name == "cost_and_quality"]
    assert [row[0] for row in figure.view.rows] == ["High"]
    assert figure.view.note.endswith("1 of 2 are not shown: their price is unknown.")


def test_the_text_of_a_pull_request_is_short_and_shows_names_as_text() -> None:
    seeds = alike(10)
    runs = [assistant(f"<b>{number}</b>", seeds, [[1.0 + number % 4] * 2] * 10) for number in range(13)]
    given = source(laid_out(seeds, runs))
    text = build.pull_request(given, build.compute(given), "index.html")
    assert text.startswith("## starter, judged by \\<j\\>\n")
    assert "<b>" not in text.replace("\\<", "")
    assert text.count("\n| \\<b\\>") == 10
    assert "… and 3 more." in text
    assert text.endswith("Everything else: index.html\n")


def test_whoever_wants_to_stop_is_heard() -> None:
    def stop() -> None:
        raise StoppedError("enough")

    with pytest.raises(StoppedError):
        build.compute(source(two()), stop)


def test_the_same_scores_make_the_same_report() -> None:
    first, second = (build.compute(source(two())) for _ in range(2))
    given = source(two())
    assert [table.csv() for table in build.tables(given, first)] == [t.csv() for t in build.tables(given, second)]
    assert LanguageMode.ENGLISH in given.board.languages
