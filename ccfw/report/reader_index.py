"""Which conversations there are, as columns, and which of them meet a filter. Pure.

The same columns are written into a page, whose script filters them, and kept by the server of ``stage=view``, which
filters them here: what both mean by a filter is ``Filter``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ccfw.judging.score_table import COLUMNS
from ccfw.records import LanguageMode, Metric, Region, TerminationReason, Tier

SCORES = COLUMNS[:-1]
"""What conversations can be filtered and sorted by: all columns but ``clean``, which is a filter of its own."""
SCORE_TITLES: Mapping[str, str] = {name: name.upper() if name in {"3h", "tdq"} else name for name in SCORES}
"""What scores are called where people read them."""
FACETS = ("model", "region", "identity", "tier", "language", "ended")
"""What a conversation has one value of, and can be chosen by."""
UNSCORED = "judge: no score"
BROKEN = "infrastructure: broken off"
_TIERS: Mapping[Tier, str] = {
    Tier.STANDARD: "standard",
    Tier.CONTEXTUAL: "contextual trap",
    Tier.NORMATIVE: "normative trap",
}
_ORDERS: Mapping[str, tuple[str, ...]] = {
    "region": tuple(region.value for region in Region),
    "tier": tuple(_TIERS.values()),
}
Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Entry(NamedTuple):
    """What a list of conversations says of one."""

    episode_id: str
    model: str
    region: str
    identity: str
    tier: str
    language: str
    ended: str
    turns: int
    scores: tuple[float, ...]
    """In the order of ``SCORES``; ``nan`` where there is none."""
    clean: float
    """1 or 0; ``nan`` where nobody knows."""
    faults: tuple[str, ...]


def identity_label(region: str, identity: str) -> str:
    """Return a community as people read it; one name may occur in several regions."""
    return f"{region} {identity.replace('_', ' ')}"


def tier_label(tier: Tier) -> str:
    """Return a tier as people read it."""
    return _TIERS[tier]


def language_label(mode: LanguageMode, native: str) -> str:
    """Return in which language a conversation was held."""
    return f"native: {native}" if mode is LanguageMode.NATIVE else "English"


def ended_label(reason: TerminationReason) -> str:
    """Return why a conversation ended, as people read it."""
    return reason.value.replace("_", " ").lower()


def metric_label(metric: Metric) -> str:
    """Return what a metric is called where people read it: as the scores of a list are."""
    return metric.value.rpartition("_")[2]


def faults_of(checks: Iterable[str], scores: Sequence[float], *, broken: bool) -> tuple[str, ...]:
    """Return what went wrong in a conversation: checks that user messages fail, scores that are missing, breaks.

    One that broke off is not judged, so that it has no scores is no fault of the judge's.
    """
    found = [f"user: {check.replace('_', ' ')}" for check in sorted(set(checks))]
    if broken:
        return (*found, BROKEN)
    return (*found, UNSCORED) if np.isnan(scores).any() else tuple(found)


class Facet(NamedTuple):
    """A column of few values."""

    values: tuple[str, ...]
    codes: Ints


@dataclass(frozen=True)
class Index:
    """Conversations as columns, in the order in which they are listed."""

    episodes: tuple[str, ...]
    facets: Mapping[str, Facet]
    turns: Ints
    scores: Floats
    """Conversations × ``SCORES``."""
    clean: Floats
    fault_values: tuple[str, ...]
    faults: NDArray[np.bool_]
    """Conversations × faults."""

    def __len__(self) -> int:
        return len(self.episodes)

    @cached_property
    def known(self) -> dict[str, tuple[str, ...]]:
        """The values to choose from, by facet; ``fault`` too."""
        return {name: facet.values for name, facet in self.facets.items()} | {"fault": self.fault_values}

    def row(self, place: int) -> dict[str, Any]:
        """Return one conversation as the list shows it."""
        return {
            "n": place,
            "id": self.episodes[place],
            **{name: facet.values[facet.codes[place]] for name, facet in self.facets.items()},
            "turns": int(self.turns[place]),
            "scores": [_number(score) for score in self.scores[place]],
            "clean": _number(self.clean[place]),
            "faults": [self.fault_values[each] for each in np.flatnonzero(self.faults[place])],
        }

    def entry(self, place: int) -> Entry:
        """Return one conversation as it was indexed."""
        named = {name: facet.values[facet.codes[place]] for name, facet in self.facets.items()}
        return Entry(
            episode_id=self.episodes[place],
            turns=int(self.turns[place]),
            scores=tuple(self.scores[place].tolist()),
            clean=float(self.clean[place]),
            faults=tuple(self.fault_values[each] for each in np.flatnonzero(self.faults[place])),
            **named,
        )

    def columns(self) -> dict[str, Any]:
        """Return everything for a page, whose script reads rows as ``row`` does."""
        return {
            "episodes": self.episodes,
            "facets": {n: {"values": f.values, "codes": f.codes.tolist()} for n, f in self.facets.items()},
            "turns": self.turns.tolist(),
            "scores": [[_number(score) for score in column] for column in self.scores.T],
            "clean": [_number(flag) for flag in self.clean],
            "fault_values": self.fault_values,
            "faults": [np.flatnonzero(row).tolist() for row in self.faults],
        }


def _number(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), 4)


def indexed(entries: Sequence[Entry]) -> Index:
    """Lay entries out as columns."""
    faults = sorted({fault for entry in entries for fault in entry.faults})
    places = {fault: place for place, fault in enumerate(faults)}
    flags = np.zeros((len(entries), len(faults)), dtype=np.bool_)
    for row, entry in enumerate(entries):
        flags[row, [places[fault] for fault in entry.faults]] = True
    return Index(
        episodes=tuple(entry.episode_id for entry in entries),
        facets={name: _facet([getattr(e, name) for e in entries], _ORDERS.get(name, ())) for name in FACETS},
        turns=np.array([entry.turns for entry in entries], dtype=np.int64),
        scores=np.array([entry.scores for entry in entries], dtype=np.float64).reshape(len(entries), len(SCORES)),
        clean=np.array([entry.clean for entry in entries], dtype=np.float64),
        fault_values=tuple(faults),
        faults=flags,
    )


def _facet(values: Sequence[str], order: Sequence[str]) -> Facet:
    there = set(values)
    ordered = [value for value in order if value in there]
    names = (*ordered, *sorted(there - set(ordered)))
    codes = {value: code for code, value in enumerate(names)}
    return Facet(names, np.array([codes[value] for value in values], dtype=np.int64))


Order = Literal["listed", "lowest", "highest"]


class Filter(NamedTuple):
    """Which conversations are wanted, and which first; ``None`` admits everything."""

    model: str | None = None
    region: str | None = None
    identity: str | None = None
    tier: str | None = None
    language: str | None = None
    ended: str | None = None
    fault: str | None = None
    clean: Literal["yes", "no", "unknown"] | None = None
    score: str = SCORES[0]
    """What ``least``, ``most`` and ``order`` are about."""
    least: float | None = None
    most: float | None = None
    order: Order = "listed"
    text: str = ""
    """What somebody must have said, in any case of letters; whoever has the texts looks for it."""


def meeting(index: Index, wanted: Filter) -> Ints:
    """Return the places of the conversations that meet a filter but for its text, those without a score last."""
    chosen = np.ones(len(index), dtype=np.bool_)
    for name in FACETS:
        value, facet = getattr(wanted, name), index.facets[name]
        if value is not None:
            chosen &= facet.codes == facet.values.index(value) if value in facet.values else False
    if wanted.fault is not None:
        known = wanted.fault in index.fault_values
        chosen &= index.faults[:, index.fault_values.index(wanted.fault)] if known else False
    if wanted.clean is not None:
        flag = {"yes": index.clean == 1, "no": index.clean == 0, "unknown": np.isnan(index.clean)}
        chosen &= flag[wanted.clean]
    scores = index.scores[:, SCORES.index(wanted.score)]
    with np.errstate(invalid="ignore"):
        if wanted.least is not None:
            chosen &= scores >= wanted.least
        if wanted.most is not None:
            chosen &= scores <= wanted.most
    places = np.flatnonzero(chosen)
    if wanted.order != "listed":
        key = scores[places] if wanted.order == "lowest" else -scores[places]
        places = places[np.argsort(key, kind="stable")]  # NaN comes last
    return places
