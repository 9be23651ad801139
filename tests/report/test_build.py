"""A report of whatever there is: its tables, its figures, and the sentences that say what came out."""

from __future__ import annotations

import csv
import io
import re

import numpy as np
import pytest

from ccfw.errors import StoppedError
from ccfw.records import LanguageMode, SimulationMode
from ccfw.report import build, charts, findings, results
from ccfw.report.board import Board
from ccfw.report.composition import composition
from ccfw.stages.report_page import published
from tests.report.boards import TERMS, alike, assistant, laid_out, scored

SEEDS = alike(12)


def source(board: Board, **more: object) -> results.Source:
    held = [(SimulationMode.EVAL, {"nothing"})]
    plain = results.Source(
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
    found = results.compute(given)
    assert [table.name for table in build.tables(given, found)] == [
        *("leaderboard", "leaderboard_english", "leaderboard_native", "differences", "language_delta"),
        *("language_delta_region", "trap_effect", "spreads", "disparities", "score_distribution"),
        *(f"slices_{axis}" for axis in ("region", "identity", "age", "gender", "domain", "subdomain", "tier")),
        *("slices_cross_cultural", "slices_taboo_grounded", "slices_language", "composition"),
    ]
    assert [figure.view.name for figure in charts.drawings(given, found)] == [
        *("intervals", "metrics", "assistance_and_quality", "language_delta", "language_delta_region"),
        *("slices_region", "slices_age", "slices_gender", "slices_domain", "slices_tier", "disparities"),
        *("score_distribution", "cost_and_quality"),
    ]


def test_every_row_has_as_many_cells_as_its_head() -> None:
    given = source(two())
    for table in build.tables(given, results.compute(given)):
        assert {len(row) for row in table.rows} <= {len(table.head)}, table.name
        assert {len(row) for row in table.data} <= {len(table.data_head)}, table.name
        assert all(0 <= row <= len(table.rows) for row, _ in table.breaks), table.name


def test_the_summary_says_who_leads_and_what_holds() -> None:
    """High has 4.5 in English and 4.33 in the native languages."""
    given = source(two())
    who, best, held, *_ = findings.summary(given, results.compute(given)).splitlines()
    assert who == "2 assistants, 12 seeds, dialogues in English and native language, eval mode."
    shown = r"Highest 3H: High, 4\.42 \[4\.\d\d, 4\.\d\d\]\. It is surely ahead of the other \(at 95%\)\."
    assert re.fullmatch(shown, best)
    assert held == "The difference in 3H between two assistants holds (at 95%, corrected for how many there are)."


def test_who_did_one_language_alone_leads_nobody_and_is_named_with_the_reason() -> None:
    """Dusk has 5 on English dialogues alone, Ember 4 on both; in English alone, where both are ranked, Dusk leads."""
    seeds = SEEDS[:10]
    dusk = assistant("Dusk", seeds, [[5.0]] * 10)
    ember, amber = (assistant(label, seeds, [[score] * 2] * 10) for label, score in (("Ember", 4.0), ("Amber", 3.0)))
    given = source(laid_out(seeds, [dusk, ember, amber]))
    found = results.compute(given)
    _, best, unranked, *_ = findings.summary(given, found).splitlines()
    assert best == "Highest 3H: Ember, 4.00 [4.00, 4.00]. It is surely ahead of the other (at 95%)."
    assert unranked == "Not ranked: Dusk, dialogues in English alone."
    tables = {table.name: table for table in build.tables(given, found)}
    mixed = ["slices_region", "language_delta_region"]
    assert [tables[name].head[-3:] for name in mixed] == [
        ("Ember", "Amber", "Dusk (English alone)"),
        ("Ember", "Amber", "Dusk"),
    ]
    assert [row[0] for row in tables["trap_effect"].rows] == ["Ember", "Amber", "Dusk (English alone)"]
    figure = next(each for each in charts.drawings(given, found) if each.view.name == "slices_region")
    assert "Dusk (English alone)" in figure.view.svg


def test_where_nearly_all_did_one_language_alone_the_summary_is_of_that() -> None:
    seeds = SEEDS[:10]
    english = [assistant(label, seeds, [[float(score)]] * 10) for score, label in enumerate("abcd", 1)]
    given = source(laid_out(seeds, [*english, assistant("both", seeds, [[2.0, 2.0]] * 10)]))
    _, best, *_ = findings.summary(given, results.compute(given)).splitlines()
    assert best == "Highest 3H in English: d, 4.00 [4.00, 4.00]. It is surely ahead of 4 of the 4 others (at 95%)."


def test_seeds_are_those_that_were_asked_for_and_not_all_of_the_dataset() -> None:
    run = assistant("A", SEEDS[:3], [[3.0]] * 3)
    given = source(laid_out(SEEDS, [run._replace(asked=run.held)]))
    assert findings.summary(given, results.compute(given)).startswith("1 assistant, 3 seeds, dialogues in English, ")


SEVERAL = re.compile(r"\b1 (of the 1|assistants|seeds|dialogues|others)\b|\b0 of\b|beyond doubt")


@pytest.mark.parametrize("count", [1, 5, 12])
@pytest.mark.parametrize("labels", ["A", "AB", "ABC"])
def test_no_sentence_of_the_summary_counts_one_as_several(labels: str, count: int) -> None:
    seeds = SEEDS[:count]
    given = source(laid_out(seeds, [assistant(each, seeds, [[3.0 + n % 2] for n in range(count)]) for each in labels]))
    found = results.compute(given)
    said = findings.summary(given, found) + "".join(table.note for table in build.tables(given, found))
    assert not SEVERAL.search(said)
    assert ("surely" in said.splitlines()[1]) == (count >= 10 and len(labels) > 1)


NAMES = {"section", "assistant", "source", "metric", "axis", "group", "spread", "lowest", "highest", "first", "second"}
NAMES |= {"language", "region", "split", "mode"}


def test_every_csv_holds_a_number_or_a_name_in_a_column_and_never_a_cell_as_it_is_shown() -> None:
    given = source(two(), counterpart=two())
    for table in build.tables(given, results.compute(given)):
        for row in csv.DictReader(io.StringIO(table.csv())):
            for name, value in row.items():
                if name not in NAMES and value:
                    assert float(value) == float(value), (table.name, name)
                if name in {"lowest", "highest", "assistant"}:
                    assert not re.search(r" \d\.\d\d$|published", value.removeprefix("Grok 4.20")), (table.name, value)


def test_no_table_or_file_has_an_interval_over_fewer_than_ten_seeds() -> None:
    """Nine seeds in two languages are eighteen dialogues."""
    seeds = SEEDS[:9]
    rng = np.random.default_rng(1)
    board = laid_out(
        seeds, [assistant(each, seeds, rng.integers(1, 6, (9, 2)).astype(float).tolist()) for each in "AB"]
    )
    given = source(board, counterpart=board, published=None)
    for table in build.tables(given, results.compute(given)):
        assert not [cell for row in table.rows for cell in row if re.search(r"\d \[[\d+-]+\.\d", cell)], table.name
        rows = list(csv.DictReader(io.StringIO(table.csv())))
        bounds = {name for row in rows for name, value in row.items() if value and name.endswith(("_lo", "_hi"))}
        assert bounds <= {"rank_lo", "rank_hi"}, table.name
    assert not re.search(r"\d \[", findings.summary(given, results.compute(given)))


def test_columns_and_rows_of_assistants_are_in_one_order_everywhere() -> None:
    scores = {"Amber": 3.0, "Birch": 4.0, "Cedar": 2.0}
    board = laid_out(SEEDS, [assistant(label, SEEDS, [[score] * 2] * 12) for label, score in scores.items()])
    given = source(board, published=None)
    for table in build.tables(given, results.compute(given)):
        seen = [cell for cell in table.head if cell in scores] or [row[0] for row in table.rows if row[0] in scores]
        assert list(dict.fromkeys(seen)) in ([], ["Birch", "Amber", "Cedar"], ["Birch", "Amber"]), table.name


def test_one_dialogue_makes_a_report() -> None:
    board = laid_out(SEEDS[:1], [assistant("A", SEEDS[:1], [[3.0]])])
    given = source(board)
    found = results.compute(given)
    assert list(build.tables(given, found))
    assert list(charts.drawings(given, found))
    said = findings.summary(given, found)
    assert "1 assistant, 1 seed, dialogues in English, eval mode." in said
    assert "Gaps between groups were not tested: no axis has two groups of 10 seeds." in said
    assert said.endswith("Fewer than 10 scenarios: a mean over so few says little, and has no interval.")


@pytest.mark.parametrize("held", [True, False])
def test_no_score_at_all_makes_a_report_that_says_so(held: bool) -> None:
    nobody = assistant("A", SEEDS, [[np.nan, np.nan]] * 12)
    board = laid_out(SEEDS, [nobody if held else nobody._replace(held=set())])
    given = source(board)
    found = results.compute(given)
    assert "leaderboard" in [table.name.rpartition("_")[0] or table.name for table in build.tables(given, found)]
    assert list(charts.drawings(given, found)) == []
    assert "No dialogue has a 3H: nothing can be said of any assistant." in findings.summary(given, found)


def test_runs_that_do_not_compare_stand_behind_a_break_in_their_own_language() -> None:
    other = results.Other("Other", scored(["a__EN", "b__EN"], [2, 3]), {"a__EN", "b__EN"})
    given = source(two(), others=(results.OtherGroup("another judge (x)", (other,)),), published=None)
    found = results.compute(given)
    tables = {table.name: table for table in build.tables(given, found)}
    text = "Not comparable with the rows above: another judge (x)"
    assert tables["leaderboard"].breaks == tables["leaderboard_english"].breaks == ((2, text),)
    assert tables["leaderboard"].rows[2][:2] == ("Other", "2.50 (n=2)")
    assert tables["leaderboard_native"].breaks == ()
    assert "1 other run does not compare with these and stands apart, with the reason." in findings.summary(
        given, found
    )


def test_a_price_that_is_unknown_is_not_drawn_as_free() -> None:
    given = source(two(), costs=(None, 0.2))
    found = results.compute(given)
    figure = next(each for each in charts.drawings(given, found) if each.view.name == "cost_and_quality")
    assert [row[0] for row in figure.view.rows] == ["High"]
    assert figure.view.note.endswith("1 of 2 are not shown: their price is unknown.")


def test_the_text_of_a_pull_request_is_short_and_shows_names_as_text() -> None:
    seeds = alike(10)
    runs = [assistant(f"<b>{number}</b>", seeds, [[1.0 + number % 4] * 2] * 10) for number in range(13)]
    given = source(laid_out(seeds, runs))
    text = findings.pull_request(given, results.compute(given), "index.html")
    assert text.startswith("## starter, judged by \\<j\\>\n")
    assert "<b>" not in text.replace("\\<", "")
    assert text.count("\n| \\<b\\>") == 10
    assert "… and 3 more." in text
    assert text.endswith("Everything else: index.html\n")


def test_whoever_wants_to_stop_is_heard() -> None:
    def stop() -> None:
        raise StoppedError("enough")

    with pytest.raises(StoppedError):
        results.compute(source(two()), stop)


def test_the_same_scores_make_the_same_report() -> None:
    first, second = (results.compute(source(two())) for _ in range(2))
    given = source(two())
    assert [table.csv() for table in build.tables(given, first)] == [t.csv() for t in build.tables(given, second)]
    assert LanguageMode.ENGLISH in given.board.languages


def test_a_heat_map_says_over_how_many_seeds_its_cells_are_and_one_of_nothing_is_not_drawn() -> None:
    seeds = SEEDS[:10]
    one = assistant("One", seeds, [[3.0, 4.0], *[[3.0, float("nan")]] * 9])
    given = source(laid_out(seeds, [one, assistant("Two", seeds, [[4.0, 4.0]] * 10)]))
    found = results.compute(given)
    figures = {figure.view.name: figure.view for figure in charts.drawings(given, found)}
    assert "Each cell is over 10 seeds." in figures["metrics"].note
    assert "without colour" not in figures["metrics"].note
    assert (
        "Each cell is over 1 to 10 seeds. A cell without colour is over fewer than 10" in figures["language_delta"].note
    )
    rows = [dict(zip(figures["language_delta"].head, row, strict=True)) for row in figures["language_delta"].rows]
    assert {row["name"]: (row["3H"], row["3H: seeds"]) for row in rows} == {
        "One": ("1.000000", "1"),
        "Two": ("0.000000", "10"),
    }
    few = source(laid_out(SEEDS[:3], [assistant("One", SEEDS[:3], [[3.0, 4.0]] * 3)]))
    found = results.compute(few)
    assert "disparities" not in {figure.view.name for figure in charts.drawings(few, found)}
    assert not {"spreads", "disparities"} & {table.name for table in build.tables(few, found)}


def test_rows_are_sorted_by_the_numbers_that_they_were_written_from() -> None:
    given = source(two(), costs=(0.01, 0.2))
    found = results.compute(given)
    for table in build.tables(given, found):
        assert all(len(keys) == len(table.head) - table.texts for keys in table.keys), table.name
        assert len(table.keys) in {0, len(table.rows)}, table.name
        for row, keys in zip(table.rows, table.keys, strict=False):
            for cell, key in zip(row[table.texts :], keys, strict=True):
                shown = re.match(r"[+-]?\d+\.\d+(?= \[|$)", cell)
                if shown is None:
                    continue
                assert isinstance(key, int | float), (table.name, row)
                assert abs(float(shown[0]) - key) < 0.0051 or abs(float(shown[0]) - 100 * key) < 0.051, (
                    table.name,
                    row,
                )


def test_a_total_is_sorted_with_no_part_of_it() -> None:
    given = source(two())
    tables = {table.name: table for table in build.tables(given, results.compute(given))}
    for name, total in (("language_delta_region", "all"), ("composition", "All dialogues")):
        table = tables[name]
        starts = {start for start, _ in table.breaks}
        for place in (place for place, row in enumerate(table.rows) if row[0] == total):
            assert place in starts, name
            assert place + 1 in starts | {len(table.rows)}, name
