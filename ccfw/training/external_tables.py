"""How CulShield's and CultureForest's figures are written as tables. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ccfw.align.alignment import Figure
from ccfw.report.agreement import Table, number, percent, points
from ccfw.training.culshield import Coverage
from ccfw.training.cultureforest import Level

LEVEL_NAMES = {"easy": "CultureForest, easy", "medium": "CultureForest, medium", "hard": "CultureForest, hard"}


class Standing(NamedTuple):
    """What one model came to; ``None`` and no level for what it was not asked."""

    model: str
    coverage: Sequence[Coverage] | None
    """The first is over all countries."""
    levels: Mapping[str, Level]
    missing: Mapping[str, int]
    """By benchmark or level: calls that are not answered, which are in no figure."""
    unread: Mapping[str, int]
    """By level: replies in another form, which count as wrong; at the hard level answers and verdicts without value."""


def culshield_table(found: Sequence[Coverage], level: float) -> Table:
    """Return Knowledge Coverage by country."""
    rows = tuple(
        (each.country, percent(each.valid_only), percent(each.every_reply), str(each.unresolved), str(each.questions))
        for each in found
    )
    note = (
        f"Per cent right, of the replies that say yes or no, as published, and of all. {level:.0%} percentile "
        "bootstrap intervals over questions."
    )
    return Table(
        "culshield",
        "CulShield, Knowledge Coverage",
        ("Country", "Of resolved", "Of all", "Unresolved", "Questions"),
        rows,
        note,
        data_head=("country", *_bounds("resolved", "every_reply"), "unresolved", "questions"),
        data=tuple((e.country, *e.valid_only, *e.every_reply, e.unresolved, e.questions) for e in found),
    )


def level_table(name: str, found: Level, confidence: float) -> Table:
    """Return one level of CultureForest by country."""
    hard = name == "hard"
    shown = points if hard else percent
    rows = [("all", shown(found.mean), shown(found.best), str(found.items))]
    rows += [(country, shown(figure), "", "") for country, figure in found.countries.items()]
    what = (
        "Between −100 and 100, on the published scale for the whole benchmark and, for a part, on that of what is "
        "attainable there. "
        if hard
        else "Per cent right; a reply in another form is wrong. "
    )
    note = (
        f"{what}Mean and best of {found.answers}. Countries: standard deviation {spread(name, found.deviation)}, gap "
        f"{spread(name, found.gap)}. {confidence:.0%} percentile bootstrap intervals, whole questions resampled."
    )
    data: list[tuple[object, ...]] = [("all", *found.mean, *found.best, found.items)]
    data += [(country, *figure, None, None, None, None) for country, figure in found.countries.items()]
    return Table(
        f"cultureforest_{name}",
        LEVEL_NAMES[name],
        ("Country", f"Mean@{found.answers}", f"Pass@{found.answers}", "Norms" if hard else "Questions"),
        tuple(rows),
        note,
        data_head=("country", *_bounds("mean", "best"), "items"),
        data=tuple(data),
    )


def models_tables(found: Sequence[Standing], level: float) -> list[Table]:
    """Return all models side by side: CulShield's table, CultureForest's table, countries of both."""
    tables = [_coverages(found, level), _levels(found, level), _countries(found, level)]
    return [table for table in tables if table.rows]


def _coverages(found: Sequence[Standing], level: float) -> Table:
    rows, data = [], []
    for each in found:
        if not each.coverage:
            continue
        whole, values = each.coverage[0], [one.valid_only.value for one in each.coverage[1:]]
        deviation, gap = _spread([value for value in values if value is not None])
        lost = each.missing.get("culshield", 0)
        counts = whole.unresolved, whole.questions, lost
        cells = percent(whole.valid_only), percent(whole.every_reply), *map(str, counts)
        rows.append((each.model, *cells, spread("", deviation), spread("", gap)))
        data.append((each.model, *whole.valid_only, *whole.every_reply, *counts, deviation, gap))
    note = (
        "Per cent right, of the replies that say yes or no, as published, and of all that came. Missing: calls that "
        f"the provider failed, in nothing else here. {level:.0%} percentile bootstrap intervals over questions. SD and "
        "gap: over countries, of the published accuracy."
    )
    head = ("Model", "Of resolved", "Of all", "Unresolved", "Questions", "Missing", "SD", "Gap")
    counts_head = ("unresolved", "questions", "missing", "deviation", "gap")
    columns = ("model", *_bounds("resolved", "every_reply"), *counts_head)
    title = "CulShield, Knowledge Coverage, by model"
    return Table("models_culshield", title, head, tuple(rows), note, data_head=columns, data=tuple(data))


def _levels(found: Sequence[Standing], level: float) -> Table:
    rows, data = [], []
    for name in LEVEL_NAMES:
        for each in found:
            if name not in each.levels:
                continue
            own, shown = each.levels[name], points if name == "hard" else percent
            counts = own.answers, own.items, each.unread.get(name, 0), each.missing.get(name, 0)
            cells = shown(own.mean), shown(own.best), spread(name, own.deviation), spread(name, own.gap)
            rows.append((name, each.model, *cells, *map(str, counts)))
            data.append((name, each.model, *own.mean, *own.best, own.deviation, own.gap, *counts))
    note = (
        "Easy and medium: per cent right. Hard: between −100 and 100. Mean@k: over replies; Pass@k: of the best of k. "
        "SD and gap: over countries, of Mean@k. Items: questions, at the hard level questions × norms. Unread: replies "
        "in another form, which count as wrong; at the hard level answers and verdicts without value, which are in no "
        f"figure. Missing: calls that the provider failed, likewise. {level:.0%} percentile bootstrap intervals, whole "
        "questions resampled."
    )
    return Table(
        "models_cultureforest",
        "CultureForest, by model",
        ("Level", "Model", "Mean@k", "Pass@k", "SD", "Gap", "k", "Items", "Unread", "Missing"),
        tuple(rows),
        note,
        texts=2,
        data_head=("level", "model", *_bounds("mean", "best"), "deviation", "gap", "k", "items", "unread", "missing"),
        data=tuple(data),
    )


def _countries(found: Sequence[Standing], level: float) -> Table:
    rows, data = [], []
    for each in found:
        for country in each.coverage[1:] if each.coverage else ():
            rows.append(("culshield", country.country, each.model, percent(country.valid_only)))
            data.append(("culshield", country.country, each.model, *country.valid_only))
        for name, own in each.levels.items():
            for place, figure in own.countries.items():
                shown = points(figure) if name == "hard" else percent(figure)
                rows.append((name, place, each.model, shown))
                data.append((name, place, each.model, *figure))
    note = f"CulShield's published accuracy, and Mean@k. {level:.0%} percentile bootstrap intervals, whole questions."
    return Table(
        "countries",
        "By country",
        ("Benchmark or level", "Country", "Model", "Score"),
        tuple(rows),
        note,
        texts=3,
        data_head=("level", "country", "model", *_bounds("score")),
        data=tuple(data),
    )


def spread(name: str, value: float | None) -> str:
    """Write a standard deviation or gap: of shares in points of per cent, of the hard level's scores as they are."""
    return number(None if value is None else value if name == "hard" else 100 * value, 1)


def _spread(values: Sequence[float]) -> tuple[float | None, float | None]:
    return (float(np.std(values)), max(values) - min(values)) if values else (None, None)


def _bounds(*names: str) -> tuple[str, ...]:
    return tuple(f"{name}{end}" for name in names for end in ("", "_lo", "_hi"))


def metrics(found: Standing) -> dict[str, float]:
    """Return what is logged of a model, with the bounds of intervals."""
    figures: dict[str, Figure] = {}
    if found.coverage:
        figures |= {"culshield/resolved": found.coverage[0].valid_only, "culshield/all": found.coverage[0].every_reply}
    for name, own in found.levels.items():
        figures |= {f"{name}/mean_{own.answers}": own.mean, f"{name}/pass_{own.answers}": own.best}
    ends = {
        f"{name}{end}": value
        for name, figure in figures.items()
        for end, value in zip(("", "_lo", "_hi"), figure, strict=True)
    }
    ends |= {
        f"{name}/{what}": getattr(own, what) for name, own in found.levels.items() for what in ("deviation", "gap")
    }
    return {name: value for name, value in ends.items() if value is not None}
