"""Stage *norm_match*: Norm Match and quality by method, and by what the base policy knew (Tables 5, 24, 27 and 28).

Reads   the answers and scores that *responses* stored for the policies of the job. ``norm_match.methods`` says which of
        them are the base and which were optimised by what method.
Writes  ``crisp/norm_match/<fingerprint>/``: ``report.md``, ``table_27.csv`` over valid answers, ``table_5.csv`` over
        all of them, ``table_28.csv`` by the base policy's Norm Match, and ``methods`` as SVG, PNG and CSV.
Method  ``ccfw.training.norm_match``; methods compare on the same situation and number of answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ccfw.crisp.records import Scale
from ccfw.errors import RequestError
from ccfw.report.crisp import plain
from ccfw.settings import Settings
from ccfw.stages import response_tables, responses, testbed
from ccfw.stages.context import Context, StageResult
from ccfw.stages.crisp import folder_of
from ccfw.stages.rated import terms_of
from ccfw.stages.responses import Collected
from ccfw.stages.scored import bootstrap_parts, finish
from ccfw.store import Output, digest
from ccfw.training.figures import intervals_note
from ccfw.training.norm_match import Graded, MethodLine, by_method, stratified
from ccfw.training.tables import methods_table, strata_table

NAME = "norm_match"
VERSION = 2
Methods = Mapping[str, Mapping[str, Graded]]


def run(context: Context) -> StageResult:
    """Hold the methods against each other, and write the tables."""
    from ccfw.training.drawing import methods_figure

    settings = context.settings
    methods = _methods(context)
    content = _parts(settings, methods)
    output = Output(folder_of(context, NAME, content), context.stop)
    result = StageResult(NAME, output.folder, done=sum(map(len, methods.values())))
    terms, level = terms_of(settings), settings.bootstrap.level
    how = f"Δ: over the first method, item by item. {intervals_note(level, 'norms')}"
    asked = len(testbed.situations(context, NAME)) * settings.crisp.responses.k
    lines = by_method(methods, terms, asked=asked)
    tables = [
        methods_table("table_27", "Methods, over valid answers", lines, f"Means over valid, scored answers. {how}")
    ]
    if settings.norm_match.invalid_outcome is not None:
        least = settings.norm_match.invalid_outcome, settings.norm_match.invalid_norm_match
        note = f"An answer that cannot be read counts as {least[0]:g}, in Norm Match as {least[1]:g}. {how}"
        tables.append(
            methods_table("table_5", "Methods, over all answers", by_method(methods, terms, least, asked=asked), note)
        )
    tables.append(strata_table(stratified(methods, terms), level))
    notes = response_tables.cautions(settings)
    with output:
        drawn = methods_figure(tables[0].records(), tables[-1].records())
        figures = [path for figure in drawn for path in figure.write(output.folder)]
        finish(context, output, result, content, "Norm Match", tables, _metrics(lines), notes, figures, compared=())
    if settings.report.shown:
        print(plain(tables[0], notes), flush=True)
    return result


def plan(_context: Context) -> tuple[int, int]:
    """Return the calls of the stage: none."""
    return 0, 0


def _methods(context: Context) -> dict[str, dict[str, Graded]]:
    """Return every method's answers by item; raise ``RequestError`` with everything that is wrong with the request."""
    settings, wanted = context.settings, context.settings.norm_match.methods
    problems = _problems(settings)
    if problems:
        raise RequestError(problems)
    found = testbed.situations(context, NAME)
    stored = {each.name: each for each in responses.collected(context, found)}
    problems = [
        f"norm_match.methods.{method}={name}: no answers of it under these settings; collect them with "
        f"stage={responses.NAME} and otherwise the same line"
        for method, names in wanted.items()
        for name in names
        if not stored[name].answers
    ]
    if problems:
        raise RequestError(problems)
    labels = next(iter(wanted.values()))
    return {
        method: {
            item: graded
            for name, label in zip(names, labels, strict=True)
            for item, graded in _graded(stored[name], label).items()
        }
        for method, names in wanted.items()
    }


def _problems(settings: Settings) -> list[str]:
    methods, policies = settings.norm_match.methods, settings.policies
    if not methods:
        return [
            f"stage={NAME}: which policies? '+norm_match.methods={{base: <policy>, crisp: <policy>}}', the base first"
        ]
    number = len(next(iter(methods.values())))
    problems = [
        f"norm_match.methods.{method}: {len(names)} policies, and the first method has {number}"
        for method, names in methods.items()
        if len(names) != number
    ]
    problems += [
        f"norm_match.methods.{method}: {name} stands there twice"
        for method, names in methods.items()
        for name in dict.fromkeys(names)
        if names.count(name) > 1
    ]
    problems += [
        f"norm_match.methods.{method}={name}: not among crisp.responses.policies: {', '.join(policies)}"
        for method, names in methods.items()
        for name in names
        if name not in policies
    ]
    return problems


def _graded(stored: Collected, label: str) -> dict[str, Graded]:
    found = {}
    for key, answer in stored.answers.items():
        item = f"{answer.situation_id}::{label}::{answer.number}"
        outcome, match = (stored.scores.get((key, scale)) for scale in (Scale.OUTCOME, Scale.NORM_MATCH))
        found[item] = Graded(item, label, answer.norm_id, answer.failure is None, outcome, match)
    return found


def _parts(settings: Settings, methods: Methods) -> dict[str, Any]:
    return {
        "answers": {name: digest(map(repr, own.values())) for name, own in methods.items()},
        "norm_match": settings.norm_match.model_dump(mode="json"),
        **bootstrap_parts(settings),
        "version": VERSION,
    }


def _metrics(lines: list[MethodLine]) -> dict[str, float]:
    return {
        f"{line.method}/{line.policy}/{name}": value
        for line in lines
        for name, value in (
            ("outcome", line.outcome.value),
            ("norm_match", line.norm_match.value),
            ("valid", line.valid),
            ("invalid", float(line.invalid)),
            ("unscored", float(line.outcome_unscored + line.match_unscored)),
            ("missing", float(line.missing)),
        )
        if value is not None
    }
