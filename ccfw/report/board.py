"""The scores that may stand in one table, as arrays: assistants × languages × seeds × columns. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ccfw.judging.score_table import COLUMNS, Array, ScoreTable
from ccfw.records import LanguageMode, Region, Tier
from ccfw.selection import Outline
from ccfw.stats.resampling import Ints
from ccfw.universe.seed_id import episode_id

MOST_GROUPS = 250
"""Groups of an axis that are told apart; of one with more nothing is shown, and that is said."""
H3, TDQ, CLEAN = (COLUMNS.index(name) for name in ("3h", "tdq", "clean"))


class Axis(NamedTuple):
    """What seeds are parted by."""

    name: str
    """``region``, as in the setting that chooses by it."""
    title: str
    groups: tuple[str, ...]
    """All that the dataset has, in their order; a group may have no seed here."""
    codes: Ints
    """The group of every seed (seeds,)."""

    @property
    def sizes(self) -> Ints:
        """Seeds of each group."""
        return np.bincount(self.codes, minlength=len(self.groups))


class Assistant(NamedTuple):
    """One assistant's stored scores."""

    name: str
    label: str
    scores: ScoreTable
    held: frozenset[str] | set[str]
    """Dialogues that were held to their end, judged or not."""
    usd: float | None = None
    """What its dialogues cost, each with the simulated user's share; ``None`` is unknown."""


@dataclass(frozen=True)
class Board:
    """What assistants came to on the same seeds, under one judge."""

    names: tuple[str, ...]
    labels: tuple[str, ...]
    """One each: two settings of one model are told apart."""
    languages: tuple[LanguageMode, ...]
    """Those in which anything was held."""
    seeds: tuple[str, ...]
    values: Array
    """Assistants × languages × seeds × ``COLUMNS``; ``nan`` where there is no score."""
    held: NDArray[np.bool_]
    """Assistants × languages × seeds."""
    axes: tuple[Axis, ...]
    left_out: tuple[str, ...] = ()
    """Titles of axes with too many groups."""

    @cached_property
    def units(self) -> Ints:
        """The seed of every item, items being languages × seeds."""
        return np.tile(np.arange(len(self.seeds)), len(self.languages))

    def items(self, column: int) -> Array:
        """Return one column (languages · seeds × assistants)."""
        return self.values[..., column].reshape(len(self.names), -1).T

    @cached_property
    def any_scored(self) -> bool:
        """Whether there is any score at all."""
        return bool((~np.isnan(self.values)).any())


def board(
    assistants: Sequence[Assistant],
    languages: Sequence[LanguageMode],
    outlines: Sequence[Outline],
    known: Sequence[Outline],
) -> Board:
    """Lay scores out by the seeds that were asked for; ``known`` are all that the dataset has."""
    ordered = sorted(outlines, key=lambda outline: outline.seed.seed_id)
    seeds = tuple(outline.seed.seed_id for outline in ordered)
    ids = {language: [episode_id(seed, language) for seed in seeds] for language in languages}
    held = {
        language: np.array([[key in each.held for key in ids[language]] for each in assistants], dtype=np.bool_)
        for language in languages
    }
    used = tuple(language for language in languages if held[language].any())
    values = np.full((len(assistants), len(used), len(seeds), len(COLUMNS)), np.nan)
    for number, each in enumerate(assistants):
        wanted = [key for language in used for key in ids[language]]
        found = each.scores.rows(wanted).columns()
        values[number] = found.reshape(len(used), len(seeds), len(COLUMNS))
    axes = [_axis(name, title, value, order, ordered, known) for name, title, value, order in _AXES]
    return Board(
        names=tuple(each.name for each in assistants),
        labels=unique([each.label for each in assistants]),
        languages=used,
        seeds=seeds,
        values=values,
        held=np.stack([held[language] for language in used], axis=1)
        if used
        else np.zeros((len(assistants), 0, len(seeds)), dtype=np.bool_),
        axes=tuple(axis for axis in axes if len(axis.groups) <= MOST_GROUPS),
        left_out=tuple(axis.title for axis in axes if len(axis.groups) > MOST_GROUPS),
    )


def unique(labels: Sequence[str]) -> tuple[str, ...]:
    """Return labels with a number after each that occurs several times."""
    seen: dict[str, int] = {}
    found = []
    for label in labels:
        seen[label] = seen.get(label, 0) + 1
        found.append(label if labels.count(label) == 1 else f"{label} ({seen[label]})")
    return tuple(found)


def words(name: str) -> str:
    """Return a name of the universe as people read it."""
    return " ".join(name.split("_")).strip() or name


def _axis(
    name: str,
    title: str,
    value: Callable[[Outline], str],
    order: Sequence[str],
    outlines: Sequence[Outline],
    known: Sequence[Outline],
) -> Axis:
    there = {value(outline) for outline in known} | {value(outline) for outline in outlines}
    groups = (*order, *sorted(there - set(order)))
    places = {group: place for place, group in enumerate(groups)}
    codes = np.array([places[value(outline)] for outline in outlines], dtype=np.int64)
    return Axis(name, title, groups, codes)


_TIERS: Mapping[Tier, str] = {
    Tier.STANDARD: "standard",
    Tier.CONTEXTUAL: "contextual trap",
    Tier.NORMATIVE: "normative trap",
}
_AXES: tuple[tuple[str, str, Callable[[Outline], str], tuple[str, ...]], ...] = (
    ("region", "Region", lambda s: s.seed.persona.region.value, tuple(region.value for region in Region)),
    ("identity", "Identity", lambda s: words(f"{s.seed.persona.region}_{s.seed.persona.identity}"), ()),
    ("age", "Age", lambda s: s.seed.persona.age_cohort, ("18-34", "35-54", "55+")),
    ("gender", "Gender", lambda s: s.seed.persona.gender, ("Female", "Male")),
    ("domain", "Domain", lambda s: words(s.domain.lstrip("0123456789_").capitalize()), ()),
    ("subdomain", "Subdomain", lambda s: words(s.subdomain), ()),
    ("tier", "Tier", lambda s: _TIERS[s.seed.challenge_config.challenge_type], tuple(_TIERS.values())),
    (
        "cross_cultural",
        "Second region",
        lambda s: "cross-cultural" if s.seed.challenge_config.is_cross_cultural else "one region",
        ("one region", "cross-cultural"),
    ),
    (
        "taboo_grounded",
        "Taboo",
        lambda s: "taboo-grounded" if s.seed.challenge_config.taboo_grounded else "not taboo-grounded",
        ("not taboo-grounded", "taboo-grounded"),
    ),
)
TRAPS = (_TIERS[Tier.CONTEXTUAL], _TIERS[Tier.NORMATIVE])
STANDARD = _TIERS[Tier.STANDARD]
LANGUAGES: Mapping[LanguageMode | None, str] = {
    LanguageMode.ENGLISH: "English",
    LanguageMode.NATIVE: "native language",
    None: "both languages",
}
