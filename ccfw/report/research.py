"""What the stages of paper 2 left in a workspace → the report's chapter on CRISP and training. Pure.

Tables are made of the stages' CSV files, whose columns follow one form: a figure, and its bounds as ``_lo`` and
``_hi``. Rows stand in one part of a table when nothing differs but what the table compares; else a break says in what
they differ: the data, the judge, or how they were made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from ccfw.align.alignment import Figure as Bounded
from ccfw.report.agreement import number, percent, points, signed
from ccfw.report.plots import Figure
from ccfw.report.sections import Chapter, TableView
from ccfw.store import fingerprint
from ccfw.training import drawing
from ccfw.training.best_of_n import ORACLE, RANDOM

Row = Mapping[str, Any]
"""Of a CSV: numbers as numbers, ``None`` where there is none."""
HARD = "hard"
_MOST_RUNS = 8
"""Runs of training in one figure."""
_LAST = 0.25
"""Share of the steps from the end over which Norm Match in training is meant."""


class Shelf(NamedTuple):
    """One output of a stage of paper 2."""

    stage: str
    name: str
    """Of its folder."""
    dataset: str
    judge: str
    small_judge: bool
    content: Mapping[str, Any]
    """Everything that decided it."""
    settings: Mapping[str, Any]
    tables: Mapping[str, Sequence[Row]]
    """By name of the CSV."""


class _Column(NamedTuple):
    """A column of figures: how it is headed, and written from a row."""

    heading: str
    shown: Callable[[Row], str]


class _Kind(NamedTuple):
    """How one table is made of the outputs of one stage."""

    name: str
    title: str
    stage: str
    csv: str
    texts: tuple[tuple[str, str], ...]
    """Heading and column of names."""
    columns: tuple[_Column, ...]
    note: str
    compares: frozenset[str]
    """Parts of what decided an output that may differ within one part of the table."""
    judged: bool = True
    """Whether a judge stands behind the figures."""
    of_dataset: bool = True
    """Whether the dataset of the job does."""
    takes: Callable[[Row], bool] = lambda _: True


def _figure(column: str, row: Row) -> Bounded:
    return Bounded(*(row.get(f"{column}{end}") for end in ("", "_lo", "_hi")))


def _points(heading: str, column: str) -> _Column:
    return _Column(heading, lambda row: points(_figure(column, row)))


def _percent(heading: str, column: str) -> _Column:
    return _Column(heading, lambda row: percent(_figure(column, row)))


def _gain(heading: str, column: str) -> _Column:
    return _Column(heading, lambda row: signed(_figure(column, row)) if row.get(column) else "–")


def _count(heading: str, column: str) -> _Column:
    return _Column(heading, lambda row: "" if row.get(column) is None else f"{row[column]:g}")


def _spread(heading: str, column: str) -> _Column:
    def shown(row: Row) -> str:
        value = row.get(column)
        return number(value if value is None or row.get("level") == HARD else 100 * value, 1)

    return _Column(heading, shown)


def _by_level(heading: str, column: str) -> _Column:
    return _Column(heading, lambda row: (points if row.get("level") == HARD else percent)(_figure(column, row)))


def _is_whole(row: Row) -> bool:
    return (row.get("partition"), row.get("group")) == ("all", "all")


_METHODS = (
    _points("Outcome", "outcome"),
    _gain("Δ", "outcome_gain"),
    _points("Norm Match", "norm_match"),
    _gain("Δ Norm Match", "norm_match_gain"),
    _percent("Valid", "valid"),
    _count("n", "n"),
)
_LEVELS = (
    _by_level("Mean@k", "mean"),
    _by_level("Pass@k", "best"),
    _spread("SD", "deviation"),
    _spread("Gap", "gap"),
    _count("k", "k"),
    _count("Items", "items"),
    _count("Unread", "unread"),
    _count("Missing", "missing"),
)
_INTERVALS = "Percentile bootstrap intervals, whole norms or questions resampled."
_KINDS = (
    _Kind(
        "responses",
        "Policies' answers",
        "responses",
        "policies",
        (("Policy", "label"),),
        (
            _points("Outcome", "outcome"),
            _points("Norm Match", "norm_match"),
            _percent("Valid", "valid"),
            _count("n", "n"),
            _count("Unscored", "unscored"),
        ),
        f"Outcome: 1 to 5; Norm Match: 0 to 2; means over valid answers. {_INTERVALS}",
        frozenset({"policies"}),
    ),
    _Kind(
        "reward_models",
        "Reward models on held-out pairs",
        "reward",
        "accuracy",
        (("Reward model", "model"),),
        (
            _percent("Right", "own"),
            _percent("Words alone", "words alone"),
            _percent("Longer", "longer"),
            _count("Pairs", "pairs"),
        ),
        "Per cent of held-out pairs whose chosen answer gets the higher reward; 50 is chance. Words alone and the "
        f"longer answer are controls that never read the question. {_INTERVALS}",
        frozenset({"reward"}),
        judged=False,
        takes=_is_whole,
    ),
    _Kind(
        "supervisors",
        "Norm-grounding supervisors",
        "supervisor",
        "agreement",
        (("Grader", "grader"),),
        (),
        f"Against the judge, on norms not trained on. {_INTERVALS}",
        frozenset({"supervisor"}),
    ),
    _Kind(
        "triplets",
        "Rankings of triplets",
        "triplets",
        "triplets",
        (("Reward model", "scorer"),),
        (
            _percent("Appropriate > generic", "appropriate_generic"),
            _percent("Appropriate > opposite", "appropriate_opposite"),
            _percent("Generic > opposite", "generic_opposite"),
            _percent("Appropriate first", "top_1"),
            _percent("Complete order", "order"),
            _count("Triplets", "triplets"),
        ),
        f"Figure 3 of the paper. Chance: 50, 50, 50, 33.3 and 16.7 per cent. {_INTERVALS}",
        frozenset({"scorers"}),
        judged=False,
        takes=_is_whole,
    ),
    _Kind(
        "best_of_n",
        "Best of N",
        "best_of_n",
        "best_of_n",
        (("Policy", "policy"), ("N", "n"), ("Selector", "selector")),
        (
            _points("Score", "score"),
            _Column("Gain", lambda row: "" if row["selector"] == RANDOM else signed(_figure("gain", row))),
            _Column(
                "Of oracle", lambda row: "" if row["selector"] in (RANDOM, ORACLE) else percent(_figure("share", row))
            ),
            _count("Questions", "questions"),
        ),
        "Tables 4, 22 and 23 of the paper. The mean over every choice of N; the random baseline is exact, the oracle "
        f"is the judge itself. {_INTERVALS}",
        frozenset({"scorers", "sizes"}),
    ),
    _Kind(
        "methods_valid",
        "Methods, over valid answers",
        "norm_match",
        "table_27",
        (("Policy", "policy"), ("Method", "method")),
        _METHODS,
        f"Tables 24 and 27 of the paper. Δ: over the first method, item by item. {_INTERVALS}",
        frozenset(),
    ),
    _Kind(
        "methods_all",
        "Methods, over all answers",
        "norm_match",
        "table_5",
        (("Policy", "policy"), ("Method", "method")),
        _METHODS,
        f"Table 5 of the paper. An answer that cannot be read counts as the least score. {_INTERVALS}",
        frozenset(),
    ),
    _Kind(
        "strata",
        "Quality by the Norm Match of the base policy",
        "norm_match",
        "table_28",
        (("Base", "base"), ("Method", "method")),
        (_points("Outcome", "outcome"), _gain("Δ", "gain"), _count("n", "n")),
        "Table 28 of the paper. Part of a gain at 0 and of a loss at 2 is regression to the mean. " + _INTERVALS,
        frozenset(),
    ),
    _Kind(
        "optimised",
        "Policies before and after optimisation",
        "grpo",
        "policies",
        (("Run", "run"), ("λ", "lam"), ("Policy", "policy")),
        (
            _points("Reward", "reward"),
            _points("Gold, valid", "gold_valid"),
            _points("Gold, all", "gold_all"),
            _percent("Valid", "valid"),
            _percent("Cut off", "truncated"),
            _count("Questions", "questions"),
        ),
        "Questions of norms not trained on; differences are paired by question. Gold: the judge's score; of the toy, "
        f"its known reward. {_INTERVALS}",
        frozenset({"grpo", "policy", "supervisor", "judges"}),
    ),
    _Kind(
        "culshield",
        "CulShield, Knowledge Coverage",
        "external",
        "models_culshield",
        (("Model", "model"),),
        (
            _percent("Of resolved", "resolved"),
            _percent("Of all", "every_reply"),
            _count("Unresolved", "unresolved"),
            _count("Questions", "questions"),
            _count("Missing", "missing"),
            _spread("SD", "deviation"),
            _spread("Gap", "gap"),
        ),
        f"Per cent right, of the replies that say yes or no, as published, and of all. {_INTERVALS}",
        frozenset({"own", "models", "verdicts", "levels", "samples"}),
        judged=False,
        of_dataset=False,
    ),
    _Kind(
        "cultureforest",
        "CultureForest, easy and medium",
        "external",
        "models_cultureforest",
        (("Level", "level"), ("Model", "model")),
        _LEVELS,
        f"Per cent right; a reply in another form is wrong. SD and gap: over countries. {_INTERVALS}",
        frozenset({"own", "models", "verdicts", "levels"}),
        judged=False,
        of_dataset=False,
        takes=lambda row: row["level"] != HARD,
    ),
    _Kind(
        "cultureforest_hard",
        "CultureForest, hard",
        "external",
        "models_cultureforest",
        (("Model", "model"),),
        _LEVELS,
        "Between −100 and 100, by the log-probabilities of the judge, which stands for the benchmark's own verifier. "
        f"SD and gap: over countries. {_INTERVALS}",
        frozenset({"own", "models", "verdicts", "levels"}),
        of_dataset=False,
        takes=lambda row: row["level"] == HARD,
    ),
)
TABLES = {stage: tuple(kind.csv for kind in _KINDS if kind.stage == stage) for stage in {each.stage for each in _KINDS}}
"""CSV files that are read of each stage's outputs; of *grpo* its curves, of *external* its countries too."""
TABLES["grpo"] += ("curve", "looks")
TABLES["external"] += ("countries",)
TITLE = "CRISP and training"
SMALL = "Scores by a small judge show that the program works and say nothing else."


def tables(shelves: Sequence[Shelf]) -> tuple[TableView, ...]:
    """Return every table in which there is something."""
    return tuple(table for kind in _KINDS if (table := _table(kind, shelves)).rows)


def chapter(shelves: Sequence[Shelf], found: Sequence[TableView], figures: Sequence[Figure]) -> Chapter:
    """Return the chapter of the page."""
    return Chapter("crisp", TITLE, _summary(shelves), tuple(found), tuple(figure.view for figure in figures))


def _summary(shelves: Sequence[Shelf]) -> str:
    stages = dict.fromkeys(kind.stage for kind in _KINDS)
    counts = {stage: sum(shelf.stage == stage for shelf in shelves) for stage in stages}
    told = ", ".join(f"{stage} {count}" for stage, count in counts.items() if count)
    text = f"Outputs of paper 2's stages in this workspace: {told}. Whatever does not compare stands after a break."
    small = any(shelf.small_judge for shelf in shelves if _judged(shelf.stage))
    return f"{text}\n\n{SMALL}" if small else text


def _judged(stage: str) -> bool:
    return any(kind.judged for kind in _KINDS if kind.stage == stage)


# ---- tables


def _table(kind: _Kind, shelves: Sequence[Shelf]) -> TableView:
    rows: list[tuple[str, ...]] = []
    breaks = []
    own = [shelf for shelf in shelves if shelf.stage == kind.stage and any(_rows(kind, shelf))]
    columns = kind.columns or tuple(_found_columns(own[0].tables[kind.csv][0])) if own else kind.columns
    groups = _groups(own, kind)
    for group in groups:
        if len(groups) > 1 or kind.judged:
            breaks.append((len(rows), _origin(_key(group[0], kind))))
        made = [_cells(kind, columns, row) for shelf in group for row in _rows(kind, shelf)]
        if kind.stage == "external":  # a later output tells of the models of earlier ones too
            made = list({row[: len(kind.texts)]: row for row in made}.values())
        rows += dict.fromkeys(made)  # the same stands in two outputs where only what is compared differs
    head = (*(heading for heading, _ in kind.texts), *(column.heading for column in columns))
    return TableView(
        f"crisp_{kind.name}", kind.title, kind.note, head, tuple(rows), tuple(breaks), texts=len(kind.texts)
    )


def _rows(kind: _Kind, shelf: Shelf) -> Iterator[Row]:
    for row in shelf.tables.get(kind.csv, ()):
        if kind.takes(row):
            yield {**row, **_named(kind, shelf, row)}


def _named(kind: _Kind, shelf: Shelf, row: Row) -> dict[str, Any]:
    """Return what a row's own columns do not say: which model or run it is of."""
    if kind.stage == "reward":
        name = str(_inside(shelf.settings, "reward", "name"))
        return {"model": name} | {f"own{end}": row.get(f"{name}{end}") for end in ("", "_lo", "_hi")}
    if kind.stage == "grpo":
        return {"run": _run_name(shelf), "lam": _lam(shelf)}
    return {}


def _cells(kind: _Kind, columns: Sequence[_Column], row: Row) -> tuple[str, ...]:
    names = (row.get(column) for _, column in kind.texts)
    texts = ("" if name is None else f"{name:g}" if isinstance(name, float) else str(name) for name in names)
    return (*texts, *(column.shown(row) for column in columns))


def _found_columns(row: Row) -> Iterator[_Column]:
    """Yield a column for each figure with bounds, and for what is counted; of stages without columns of their own."""
    for name, value in row.items():
        if f"{name}_lo" in row:
            yield _points(name.replace("_", " ").capitalize(), name)
        elif not name.endswith(("_lo", "_hi")) and isinstance(value, float):
            yield _count(name.replace("_", " ").capitalize(), name)


def _groups(shelves: Iterable[Shelf], kind: _Kind) -> list[list[Shelf]]:
    found: dict[tuple[str, ...], list[Shelf]] = {}
    for shelf in shelves:
        found.setdefault(_key(shelf, kind), []).append(shelf)
    return [found[key] for key in sorted(found)]


def _key(shelf: Shelf, kind: _Kind) -> tuple[str, str, str]:
    """Return what the rows of one part of a table have in common: dataset, judge, the hash of everything else."""
    kept = {name: value for name, value in shelf.content.items() if name not in kind.compares}
    dataset, judge = shelf.dataset if kind.of_dataset else "", shelf.judge if kind.judged else ""
    return dataset, judge, fingerprint(_placeless(kept))


def _placeless(content: Any) -> Any:
    """Leave out where models were reached: another address says nothing of the model."""
    if isinstance(content, Mapping):
        return {name: _placeless(value) for name, value in content.items() if name != "api_base"}
    return [_placeless(each) for each in content] if isinstance(content, list | tuple) else content


def _origin(key: tuple[str, str, str]) -> str:
    """Say what rows rest on: data, judge, and a short name for everything else that decided them."""
    dataset, judge, rest = key
    return ", ".join([*([dataset] if dataset else []), *([f"judge {judge}"] if judge else []), f"made as {rest[:8]}"])


# ---- figures


def drawings(shelves: Sequence[Shelf]) -> Iterator[Figure]:
    """Yield every figure; of several that do not compare, each says what it rests on."""
    yield from _each(
        shelves,
        "best_of_n",
        lambda group, name: drawing.selection_figure(list(_every(group, "best_of_n")), name),
    )
    yield from _each(
        shelves,
        "methods_valid",
        lambda group, name: drawing.methods_figure(
            list(_every(group, "table_27")), list(_every(group, "table_28")), name
        ),
    )
    for name in ("cultureforest", "cultureforest_hard"):
        yield from _each(shelves, name, partial(_levels_figure, hard=name.endswith(HARD)))
    runs = [shelf for shelf in shelves if shelf.stage == "grpo"]
    for place, (key, group) in enumerate(_sweeps(runs), 1):
        end = f"_{place}" if place > 1 else ""
        if len({_lam(shelf) for shelf in group}) > 1:
            yield from _told(drawing.sweep_figure([_swept(shelf) for shelf in group], f"crisp_lambda{end}"), key)
        curves = {_run_name(shelf): shelf.tables for shelf in group[:_MOST_RUNS]}
        yield from _told(drawing.training_figure(curves, f"crisp_training{end}"), key)


def _each(
    shelves: Sequence[Shelf], name: str, draw: Callable[[Sequence[Shelf], str], list[Figure]]
) -> Iterator[Figure]:
    kind = next(each for each in _KINDS if each.name == name)
    own = [shelf for shelf in shelves if shelf.stage == kind.stage]
    for place, group in enumerate(_groups(own, kind), 1):
        end = f"_{place}" if place > 1 else ""
        yield from _told(draw(group, f"crisp_{name}{end}"), _key(group[0], kind))


def _told(figures: Iterable[Figure], key: tuple[str, str, str]) -> Iterator[Figure]:
    """Say under a figure what it rests on."""
    for figure in figures:
        yield figure._replace(view=figure.view._replace(note=f"{figure.view.note}\n\n{_origin(key)}."))


def _every(group: Sequence[Shelf], csv: str) -> Iterator[Row]:
    """Yield the rows of several outputs, each once."""
    seen = set()
    for shelf in group:
        for row in shelf.tables.get(csv, ()):
            key = tuple(row.items())
            if key not in seen:
                seen.add(key)
                yield row


def _levels_figure(group: Sequence[Shelf], name: str, *, hard: bool) -> list[Figure]:
    return drawing.level_figure(_external(group, hard=hard), name)


def _external(group: Sequence[Shelf], *, hard: bool) -> dict[str, list[Row]]:
    """Return what every model came to at the hard level, or elsewhere, as the latest output has it."""
    found: dict[str, list[Row]] = {}
    for name in ("models_cultureforest",) if hard else ("models_culshield", "models_cultureforest"):
        rows = [row for row in _every(group, name) if (row.get("level") == HARD) == hard]
        found[name] = list({(row.get("level"), row["model"]): row for row in rows}.values())
    return found


def _sweeps(runs: Sequence[Shelf]) -> list[tuple[tuple[str, str, str], list[Shelf]]]:
    """Part runs of optimisation into those that differ in λ and policy alone, and in who supervised."""
    found: dict[tuple[str, str, str], list[Shelf]] = {}
    for shelf in sorted(runs, key=lambda each: (_lam(each), each.name)):
        kept = {name: value for name, value in shelf.content.items() if name in ("situations", "reward_model", "seed")}
        terms = {name: value for name, value in dict(shelf.content.get("grpo") or {}).items() if name != "lam"}
        found.setdefault((shelf.dataset, shelf.judge, fingerprint({**kept, "grpo": terms})), []).append(shelf)
    return sorted(found.items(), key=lambda each: each[0])


def _swept(shelf: Shelf) -> dict[str, Any]:
    after: Row = next((row for row in shelf.tables.get("policies", ()) if row.get("policy") == "after"), {})
    texts = {"gold": "gold_valid", "reward": "reward", "norm_match": "norm_match"}
    found = {
        f"{name}{end}": after.get(f"{column}{end}") for name, column in texts.items() for end in ("", "_lo", "_hi")
    }
    if found["norm_match"] is None:
        found["norm_match"] = _late(shelf.tables.get("curve", ()), "rewards/norm_grounding/mean")
    return {"policy": str(_inside(shelf.content, "policy", "name")), "lam": _lam(shelf), **found}


def _late(curve: Sequence[Row], column: str) -> float | None:
    values = [row[column] for row in curve if isinstance(row.get(column), float)]
    late = values[-max(1, round(_LAST * len(values))) :]
    return sum(late) / len(late) if late else None


def _run_name(shelf: Shelf) -> str:
    return f"{_inside(shelf.content, 'policy', 'name')}, λ={_lam(shelf):g}, {shelf.name[:6]}"


def _lam(shelf: Shelf) -> float:
    found = _inside(shelf.content, "grpo", "lam")
    return float(found) if isinstance(found, int | float) else 0.0


def _inside(content: Mapping[str, Any], *path: str) -> Any:
    value: Any = content
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value
