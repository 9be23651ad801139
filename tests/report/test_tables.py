"""Tables show what was scored beside what was not, as Table 17 does."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccfw.judging.score_table import COLUMNS, ScoreTable
from ccfw.records import LanguageMode
from ccfw.report.tables import (
    SMALL_JUDGE,
    Row,
    build_row,
    comma_separated,
    markdown,
    plain,
    shown,
    sorted_rows,
)
from ccfw.stats.bootstrap import Interval

NOTHING = Interval(None, None, None, 0)


def scores(*values: float | None, clean: bool | None = True) -> list[float | None]:
    """Helpful, honest, harmless, naturalness, plausibility, typicality; then whether it is clean."""
    return [*values, clean]


def table(found: Sequence[Sequence[float | None]]) -> ScoreTable:
    cells = np.array([[np.nan if value is None else value for value in row] for row in found]).reshape(-1, 7)
    return ScoreTable(tuple(map(str, range(len(found)))), cells[:, :6], cells[:, 6])


def built(found: Sequence[Sequence[float | None]], *, episodes: int, held: int, broken: int = 0, seed: int = 0) -> Row:
    return build_row(
        model="m",
        label="M",
        language=LanguageMode.ENGLISH,
        judge="j",
        values=table(found).columns(),
        episodes=episodes,
        held=held,
        broken=broken,
        seed=seed,
        resamples=200,
        level=0.95,
    )


def row(model: str, mean: float | None, language: LanguageMode = LanguageMode.ENGLISH) -> Row:
    intervals = dict.fromkeys(COLUMNS, NOTHING)
    if mean is not None:
        intervals["3h"] = Interval(mean, mean - 0.1, mean + 0.1, 4)
        intervals["clean"] = Interval(0.877, 0.871, 0.882, 4)
    return Row(model, f"Label {model}", language, "judge", intervals, 6, 1, 4, 1)


def test_an_episodes_numbers_stand_in_the_order_of_table_17() -> None:
    """3H = mean(2, 5, 1) = 2.667, TDQ = mean(4, 4, 3) = 3.667."""
    assert COLUMNS == (
        "3h",
        "helpful",
        "honest",
        "harmless",
        "tdq",
        "naturalness",
        "plausibility",
        "typicality",
        "clean",
    )
    [values] = table([scores(2, 5, 1, 4, 4, 3, clean=False)]).columns().tolist()
    assert values == pytest.approx([8 / 3, 2, 5, 1, 11 / 3, 4, 4, 3, 0])


def test_a_missing_score_is_no_number_and_takes_its_average_with_it() -> None:
    [values] = table([scores(2, None, 1, 4, 4, 3, clean=None)]).columns().tolist()
    missing = [column for column, value in zip(COLUMNS, values, strict=True) if value != value]
    assert missing == ["3h", "honest", "clean"]


@pytest.mark.parametrize(
    ("column", "interval", "text"),
    [
        pytest.param("3h", Interval(4.2843, 4.2751, 4.2899, 9), "4.28 [4.28, 4.29]", id="gpt-5-mini-3h"),
        pytest.param("clean", Interval(0.8768, 0.8712, 0.8819, 9), "87.7 [87.1, 88.2]", id="gpt-5-mini-clean"),
        pytest.param("clean", Interval(1.0, 1.0, 1.0, 2), "100.0 [100.0, 100.0]", id="all-clean"),
        pytest.param("clean", Interval(0.0, 0.0, 0.0, 2), "0.0 [0.0, 0.0]", id="none-clean"),
        pytest.param("3h", Interval(1.0, None, None, 1), "1.00 (n=1)", id="without-an-interval"),
        pytest.param("tdq", NOTHING, "–", id="nothing-scored"),
    ],
)
def test_numbers_are_shown_as_in_table_17(column: str, interval: Interval, text: str) -> None:
    assert shown(column, interval) == text


def test_a_row_counts_what_is_in_its_means_and_what_is_not() -> None:
    found = [scores(5, 5, 5, 5, 5, 5), scores(3, None, 3, 3, 3, 3, clean=False), scores(1, 1, 1, 1, 1, 1)]
    made = built(found, episodes=7, held=4, broken=2)
    assert (made.episodes, made.broken, made.judged, made.not_judged, made.not_run) == (7, 2, 2, 2, 1)
    assert {column: (made.intervals[column].mean, made.intervals[column].n) for column in COLUMNS} == {
        "3h": (3.0, 2),
        "helpful": (3.0, 3),
        "honest": (3.0, 2),
        "harmless": (3.0, 3),
        "tdq": (3.0, 3),
        "naturalness": (3.0, 3),
        "plausibility": (3.0, 3),
        "typicality": (3.0, 3),
        "clean": (pytest.approx(2 / 3), 3),
    }


def test_a_row_without_scores_has_counts_and_no_numbers() -> None:
    made = built([], episodes=3, held=2, broken=1)
    assert set(made.intervals.values()) == {NOTHING}
    assert (made.broken, made.judged, made.not_judged, made.not_run) == (1, 0, 2, 0)


@pytest.mark.parametrize(("scored", "bounded"), [(1, False), (9, False), (10, True)])
def test_a_mean_over_fewer_than_ten_dialogues_has_no_interval(scored: int, bounded: bool) -> None:
    found = [scores(*[1 + number % 5] * 6) for number in range(scored)] + [scores(*[None] * 6, clean=None)] * 5
    interval = built(found, episodes=15, held=15).intervals["3h"]
    assert (interval.n, interval.low is not None, interval.high is not None) == (scored, bounded, bounded)


SCORE = st.none() | st.integers(1, 5)


@given(
    st.lists(st.tuples(SCORE, SCORE, SCORE, SCORE, SCORE, SCORE), max_size=6),
    st.integers(0, 3),
    st.integers(0, 3),
    st.integers(0, 3),
)
def test_judged_and_not_judged_and_broken_and_not_run_are_all_that_was_asked_for(
    found: list[tuple[int | None, ...]], unjudged: int, broken: int, waiting: int
) -> None:
    held = len(found) + unjudged
    made = built([scores(*values) for values in found], episodes=held + broken + waiting, held=held, broken=broken)
    assert made.judged + made.not_judged + made.broken + made.not_run == made.episodes
    assert (made.broken, made.not_run) == (broken, waiting)
    assert made.judged == sum(None not in values for values in found)


def test_rows_over_the_same_episodes_are_resampled_alike() -> None:
    low = [scores(*[value] * 6) for value in [1, 2, 3, 4, 2, 1, 3, 1, 2, 3]]
    high = [scores(*[value + 1] * 6) for value in [1, 2, 3, 4, 2, 1, 3, 1, 2, 3]]
    first, second = (built(each, episodes=10, held=10, seed=3).intervals["3h"] for each in (low, high))
    assert [value + 1 for value in first[:3] if value is not None] == pytest.approx(list(second[:3]))


def test_rows_go_by_language_then_3h_from_the_top_with_missing_last() -> None:
    english, native = LanguageMode.ENGLISH, LanguageMode.NATIVE
    rows = [
        row("none", None),
        row("low", 2.0),
        row("native", 5.0, native),
        row("high", 4.0),
        row("also_low", 2.0),
        row("native_none", None, native),
    ]
    assert [(r.language, r.model) for r in sorted_rows(rows)] == [
        (english, "high"),
        (english, "also_low"),
        (english, "low"),
        (english, "none"),
        (native, "native"),
        (native, "native_none"),
    ]


def test_the_markdown_table_is_whole() -> None:
    empty = " – |" * 7
    assert markdown([row("a", 4.28), row("b", None)], 0.95).splitlines() == [
        "| Model | Language | Judge | 3H | Help | Hon | Harm | TDQ | Nat | Plaus | Typ | Clean % | Judged | Not judged "
        "| Broken | Not run |",
        "| --- | --- | --- |" + " ---: |" * 13,
        f"| Label a | English | judge | 4.28 [4.18, 4.38] |{empty} 87.7 [87.1, 88.2] | 4 | 1 | 1 | 0 |",
        f"| Label b | English | judge |{' – |' * 9} 4 | 1 | 1 | 0 |",
        "",
        "Means with 95% percentile bootstrap intervals over episodes; over fewer than 10 the mean stands alone. "
        "Judged: dialogues with all six scores; a mean is over the dialogues that have that score, and 3H and TDQ need "
        "all three of theirs. Broken: dialogues ended by infrastructure, in no mean. Not run: asked for, and not held "
        "yet.",
        "",
        "**Fewer than 10 scenarios: a mean over so few says little, and has no interval.**",
    ]


def test_a_bar_in_a_label_does_not_end_its_cell() -> None:
    odd = Row("m", "A|B", LanguageMode.ENGLISH, "j", dict.fromkeys(COLUMNS, NOTHING), 1, 0, 0, 1)
    assert markdown([odd], 0.95).splitlines()[2].startswith("| A\\|B | English |")


def test_the_csv_is_read_back_with_every_bound_and_count() -> None:
    odd = Row('m,"x"', "Ü, ber", LanguageMode.NATIVE, "j", row("m", 4.28).intervals, 6, 1, 4, 1)
    record = next(csv.DictReader(io.StringIO(comma_separated([odd]))))
    assert (record["model"], record["label"], record["language"], record["judge"]) == (
        'm,"x"',
        "Ü, ber",
        "native_language",
        "j",
    )
    assert [float(record[key]) for key in ("3h", "3h_lo", "3h_hi", "3h_n")] == pytest.approx([4.28, 4.18, 4.38, 4])
    assert [float(record[key]) for key in ("clean", "clean_lo", "clean_hi")] == pytest.approx([0.877, 0.871, 0.882])
    assert (record["tdq"], record["tdq_lo"], record["tdq_hi"], record["tdq_n"]) == ("", "", "", "0")
    assert [record[key] for key in ("episodes", "judged", "not_judged", "broken", "not_run")] == [*"64110"]


def test_the_terminals_table_is_narrow_and_says_how_many_were_scored() -> None:
    text = plain([row("a", 4.28)])
    assert text.splitlines()[:3] == [
        "Label a, English, judged by judge",
        "  judged 4, not judged 1, broken 1 of 6 dialogues",
        "  3H       4.28 [4.18, 4.38]      n=4",
    ]
    assert text.splitlines()[10] == "  Clean %  87.7 [87.1, 88.2]      n=4"
    assert text.endswith("\nFewer than 10 scenarios: a mean over so few says little, and has no interval.")
    assert max(map(len, text.splitlines())) <= 80


def test_what_a_reader_must_be_told_stands_in_both_forms() -> None:
    assert SMALL_JUDGE in plain([row("a", 4.28)], [SMALL_JUDGE]).replace("\n", " ")
    assert f"**{SMALL_JUDGE}**" in markdown([row("a", 4.28)], 0.95, [SMALL_JUDGE])
    assert r"**The judge \<b\> was moved.**" in markdown([row("a", 4.28)], 0.95, ["The judge <b> was moved."])


def test_what_is_not_run_yet_is_no_break() -> None:
    line = plain([replace(row("a", 4.28), episodes=60, broken=1, not_run=54)]).splitlines()[1]
    assert line == "  judged 4, not judged 1, broken 1, not run 54 of 60 dialogues"


HOSTILE = "=HYPERLINK(1)\n\x1b[31m[win](javascript:alert(1)) <b> \u202e|"


def hostile() -> Row:
    return replace(row("a", 4.28), model="+1|x", label=HOSTILE, judge="@j\x07")


def test_names_are_text_in_markdown_on_one_line() -> None:
    lines = markdown([hostile()], 0.95).splitlines()
    assert lines[2].startswith(
        "| =HYPERLINK(1) ⟨U+001B⟩[31m[win\\](javascript:alert(1)) \\<b\\> ⟨U+202E⟩\\| | English | @j⟨U+0007⟩ | 4.28 "
    )
    assert lines[3] == ""


def test_names_are_text_in_a_spreadsheet() -> None:
    record = next(csv.DictReader(io.StringIO(comma_separated([hostile()]))))
    assert (record["model"], record["judge"]) == ("'+1|x", "'@j⟨U+0007⟩")
    assert record["label"] == "'=HYPERLINK(1)\n⟨U+001B⟩[31m[win](javascript:alert(1)) <b> ⟨U+202E⟩|"
    assert record["3h"] == "4.280000"


def test_names_are_text_in_a_terminal_on_one_line() -> None:
    lines = plain([hostile()], ["told\x1b"]).splitlines()
    assert (
        lines[0] == "=HYPERLINK(1) ⟨U+001B⟩[31m[win](javascript:alert(1)) <b> ⟨U+202E⟩|, English, judged by @j⟨U+0007⟩"
    )
    assert lines[1].startswith("  judged 4, ")
    assert "told⟨U+001B⟩" in lines


def test_equal_means_are_in_the_order_of_their_names_whatever_order_they_were_added_up_in() -> None:
    assert 0.1 + 0.2 > 0.3
    assert [each.model for each in sorted_rows([row("b", 0.1 + 0.2), row("a", 0.3)])] == ["a", "b"]
