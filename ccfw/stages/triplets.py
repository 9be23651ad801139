"""Stage *triplets*: how reward models rank controlled triplets (paper 2, Figure 3).

Reads   the situations of the job with their triplets, those that ship or those that *preferences* had made; rewards by
        every scorer of ``rewards.scorers``.
Writes  ``crisp/triplets/<fingerprint>/``: ``report.md``, ``triplets.csv`` with every culture, ``triplets.png`` and
        ``.svg``.
Method  ``ccfw.training.ranking``. Situations of norms that one of the scorers was trained on are left out for all, and
        counted.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ccfw.align.alignment import ALL, Group
from ccfw.crisp.records import ResponseRecord, Situation, Triplet, TripletRecord
from ccfw.errors import RequestError
from ccfw.report.crisp import plain
from ccfw.settings import Settings
from ccfw.stages import judge_scorer, preferences, testbed
from ccfw.stages.context import Context, StageResult
from ccfw.stages.crisp import Due, all_calls, folder_of
from ccfw.stages.rated import terms_of
from ccfw.stages.scored import Scorer, bootstrap_parts, finish, scorers, tell_missing, trained_norms
from ccfw.store import Output, digest, read_records
from ccfw.training.ranking import CHANCE, RankingLine, TripletRewards, ranking
from ccfw.training.tables import ranking_table
from ccfw.training.texts import Text, situation_text

log = logging.getLogger(__name__)
NAME = "triplets"
VERSION = 1
ROLES = tuple(Triplet.model_fields)


def run(context: Context) -> StageResult:
    """Rank every triplet by every scorer, and write the table."""
    settings = context.settings
    pairs, counts = _unseen(context)
    texts = [each for situation, triplet in pairs for each in texts_of(situation, triplet)]
    result = StageResult(NAME, Path())
    every = scorers(context, texts, answers_of(pairs), result)
    if result.stopped:
        return result
    tell_missing(NAME, every, [each.text_id for each in texts], "answers")
    kept = _kept([situation for situation, _ in pairs], every)
    counts |= {"without_reward": len(pairs) - len(kept), "ranked": len(kept)}
    if not kept:
        raise RequestError(
            [f"stage={NAME}: no triplet is left that every scorer has rewards of and was not trained on"]
        )
    content = _parts(settings, texts, every)
    output = Output(folder_of(context, NAME, content), context.stop)
    result.out, result.done = output.folder, len(kept)
    found = {each.name: ranking(_rewards(kept, each), terms_of(settings)) for each in every}
    table = ranking_table(found, settings.bootstrap.level)
    notes = _notes(counts)
    with output:
        figures = _draw(found, output)
        finish(context, output, result, content, "Triplets", [table], _metrics(found), notes, figures, counts)
    if settings.report.shown:
        print(plain(table, notes), flush=True)
    return result


def plan(context: Context) -> tuple[int, int]:
    """Return the calls of the stage: those of judges among the scorers."""
    return all_calls(due(context))


def due(context: Context) -> list[Due]:
    """Return what judges among the scorers would be asked, given what is stored."""
    return judge_scorer.due(context, answers_of(_unseen(context)[0])) if judge_scorer.scales(context.settings) else []


def answers_of(pairs: Sequence[tuple[Situation, Triplet]]) -> dict[str, judge_scorer.Answer]:
    """Return the answers of triplets as a judge is shown them, by text id; they have no reasoning."""
    return {
        text.text_id: judge_scorer.Answer(
            situation,
            ResponseRecord(
                response_id=text.text_id,
                situation_id=situation.situation_id,
                norm_id=situation.norm.norm_id,
                culture=situation.norm.culture,
                policy=NAME,
                number=1,
                answer=text.answer,
                reasoning="",
                failure=None,
            ),
        )
        for situation, triplet in pairs
        for text in texts_of(situation, triplet)
    }


def with_triplets(context: Context) -> list[tuple[Situation, Triplet]]:
    """Return the job's situations that have a triplet: the one made for it, else the one that ships."""
    found = testbed.situations(context, NAME)
    path = folder_of(context, preferences.NAME, preferences.parts(context)) / "records.jsonl"
    made = {each.situation_id: each.triplet for each in read_records(path, TripletRecord) if each.triplet}
    pairs = [(each, triplet) for each in found if (triplet := made.get(each.situation_id, each.triplet)) is not None]
    if not pairs:
        raise RequestError([f"stage={NAME}: no situation has a triplet; make them first with stage={preferences.NAME}"])
    return pairs


def texts_of(situation: Situation, triplet: Triplet) -> list[Text]:
    """Return the three answers of a triplet as a scorer reads them."""
    prompt = situation_text(situation)
    return [Text(f"{situation.situation_id}::{role}", prompt, getattr(triplet, role)) for role in ROLES]


def _unseen(context: Context) -> tuple[list[tuple[Situation, Triplet]], dict[str, int]]:
    """Return the situations of norms that no scorer was trained on, and how many there are besides."""
    found, trained = with_triplets(context), trained_norms(context)
    unseen = [each for each in found if each[0].norm.norm_id not in trained]
    return unseen, {"triplets": len(found), "trained_on": len(found) - len(unseen)}


def _kept(found: Sequence[Situation], every: Sequence[Scorer]) -> list[Situation]:
    """Return the situations that every scorer has rewards of."""
    return [
        each
        for each in found
        if all(f"{each.situation_id}::{role}" in scorer.rewards for scorer in every for role in ROLES)
    ]


def _rewards(found: Sequence[Situation], scorer: Scorer) -> list[TripletRewards]:
    return [
        TripletRewards(
            each.situation_id,
            each.norm.norm_id,
            each.norm.culture,
            *(scorer.rewards[f"{each.situation_id}::{role}"] for role in ROLES),
        )
        for each in found
    ]


def _parts(settings: Settings, texts: Sequence[Text], every: Sequence[Scorer]) -> dict[str, Any]:
    return {
        "texts": digest(part for each in texts for part in each),
        "scorers": {each.name: each.digest for each in every},
        **bootstrap_parts(settings),
        "version": VERSION,
    }


def _notes(counts: Mapping[str, int]) -> list[str]:
    reasons = {"trained_on": "a scorer was trained on their norm", "without_reward": "a scorer has no reward of them"}
    return [
        f"{counts[key]} of {counts['triplets']} triplets are left out: {why}."
        for key, why in reasons.items()
        if counts[key]
    ]


def _metrics(found: Mapping[str, Mapping[Group, RankingLine]]) -> dict[str, float]:
    return {
        f"{scorer}/{name}{suffix}": value
        for scorer, lines in found.items()
        for name, figure in lines[ALL].figures.items()
        for suffix, value in zip(("", "_lo", "_hi"), figure, strict=True)
        if value is not None
    }


def _draw(found: Mapping[str, Mapping[Group, RankingLine]], output: Output) -> list[Any]:
    from ccfw.training.drawing import grouped_bars

    bars = {name: [100 * (f.value or 0) for f in lines[ALL].figures.values()] for name, lines in found.items()}
    ends = {
        name: [(100 * (f.low or 0), 100 * (f.high or 0)) for f in lines[ALL].figures.values()]
        for name, lines in found.items()
    }
    labels = ["A > G", "A > O", "G > O", "A first", "A > G > O"]
    chance = [100 * value for value in CHANCE.values()]
    return grouped_bars(labels, bars, ends, chance, "per cent of triplets", output.folder / NAME)
