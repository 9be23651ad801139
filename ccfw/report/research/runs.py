"""Runs of optimisation: which compare, in what they differ, and how each ended. Pure.

Runs stand in one part when their figures mean the same: the same held-out questions, reward model and gold judge. In
one part they differ in λ, policy, supervisor and the settings of training; those with and without the toy's hack are
optimised for two rewards, and stand apart.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ccfw.report.research import run_settings as settings
from ccfw.report.research.shelves import Common, Row, Shelf, hash_of, inside, origins

STAGE = "grpo"
TABLES = ("policies", "curve", "looks", "ended")
"""CSV files that are read of each run."""
_OF_PART = ("situations", "reward_model", "max_tokens", "gold", "bootstrap", "seed", "version")
"""What figures mean the same by …"""
_QUESTIONS = ("task", "toy_hack", "gold", "held_out")
"""… and of the settings of training."""


class Run(NamedTuple):
    """One run of its part."""

    name: str
    """Policy, λ, and in what else it differs from others of its part; no two have the same."""
    policy: str
    lam: float
    supervisor: str
    """Who says whether a norm was met; empty where nobody is asked."""
    shelf: Shelf


class Part(NamedTuple):
    """Runs whose figures mean the same."""

    origin: str
    """What they rest on, in words."""
    runs: tuple[Run, ...]

    @property
    def held_out(self) -> bool:
        """Whether its questions are others than those trained on: not the toy's."""
        return not settings.is_toy(self.runs[0].shelf)


class End(NamedTuple):
    """How far a run came, and why it went no further."""

    step: int | None
    of: int | None
    reason: str
    """Of the monitor; empty where it did not end the run, or nothing says so."""

    @property
    def early(self) -> bool:
        """Whether it ended before its last step, or was ended at it."""
        return bool(self.reason) or (self.step is not None and self.of is not None and self.step < self.of)

    @property
    def steps(self) -> str:
        """How far it came: ``35 of 60``."""
        return " of ".join(str(each) for each in (self.step, self.of) if each is not None)


def parts(shelves: Iterable[Shelf]) -> list[Part]:
    """Part runs into those whose figures mean the same, each with the names of its runs; the toy's come last."""
    found: dict[tuple[bool, Common], list[Shelf]] = {}
    for shelf in shelves:
        if shelf.stage == STAGE:
            found.setdefault((settings.is_toy(shelf), _common(shelf)), []).append(shelf)
    ordered = sorted(found.items())
    told = origins(
        [_named(common, own[0]) for (_, common), own in ordered],
        [_kept(own[0]) for _, own in ordered],
        [common.rest for (_, common), _ in ordered],
    )
    return [Part(origin, tuple(_runs(own))) for origin, (_, own) in zip(told, ordered, strict=True)]


def lines(part: Part) -> list[tuple[str, list[Run]]]:
    """Return the runs of a part that differ in λ alone, by a name for what they have in common; by λ each.

    Nobody is asked for norm grounding at λ = 0, so that such a run stands in the line of every supervisor.
    """
    found: dict[tuple[str, str, str], list[Run]] = {}
    for run in part.runs:
        if run.lam:
            found.setdefault((settings.base(run.shelf), *settings.asked(run.shelf)), []).append(run)
    for run in part.runs:
        if not run.lam:
            base = settings.base(run.shelf)
            for key in [key for key in found if key[0] == base] or [(base, "", "")]:
                found.setdefault(key, []).append(run)
    several = [own for own in found.values() if len({run.lam for run in own}) > 1]
    ordered = [sorted(own, key=lambda run: run.lam) for own in several]
    names = settings.names([own[-1].shelf for own in ordered])  # of the highest λ, which has a supervisor if one has
    return sorted(zip(names, ordered, strict=True), key=lambda each: each[0])


def end(shelf: Shelf) -> End:
    """Return how a run ended."""
    of = inside(shelf.content, "grpo", "steps")
    most = int(of) if isinstance(of, int | float) else None
    told: Row = next(iter(shelf.tables.get("ended", ())), {})
    last = told.get("step") or next((row.get("step") for row in reversed(shelf.tables.get("curve", ()))), None)
    step = int(last) if isinstance(last, int | float) else None
    return End(step, most, str(told.get("reason") or ""))


# ---- what runs have in common


def _common(shelf: Shelf) -> Common:
    data, judge = "" if settings.is_toy(shelf) else shelf.dataset, shelf.judge if _has_gold(shelf) else ""
    return Common(data, judge, hash_of(_kept(shelf)))


def _kept(shelf: Shelf) -> dict[str, Any]:
    """Return all that figures mean the same by."""
    kept = {name: shelf.content.get(name) for name in _OF_PART}
    kept |= {name: inside(shelf.content, "grpo", name) for name in _QUESTIONS}
    kept["looked_at"] = inside(shelf.content, "grpo", "monitor", "questions")
    return kept


def _has_gold(shelf: Shelf) -> bool:
    return not settings.is_toy(shelf) and inside(shelf.content, "grpo", "gold") != "none"


def is_judged(shelf: Shelf) -> bool:
    """Whether a judge stands behind the figures of a run."""
    asked = isinstance(inside(shelf.content, "supervisor", "members"), Mapping)
    return shelf.stage == STAGE and (_has_gold(shelf) or asked)


def _named(common: Common, shelf: Shelf) -> str:
    """Say what runs rest on: of the toy its hack, of others data, reward model and gold judge."""
    if settings.is_toy(shelf):
        hack = inside(shelf.content, "grpo", "toy_hack")
        reward = f"whose reward pays {hack} for every “please”" if hack else "whose reward is the gold one"
        return f"the toy, {reward}; its questions are those it is trained on"
    gold = f"gold by {common.judge}" if common.judge else "no gold judge"
    held = "questions of norms not trained on"
    return f"{common.dataset}, {held}, reward model {settings.reward_model(shelf)}, {gold}"


def _runs(shelves: Sequence[Shelf]) -> Iterator[Run]:
    """Yield the runs of one part, those of one policy together, by λ."""
    who = {shelf.name: (settings.policy(shelf), settings.lam(shelf), settings.supervisor(shelf)) for shelf in shelves}
    ordered = sorted(shelves, key=lambda shelf: (who[shelf.name], shelf.name))
    for name, shelf in zip(settings.names(ordered, with_lam=True), ordered, strict=True):
        yield Run(name, *who[shelf.name], shelf)
