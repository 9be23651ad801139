"""The figures of the chapter. Pure but for drawing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from ccfw.report.plots import Figure
from ccfw.report.research import runs
from ccfw.report.research.columns import HARD
from ccfw.report.research.kinds import kind
from ccfw.report.research.runs import Part, Run
from ccfw.report.research.shelves import Row, Shelf
from ccfw.training import drawing

_MOST_RUNS = 8
"""Runs of training in one figure."""
_LAST = 0.25
"""Share of the steps from the end over which Norm Match in training is meant."""
Draw = Callable[[str], list[Figure]]
"""By the name that the figure is to have."""


def drawings(shelves: Sequence[Shelf]) -> Iterator[Figure]:
    """Yield every figure; of several that do not compare, each says what it rests on."""
    for name, draw in (
        ("triplets", _rankings),
        ("best_of_n", lambda group: partial(drawing.selection_figure, list(_every(group, "best_of_n")))),
        ("methods_valid", _methods),
        ("cultureforest", partial(_levels, hard=False)),
        ("cultureforest_hard", partial(_levels, hard=True)),
    ):
        groups = kind(name).groups(shelves)
        yield from _numbered(f"crisp_{name}", [(draw(group), told) for told, group in groups])
    found = runs.parts(shelves)
    yield from _numbered("crisp_lambda", _sweeps([(part, _swept(part)) for part in found]))
    yield from _numbered("crisp_training", _trainings([(part, own) for part in found for own in _some(part.runs)]))


def _numbered(name: str, wanted: Iterable[tuple[Draw, str]]) -> Iterator[Figure]:
    """Yield figures of one kind, from the second on with a number; each says under it what it rests on."""
    drawn = 0
    for draw, told in wanted:
        found = draw(f"{name}_{drawn + 1}" if drawn else name)
        drawn += bool(found)
        for figure in found:
            yield figure._replace(view=figure.view._replace(note=f"{figure.view.note}\n\n{told}."))


def _every(group: Sequence[Shelf], csv: str) -> Iterator[Row]:
    """Yield the rows of several outputs, each once."""
    seen = set()
    for shelf in group:
        for row in shelf.tables.get(csv, ()):
            key = tuple(row.items())
            if key not in seen:
                seen.add(key)
                yield row


def _rankings(group: Sequence[Shelf]) -> Draw:
    return partial(drawing.ranking_figure, [row for row in _every(group, "triplets") if kind("triplets").takes(row)])


def _methods(group: Sequence[Shelf]) -> Draw:
    return partial(drawing.methods_figure, list(_every(group, "table_27")), list(_every(group, "table_28")))


def _levels(group: Sequence[Shelf], *, hard: bool) -> Draw:
    return partial(drawing.level_figure, _external(group, hard=hard))


def _external(group: Sequence[Shelf], *, hard: bool) -> dict[str, list[Row]]:
    """Return what every model came to at the hard level, or elsewhere, as the latest output has it."""
    found: dict[str, list[Row]] = {}
    for name in ("models_cultureforest",) if hard else ("models_culshield", "models_cultureforest"):
        rows = [row for row in _every(group, name) if (row.get("level") == HARD) == hard]
        found[name] = list({(row.get("level"), row["model"]): row for row in rows}.values())
    return found


# ---- runs of optimisation


def _some(found: Sequence[Run]) -> Iterator[Sequence[Run]]:
    """Yield runs in portions that one figure has room for, each policy's by themselves where there are more."""
    policies = dict.fromkeys(run.policy for run in found) if len(found) > _MOST_RUNS else [None]
    for policy in policies:
        own = [run for run in found if policy in (None, run.policy)]
        for start in range(0, len(own), _MOST_RUNS):
            yield own[start : start + _MOST_RUNS]


def _sweeps(found: Sequence[tuple[Part, Sequence[Row]]]) -> Iterator[tuple[Draw, str]]:
    several = [(part, rows) for part, rows in found if rows]
    for (part, rows), of in zip(several, _unlike([part.origin for part, _ in several]), strict=True):
        yield partial(drawing.sweep_figure, rows, of=of, held_out=part.held_out), part.origin


def _trainings(found: Sequence[tuple[Part, Sequence[Run]]]) -> Iterator[tuple[Draw, str]]:
    """Yield how each portion of runs is drawn; of portions of one part the title has the first run and the last."""
    origins = [part.origin for part, _ in found]
    for (part, own), differs in zip(found, _unlike(origins), strict=True):
        portion = own[0].name if len(own) == 1 else f"{own[0].name} to {own[-1].name}"
        of = [*([differs] if differs else []), *([portion] if origins.count(part.origin) > 1 else [])]
        tables = {run.name: run.shelf.tables for run in own}
        drawn = partial(drawing.training_figure, tables, of=", ".join(of), held_out=part.held_out)
        yield drawn, _ends(part, own)


def _unlike(origins: Sequence[str]) -> list[str]:
    """Return for each origin what not all others have, with its hash where that tells it from none; empty for one."""
    terms = {origin: re.split("[,;] ", origin) for origin in origins}
    own = {
        origin: [term for term in each if any(term not in other for other in terms.values())]
        for origin, each in terms.items()
    }
    short = {origin: ", ".join(each[:-1]) for origin, each in own.items()}
    texts = list(short.values())
    return [short[each] if short[each] and texts.count(short[each]) == 1 else ", ".join(own[each]) for each in origins]


def _ends(part: Part, found: Sequence[Run]) -> str:
    """Say what runs rest on, and of those that ended early why."""
    ends = [(run.name, runs.end(run.shelf)) for run in found]
    early = [f"{name}: {end.reason or 'ended early'} (step {end.steps})" for name, end in ends if end.early]
    return f"{part.origin}.\n\nEnded early. {'; '.join(early)}" if early else part.origin


def _swept(part: Part) -> list[dict[str, Any]]:
    """Return a row for each run of each line of a part."""
    return [{"line": name, "lam": run.lam, **_figures(run.shelf)} for name, own in runs.lines(part) for run in own]


def _figures(shelf: Shelf) -> dict[str, Any]:
    """Return what the optimised policy came to; Norm Match is of training's end where nobody judged it afterwards."""
    after: Row = next((row for row in shelf.tables.get("policies", ()) if row.get("policy") == "after"), {})
    texts = {"gold": "gold_valid", "reward": "reward", "norm_match": "norm_match_valid"}
    found = {
        f"{name}{end}": after.get(f"{column}{end}") for name, column in texts.items() for end in ("", "_lo", "_hi")
    }
    return found | {"late_match": _late(shelf.tables.get("curve", ()), "rewards/norm_grounding/mean")}


def _late(curve: Sequence[Mapping[str, Any]], column: str) -> float | None:
    values = [row[column] for row in curve if isinstance(row.get(column), float)]
    late = values[-max(1, round(_LAST * len(values))) :]
    return sum(late) / len(late) if late else None
