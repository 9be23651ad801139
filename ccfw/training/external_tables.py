"""How CulShield's and CultureForest's figures are written as tables. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ccfw.align.alignment import Figure, Terms
from ccfw.report.agreement import KEPT, Table, number, percent, points, signed, signed_percent
from ccfw.training.culshield import Coverage
from ccfw.training.cultureforest import Level
from ccfw.training.differences import Item, differences
from ccfw.training.figures import intervals_note
from ccfw.training.tables import differences_table

LEVEL_NAMES = {"easy": "CultureForest, easy", "medium": "CultureForest, medium", "hard": "CultureForest, hard"}
_NAMES = {"culshield": "CulShield", **LEVEL_NAMES}
MEASURES = {"culshield_resolved": "CulShield, of resolved", "culshield_all": "CulShield, of all", **LEVEL_NAMES}
"""What models have differences in, in the order of the table."""
ALL = "all countries"
_FORMS = {"easy": "replies in another form", "medium": "samples with an option's reply in another form"}


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
    scores: Mapping[str, Mapping[Item, float]]
    """By measure of ``MEASURES``: of each question, at the hard level of each norm of it."""


def culshield_table(found: Sequence[Coverage], level: float) -> Table:
    """Return Knowledge Coverage by country."""
    rows = tuple(
        (
            *(ALL if not place else each.country, percent(each.valid_only), percent(each.every_reply)),
            *(str(each.unresolved), str(each.questions)),
        )
        for place, each in enumerate(found)
    )
    note = (
        "Per cent right, of the replies that say yes or no, as published, and of all. "
        f"{intervals_note(level, 'questions')}"
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
    counts, whole = found.questions, sum(found.questions.values())
    unread = {} if hard else {ALL: sum(found.unread.values())} | {each: found.unread.get(each, 0) for each in counts}
    rows = [(ALL, shown(found.mean), shown(found.best), str(whole), *_cell(unread, ALL))]
    rows += [
        (country, shown(figure), "", str(counts[country]), *_cell(unread, country))
        for country, figure in found.countries.items()
    ]
    what = (
        "Between −100 and 100, on the published scale for the whole benchmark and, for a part, on that of what is "
        "attainable there. "
        if hard
        else f"Per cent right. Unread: {_FORMS[name]}, which count as wrong. "
    )
    norms = f"{found.items} questions × norms. " if hard else ""
    note = (
        f"{what}{norms}Mean and best of {found.answers}. Countries: standard deviation "
        f"{spread(name, found.deviation)}, gap {spread(name, found.gap)}. {intervals_note(confidence, 'questions')}"
    )
    data: list[tuple[object, ...]] = [("all", *found.mean, *found.best, found.items, whole, *_cell(unread, ALL))]
    data += [
        (country, *figure, *[None] * 4, counts[country], *_cell(unread, country))
        for country, figure in found.countries.items()
    ]
    return Table(
        f"cultureforest_{name}",
        LEVEL_NAMES[name],
        ("Country", f"Mean@{found.answers}", f"Pass@{found.answers}", "Questions", *([] if hard else ["Unread"])),
        tuple(rows),
        note,
        data_head=("country", *_bounds("mean", "best"), "items", "questions", *([] if hard else ["unread"])),
        data=tuple(data),
    )


def _cell(counts: Mapping[str, int], name: str) -> tuple[str, ...]:
    return (str(counts[name]),) if counts else ()


def models_tables(found: Sequence[Standing], terms: Terms) -> list[Table]:
    """Return all models side by side: CulShield's table, CultureForest's table, differences, countries of both."""
    level = terms.level
    tables = [_coverages(found, level), _levels(found, level), _differences(found, terms), _countries(found, level)]
    return [table for table in tables if table.rows]


def _differences(found: Sequence[Standing], terms: Terms) -> Table:
    scores = {
        each.model: {name: each.scores[name] for name in MEASURES if each.scores.get(name)}  # in this order
        for each in found
    }
    return differences_table(
        differences(scores, terms),
        "Differences between models",
        MEASURES,
        terms.level,
        "questions",
        lambda measure: signed if measure == "hard" else signed_percent,
    )


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
        f"the provider failed, in nothing else here. {intervals_note(level, 'questions')} SD and gap: over countries, "
        "of the published accuracy."
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
        f"figure. Missing: calls that the provider failed, likewise. {intervals_note(level, 'questions')}"
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
    lines: list[tuple[str, str, str, Figure, int]] = []
    for each in found:
        lines += [
            ("culshield", own.country, each.model, own.valid_only, own.questions - own.unresolved)
            for own in (each.coverage or ())[1:]
        ]
        lines += [
            (name, country, each.model, figure, own.questions[country])
            for name, own in each.levels.items()
            for country, figure in own.countries.items()
        ]
    names, models = list(_NAMES), [each.model for each in found]
    lines.sort(key=lambda line: (names.index(line[0]), line[1], models.index(line[2])))
    rows = tuple(
        (_NAMES[name], country, model, points(figure) if name == "hard" else percent(figure), str(count))
        for name, country, model, figure, count in lines
    )
    note = (
        "CulShield's published accuracy, and Mean@k. Questions: of CulShield those whose reply says yes or no. "
        f"{intervals_note(level, 'questions')}"
    )
    return Table(
        "countries",
        "By country",
        ("Benchmark", "Country", "Model", "Score", "Questions"),
        rows,
        note,
        texts=3,
        data_head=("level", "country", "model", *_bounds("score"), "questions"),
        data=tuple((name, country, model, *figure, count) for name, country, model, figure, count in lines),
    )


def spread(name: str, value: float | None) -> str:
    """Write a standard deviation or gap: of shares in points of per cent, of the hard level's scores as they are."""
    return number(None if value is None else value if name == "hard" else 100 * round(value, KEPT), 1)


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
