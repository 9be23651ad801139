"""Stage *best_of_n*: which of N stored answers a reward model takes, and what that is worth (Tables 4, 22 and 23).

Reads   the answers and outcome scores that *responses* stored for the policies of the job, or a file of scored answers
        (``best_of_n.candidates``), as of CultureForest; rewards by every scorer of ``rewards.scorers``.
Writes  ``crisp/best_of_n/<fingerprint>/``: ``report.md``, ``best_of_n.csv``, ``differences.csv`` of every two scorers,
        and ``selection`` as SVG, PNG and CSV.
Method  ``ccfw.training.best_of_n``: expectations over every choice of N, without resampling, beside chance and an
        oracle, the outcome judge itself. An answer without score or reward is no candidate for anybody, and counted.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ccfw.align.alignment import Terms
from ccfw.crisp.records import Scale
from ccfw.errors import RequestError
from ccfw.knowledge import tables
from ccfw.report.agreement import Table, signed
from ccfw.report.crisp import plain
from ccfw.settings import Settings
from ccfw.stages import judge_scorer, response_tables, responses, testbed, triplets
from ccfw.stages.context import Context, StageResult
from ccfw.stages.crisp import Due, all_calls, folder_of
from ccfw.stages.rated import terms_of
from ccfw.stages.scored import Scorer, bootstrap_parts, finish, scorers, tell_missing, trained_norms
from ccfw.store import Output, digest
from ccfw.training.best_of_n import RANDOM, Question, Selection, best_of_n, taken
from ccfw.training.candidates import Candidate, questions_of, read_candidates
from ccfw.training.cells import TOTALLED, is_total
from ccfw.training.differences import differences
from ccfw.training.tables import differences_table, selection_table
from ccfw.training.texts import Text, situation_text

log = logging.getLogger(__name__)
NAME = "best_of_n"
VERSION = 2
GRADES = {"appropriate": 5.0, "generic": 3.0, "opposite": 1.0}
"""What the three answers of a triplet count as when they are chosen from."""
_SHOWN = 5


def run(context: Context) -> StageResult:
    """Let every scorer choose, and write what it gets."""
    from ccfw.training.drawing import selection_figure

    settings = context.settings
    result = StageResult(NAME, Path())
    (every, answers), trained = candidates(context), trained_norms(context)
    unseen = [each for each in every if each.cluster not in trained]
    texts = [each.text for each in unseen if each.score is not None]
    shown = {each.text_id: answers[each.text_id] for each in texts if each.text_id in answers}
    found = scorers(context, texts, shown, result, _beyond(settings, every))
    if result.stopped:
        return result
    tell_missing(NAME, found, [each.text_id for each in texts], "answers")
    questions, counts = questions_of(unseen, {each.name: each.rewards for each in found})
    sizes, terms = settings.best_of_n.sizes, terms_of(settings)
    most = max((len(each.scores) for each in questions), default=0)
    if most < min(sizes):
        raise RequestError(
            [f"{_sizes(sizes)}: no question has so many answers with a score and a reward; the most are {most}"]
        )
    selections = best_of_n(questions, sizes, terms)
    content = _parts(settings, every, found)
    output = Output(folder_of(context, NAME, content), context.stop)
    result.out, result.done = output.folder, len(questions)
    tables = [selection_table(selections, terms.level), *_differences(questions, sizes, terms)]
    notes = [] if settings.best_of_n.candidates else response_tables.cautions(settings)
    if len(unseen) < len(every):
        counts["trained_on"] = len(every) - len(unseen)
        notes.append(f"{counts['trained_on']} answers are left out: a scorer was trained on their norm.")
    notes += [
        f"{counts['not_scored']} of {counts['answers']} answers have no score, {counts['without_reward']} no reward."
    ]
    notes += [
        f"N={n} is left out: no question has so many answers with a score and a reward." for n in sizes if n > most
    ]
    with output:
        figures = [path for figure in selection_figure(tables[0].records()) for path in figure.write(output.folder)]
        more = notes, figures, counts, ()
        finish(context, output, result, content, "Best of N", tables, _metrics(selections), *more)
    if settings.report.shown:
        print("\n\n".join(plain(table, notes) for table in tables), flush=True)
    return result


def _beyond(settings: Settings, every: Sequence[Candidate]) -> list[str]:
    """Say which sizes no question has answers enough for, scored or not."""
    sizes, terms = settings.best_of_n.sizes, settings.best_of_n
    most = max(Counter((each.policy, each.question_id) for each in every).values())
    beyond = [size for size in sizes if size > most]
    if not beyond:
        return []
    asked = f" (crisp.responses.k={settings.crisp.responses.k})" if terms.candidates is None else ""
    return [f"{_sizes(sizes)}: no question has {', '.join(map(str, beyond))} answers; the most are {most}{asked}"]


def _sizes(sizes: Sequence[int]) -> str:
    return f"best_of_n.sizes=[{','.join(map(str, sizes))}]"


def _differences(questions: Sequence[Question], sizes: Sequence[int], terms: Terms) -> list[Table]:
    found = differences(taken(questions, sizes), terms)
    title, names = "Differences between selectors", {str(n): f"N={n}" for n in sizes}
    made = differences_table(found, title, names, terms.level, "clusters", lambda _: signed)
    return [made] if found else []


def plan(context: Context) -> tuple[int, int]:
    """Return the calls of the stage: those of judges among the scorers."""
    return all_calls(due(context))


def due(context: Context) -> list[Due]:
    """Return what judges among the scorers would be asked, given what is stored."""
    if not judge_scorer.scales(context.settings):
        return []
    every, answers = candidates(context)
    problems = _beyond(context.settings, every)
    if problems:
        raise RequestError(problems)
    trained = trained_norms(context)
    wanted = {each.text.text_id for each in every if each.score is not None and each.cluster not in trained}
    return judge_scorer.due(context, {key: each for key, each in answers.items() if key in wanted})


def candidates(context: Context) -> tuple[list[Candidate], dict[str, judge_scorer.Answer]]:
    """Return the answers to choose from, and by text id those that a judge can be shown.

    Raises ``RequestError`` with what is wrong with them.
    """
    place = context.settings.best_of_n.candidates
    if place == triplets.NAME:
        pairs = triplets.with_triplets(context)
        graded = [
            Candidate(text, situation.situation_id, situation.norm.norm_id, triplets.NAME, GRADES[role])
            for situation, triplet in pairs
            for role, text in zip(triplets.ROLES, triplets.texts_of(situation, triplet), strict=True)
        ]
        return graded, triplets.answers_of(pairs)
    if place is not None:
        return _from_file(Path(place)), {}
    key = "crisp.responses.policies" if context.settings.crisp.responses.policies else "model"
    problems = [f"{key}={name}: {TOTALLED}" for name in context.settings.policies if is_total("policy", name)]
    if problems:
        raise RequestError(problems)
    found = testbed.situations(context, NAME)
    by_id = {each.situation_id: each for each in found}
    collected = responses.collected(context, found)
    every = [
        Candidate(
            Text(key, situation_text(by_id[answer.situation_id]), answer.answer),
            answer.situation_id,
            answer.norm_id,
            policy.name,
            policy.scores.get((key, Scale.OUTCOME)) if answer.failure is None else None,
        )
        for policy in collected
        for key, answer in policy.answers.items()
    ]
    if not every:
        raise RequestError(
            [
                f"stage={NAME}: no answers under these settings; collect them with stage={responses.NAME} and "
                "otherwise the same line, or give a file: best_of_n.candidates=…"
            ]
        )
    answers = {
        key: judge_scorer.Answer(by_id[answer.situation_id], answer)
        for policy in collected
        for key, answer in policy.answers.items()
        if answer.failure is None
    }
    return every, answers


def _from_file(path: Path) -> list[Candidate]:
    key = f"best_of_n.candidates={path}"
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise RequestError([f"{key}: {getattr(error, 'strerror', None) or 'not UTF-8 text'}"]) from None
    read = read_candidates(tables.read(text))
    problems = [f"{key}: {fault}" for fault in read.faults[:_SHOWN]]
    if len(read.faults) > _SHOWN:
        problems.append(f"{key}: and {len(read.faults) - _SHOWN} faults more")
    if problems or not read.candidates:
        raise RequestError(problems or [f"{key}: no answers there"])
    return list(read.candidates)


def _parts(settings: Settings, every: Sequence[Candidate], found: Sequence[Scorer]) -> dict[str, Any]:
    return {
        "answers": digest(repr(each) for each in every),
        "scorers": {each.name: each.digest for each in found},
        "sizes": list(settings.best_of_n.sizes),
        **bootstrap_parts(settings),
        "version": VERSION,
    }


def _metrics(found: Sequence[Selection]) -> dict[str, float]:
    return {
        f"{each.selector}/{each.policy}/{name}_{each.n}": figure.value
        for each in found
        for name, figure in (("score", each.score), ("gain", each.gain))
        if figure.value is not None and not (name == "gain" and each.selector == RANDOM)
    }
