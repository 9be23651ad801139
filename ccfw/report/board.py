"""The scores that may stand in one table, as arrays: assistants × languages × seeds × columns. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import count
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
NAMELESS = "without a name"
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


class Assistant(NamedTuple):
    """One assistant's stored scores."""

    name: str
    label: str
    scores: ScoreTable
    held: frozenset[str] | set[str]
    """Dialogues that were held to their end, judged or not."""
    usd: float | None = None
    """What its dialogues cost, each with the simulated user's share; ``None`` is unknown."""
    asked: Set[str] | None = None
    """Dialogues that its runs were asked for, held or not; ``None``: all that a board is laid out over."""
    kind: str = ""
    """What tells its settings from others, the same in either mode; empty: its name does."""


@dataclass(frozen=True)
class Board:
    """What assistants came to on the same seeds, under one judge."""

    names: tuple[str, ...]
    labels: tuple[str, ...]
    """One each: two settings of one model are told apart."""
    kinds: tuple[str, ...]
    """What an assistant is known by in either mode, whatever it is called."""
    languages: tuple[LanguageMode, ...]
    """Those in which anything was held."""
    seeds: tuple[str, ...]
    values: Array
    """Assistants × languages × seeds × ``COLUMNS``; ``nan`` where there is no score."""
    held: NDArray[np.bool_]
    """Assistants × languages × seeds."""
    asked: NDArray[np.bool_]
    """The same shape: what its runs were asked for."""
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
    def alone(self) -> tuple[LanguageMode | None, ...]:
        """The language of each assistant that has a 3H in one alone, where others have one in another."""
        scored = np.any(~np.isnan(self.values[..., H3]), axis=2)
        several = np.count_nonzero(scored.any(axis=0)) > 1
        return tuple(self.languages[int(own.argmax())] if several and own.sum() == 1 else None for own in scored)

    @cached_property
    def titles(self) -> tuple[str, ...]:
        """Labels for what is over all languages: an assistant with one alone says so, as it compares with no other."""
        return tuple(
            label if language is None else f"{label} ({LANGUAGES[language]} alone)"
            for label, language in zip(self.labels, self.alone, strict=True)
        )

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
    held = {language: _among(ids[language], [each.held for each in assistants]) for language in languages}
    used = tuple(language for language in languages if held[language].any())
    asked = {language: _among(ids[language], [each.asked for each in assistants]) | held[language] for language in used}
    values = np.full((len(assistants), len(used), len(seeds), len(COLUMNS)), np.nan)
    for number, each in enumerate(assistants):
        wanted = [key for language in used for key in ids[language]]
        found = each.scores.rows(wanted).columns()
        values[number] = found.reshape(len(used), len(seeds), len(COLUMNS))
    axes = [_axis(name, title, value, order, ordered, known) for name, title, value, order in _AXES]
    return Board(
        names=tuple(each.name for each in assistants),
        labels=unique([each.label for each in assistants]),
        kinds=tuple(each.kind or each.name for each in assistants),
        languages=used,
        seeds=seeds,
        values=values,
        held=_stacked([held[language] for language in used], len(assistants), len(seeds)),
        asked=_stacked([asked[language] for language in used], len(assistants), len(seeds)),
        axes=tuple(axis for axis in axes if len(axis.groups) <= MOST_GROUPS),
        left_out=tuple(axis.title for axis in axes if len(axis.groups) > MOST_GROUPS),
    )


def _among(ids: Sequence[str], each: Sequence[Set[str] | None]) -> NDArray[np.bool_]:
    """Return which ids are in each set (sets × ids); ``None`` holds all."""
    return np.array([[found is None or key in found for key in ids] for found in each], dtype=np.bool_)


def _stacked(parts: Sequence[NDArray[np.bool_]], assistants: int, seeds: int) -> NDArray[np.bool_]:
    return np.stack(parts, axis=1) if parts else np.zeros((assistants, 0, seeds), dtype=np.bool_)


def unique(labels: Sequence[str]) -> tuple[str, ...]:
    """Return labels of which none is empty and no two are the same: a number stands after those that would be."""
    named = [label if label.strip() else NAMELESS for label in labels]
    times, taken, found = Counter(named), set(named), []
    for label in named:
        numbered = (f"{label} ({number})" for number in count(1))
        found.append(label if times[label] == 1 else next(each for each in numbered if each not in taken))
        taken.add(found[-1])
    return tuple(found)


def words(name: str) -> str:
    """Return a name of the universe as people read it."""
    return " ".join(name.split("_")).strip() or name


def domain_label(domain: str) -> str:
    """Return a domain as people read it, without the number that orders it."""
    return words(domain.lstrip("0123456789_").capitalize())


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
    ("domain", "Domain", lambda s: domain_label(s.domain), ()),
    ("subdomain", "Subdomain", lambda s: words(s.subdomain), ()),
    ("tier", "Tier", lambda s: _TIERS[s.seed.challenge_config.challenge_type], tuple(_TIERS.values())),
    (
        "cross_cultural",
        "Cross-cultural",
        lambda s: "cross-cultural" if s.seed.challenge_config.is_cross_cultural else "one region",
        ("one region", "cross-cultural"),
    ),
    (
        "taboo_grounded",
        "Taboo-grounded",
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
