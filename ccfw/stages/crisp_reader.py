"""What is stored of situations → the page on which they are read, beside the outputs of the stages of paper 2."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ccfw.crisp.records import RefineRecord, Situation, Triplet
from ccfw.report.situations import Answered, Told, render
from ccfw.settings import Settings
from ccfw.store import write_atomically

PAGE = "situations.html"


def write_reader(
    folder: Path,
    settings: Settings,
    found: Sequence[Situation],
    *,
    ways: Mapping[str, RefineRecord] = {},
    answers: Iterable[Answered] = (),
    triplets: Mapping[str, Triplet] = {},
) -> None:
    """Write the page under an output folder, unless ``report.page`` forbids it.

    It holds situations in their order as long as they and their answers are at most ``report.episodes``.
    """
    if not settings.report.page:
        return
    own: dict[str, list[Answered]] = {}
    for each in answers:
        own.setdefault(each.response.situation_id, []).append(each)
    shown: list[Told] = []
    left = settings.report.episodes
    for situation in found:
        given = tuple(own.get(situation.situation_id, ()))
        left -= 1 + len(given)
        if left < 0:
            break
        triplet = triplets.get(situation.situation_id, situation.triplet)
        shown.append(Told(situation, ways.get(situation.situation_id), given, triplet))
    write_atomically(folder / PAGE, render("Situations", _facts(settings, found, shown), shown, len(found)))


def _facts(settings: Settings, found: Sequence[Situation], shown: Sequence[Told]) -> list[tuple[str, str]]:
    facts = [
        ("Situations", str(len(found))),
        ("Norms", str(len({each.norm.norm_id for each in found}))),
        ("Cultures", str(len({each.norm.culture for each in found}))),
    ]
    if any(each.way for each in shown):
        facts += [("Situated reasoner", settings.reasoner.label), ("Verifier", settings.auditor.label)]
    if any(each.answers for each in shown):
        policies = [each.label for each in settings.policies.values()]
        facts += [("Policies", ", ".join(policies)), ("Judge", settings.judge.name)]
    return facts
