"""Stage *triplets*: how reward models rank controlled triplets (paper 2, Figure 3).

Reads   the situations of the job with their triplets, those that ship or those that *preferences* had made; rewards by
        every scorer of ``rewards.scorers``.
Writes  ``crisp/triplets/<fingerprint>/``: ``report.md``, ``triplets.csv`` with every culture, ``differences.csv`` of
        every two scorers, and ``rankings`` as SVG, PNG and CSV.
Method  ``ccfw.training.ranking``. Situations of norms that one of the scorers was trained on are left out for all, and
        counted.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ccfw.align.alignment import ALL, Group, Terms
from ccfw.crisp.records import ResponseRecord, Situation, Triplet, TripletRecord
from ccfw.errors import RequestError
from ccfw.report.agreement import Table, signed_percent
from ccfw.report.crisp import plain
from ccfw.settings import Settings
from ccfw.stages import judge_scorer, preferences, testbed
from ccfw.stages.context import Context, StageResult
from ccfw.stages.crisp import Due, all_calls, folder_of
from ccfw.stages.rated import terms_of
from ccfw.stages.scored import Scorer, bootstrap_parts, finish, scorers, tell_missing, trained_norms
from ccfw.store import Output, digest, read_records
from ccfw.training.differences import differences
from ccfw.training.ranking import RankingLine, TripletRewards, figures_by_triplet, ranking
from ccfw.training.tables import RANKINGS, differences_table, ranking_table
from ccfw.training.texts import Text, situation_text

log = logging.getLogger(__name__)
NAME = "triplets"
VERSION = 2
ROLES = tuple(Triplet.model_fields)


def run(context: Context) -> StageResult:
    """Rank every triplet by every scorer, and write the table."""
    from ccfw.training.drawing import ranking_figure

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
    terms, rewards = terms_of(settings), {each.name: _rewards(kept, each) for each in every}
    found = {name: ranking(own, terms) for name, own in rewards.items()}
    tables = [ranking_table(found, terms.level), *_differences(rewards, terms)]
    notes = _notes(counts)
    with output:
        drawn = ranking_figure([row for row in tables[0].records() if (row["partition"], row["group"]) == ALL])
        figures = [path for figure in drawn for path in figure.write(output.folder)]
        more = notes, figures, counts, ()
        finish(context, output, result, content, "Triplets", tables, _metrics(found), *more)
    if settings.report.shown:
        print("\n\n".join(plain(table, notes) for table in tables), flush=True)
    return result


def _differences(rewards: Mapping[str, Sequence[TripletRewards]], terms: Terms) -> list[Table]:
    found = differences({name: figures_by_triplet(own) for name, own in rewards.items()}, terms)
    title = "Differences between reward models"
    made = differences_table(found, title, RANKINGS, terms.level, "norms", lambda _: signed_percent)
    return [made] if found else []


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
