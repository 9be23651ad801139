"""The tables of runs of optimisation: policies before and after, and how every run ended. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ccfw.report.research.columns import Column, count, in_percent, in_points, with_intervals
from ccfw.report.research.run_settings import reward_model
from ccfw.report.research.runs import Part, Run, end
from ccfw.report.research.shelves import Row
from ccfw.report.sections import TableView
from ccfw.report.writing import NONE

_COLUMNS = (
    in_points("Reward", "reward"),
    in_points("Gold, valid", "gold_valid"),
    in_points("Gold, all", "gold_all"),
    in_points("Norm Match, valid", "norm_match_valid"),
    in_points("Norm Match, all", "norm_match_all"),
    in_percent("Valid", "valid"),
    in_percent("Cut off", "truncated"),
    count("No reward", "without_reward"),
    count("Questions", "questions"),
)


def tables(found: Sequence[Part]) -> Iterator[TableView]:
    """Yield what policies were before and after, and what every run was and how it ended."""
    yield _before_and_after(found)
    yield _ended(found)


def _before_and_after(found: Sequence[Part]) -> TableView:
    rows: list[tuple[str, ...]] = []
    breaks = []
    every = [(run, row) for part in found for run in part.runs for row in run.shelf.tables.get("policies", ())]
    columns = [each for each in _COLUMNS if any(_there(each, row) for _, row in every)]
    for part in found:
        breaks.append((len(rows), part.origin))
        for run in part.runs:
            rows += [
                (run.name, f"{run.lam:g}", _state(run, row), *(each.shown(row) for each in columns))
                for row in run.shelf.tables.get("policies", ())
            ]
    head = ("Run", "λ", "Policy", *(each.heading for each in columns))
    note = (
        "Of the same questions before and after: held out, but for the toy's. Gold, Norm Match: the gold judge's "
        "scores; of the toy, its known reward. No reward: answers in form that the reward model does not read. How "
        "runs ended stands in the table of runs."
    )
    cells = (cell for row in rows for cell in row[3:])
    return TableView(
        "crisp_optimised",
        "Policies before and after optimisation",
        with_intervals(note, cells, (run.shelf for run, _ in every)),
        head,
        tuple(rows),
        _marks(breaks, len(rows)),
        texts=3,
    )


def _ended(found: Sequence[Part]) -> TableView:
    rows: list[tuple[str, ...]] = []
    breaks = []
    for part in found:
        breaks.append((len(rows), part.origin))
        for run in part.runs:
            ended = end(run.shelf)
            why = "by the monitor" if ended.reason else "before its last step" if ended.early else "after its last step"
            model = reward_model(run.shelf)
            rows.append(
                (run.name, run.policy, f"{run.lam:g}", run.supervisor or NONE, model, ended.steps, why, ended.reason)
            )
    head = ("Run", "Policy", "λ", "Norm grounding by", "Reward model", "Steps", "Ended", "Why")
    note = (
        "A policy whose run the monitor ended is not to be taken as better, however high its reward. Norm grounding is "
        "asked for where λ is above 0."
    )
    title = "Runs of optimisation, and how they ended"
    return TableView("crisp_runs", title, note, head, tuple(rows), _marks(breaks, len(rows)), texts=len(head))


def _marks(breaks: Sequence[tuple[int, str]], rows: int) -> tuple[tuple[int, str], ...]:
    return tuple(each for each in breaks if each[0] < rows)


def _there(column: Column, row: Row) -> bool:
    return column.shown(row) not in ("", NONE)


def _state(run: Run, row: Row) -> str:
    state, ended = str(row.get("policy") or ""), end(run.shelf)
    return f"after {ended.steps} steps" if state == "after" and ended.early else state
