"""Seeds: every persona with every template, a challenge and a split for each (section 3.3). Pure.

A *block* is a persona's templates of one domain. Half of a block is standard, a quarter contextual, a quarter
normative, drawn among the templates that admit the trap; so the tiers are exact in every slice that is a union of
blocks: region, identity, age, gender, domain. Within region × domain × tier a stated share is cross-cultural, with a
secondary region among those that people of the region plausibly meet, and a stated share of the normative ones is
grounded in a taboo. The test split is drawn within identity × domain × tier. Where a share of a group is no whole
number, cumulative rounding over the groups keeps every group within one of its share, and the sum too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ccfw.records import Persona, Region, Tier
from ccfw.universe.records import LibraryTemplate, Universe
from ccfw.universe.seed_id import seed_id

TIERS = (Tier.STANDARD, Tier.CONTEXTUAL, Tier.NORMATIVE)
_CODES = ("STANDARD", "TRAP__CTX", "TRAP__NORM")
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Shares:
    """How many seeds of a kind there are."""

    test: float
    taboo_grounded: float
    """Of the normative ones."""
    cross_cultural: Mapping[Tier, float]
    """Of each tier."""


@dataclass(frozen=True)
class Allocation:
    """One entry a seed, persona by persona, template by template within a persona."""

    persona: Ints
    """Index into ``universe.personas``."""
    template: Ints
    """Index into ``universe.templates``."""
    tier: Ints
    """Index into ``TIERS``."""
    secondary: Ints
    """Index into the list of regions; -1: not cross-cultural."""
    taboo_grounded: Bools
    test: Bools


def allocate(universe: Universe, shares: Shares, seed: int) -> Allocation:
    """Allocate every persona × template; raise ``ValueError`` when a domain has too few templates for its traps."""
    rng = np.random.default_rng(seed)
    personas, templates = universe.personas, universe.templates
    persona = np.repeat(np.arange(len(personas)), len(templates))
    template = np.tile(np.arange(len(templates)), len(personas))
    region, identity = _codes([p.region for p in personas]), _codes([(p.region, p.identity) for p in personas])
    domain = _codes([t.domain_code for t in templates])
    tier = _tiers(personas, templates, region, domain, rng).ravel()
    where = (region[persona] * (domain.max() + 1) + domain[template]) * len(TIERS) + tier
    cross = _drawn(where, np.array([shares.cross_cultural[TIERS[i]] for i in range(len(TIERS))])[tier], rng)
    grounded = _drawn(where, np.where(tier == TIERS.index(Tier.NORMATIVE), shares.taboo_grounded, 0.0), rng)
    stratum = (identity[persona] * (domain.max() + 1) + domain[template]) * len(TIERS) + tier
    return Allocation(
        persona,
        template,
        tier,
        np.where(cross, _secondary(universe, persona, rng), -1),
        grounded,
        _test_split(stratum, tier, shares.test, rng),
    )


def _codes(values: Sequence[object]) -> Ints:
    order = {value: code for code, value in enumerate(dict.fromkeys(values))}
    return np.array([order[value] for value in values])


def _tiers(
    personas: Sequence[Persona],
    templates: Sequence[LibraryTemplate],
    region: Ints,
    domain: Ints,
    rng: np.random.Generator,
) -> Ints:
    """Return the tier of every persona × template."""
    tier = np.zeros((len(personas), len(templates)), dtype=np.int64)
    admits = np.array([[t.admits(kind) for t in templates] for kind in TIERS])
    for code in range(domain.max() + 1):
        columns = np.flatnonzero(domain == code)
        keys = rng.random((len(personas), len(columns)))
        taken = np.zeros(keys.shape, dtype=bool)
        for trap in sorted((1, 2), key=lambda each: admits[each, columns].sum()):  # the scarcer has the first choice
            open_ = admits[trap, columns] & ~taken
            wanted = _quotas(region, len(columns) / 4)
            if (open_.sum(axis=1) < wanted).any():
                name = templates[columns[0]].domain_code
                raise ValueError(f"domain {name}: too few templates admit {TIERS[trap]}: a quarter must")
            ranks = np.where(open_, keys, np.inf).argsort(axis=1).argsort(axis=1)
            chosen = ranks < wanted[:, None]
            tier[:, columns] = np.where(chosen, trap, tier[:, columns])
            taken |= chosen
    return tier


def _quotas(group: Ints, share: float) -> Ints:
    """Return whole numbers for the members of each group, in order, whose running sum stays within one of the share."""
    place = np.zeros(len(group), dtype=np.int64)
    for code in np.unique(group):
        members = np.flatnonzero(group == code)
        place[members] = np.arange(len(members))
    until: Ints = np.floor((place + 1) * share + 0.5).astype(np.int64)
    before: Ints = np.floor(place * share + 0.5).astype(np.int64)
    return until - before


def _drawn(stratum: Ints, share: npt.NDArray[np.float64], rng: np.random.Generator) -> Bools:
    """Draw a share within each stratum; every member of a stratum has the same share."""
    rank, size = _ranks(stratum, rng)
    return rank < np.floor(size * share + rng.random())


def _ranks(stratum: Ints, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Return each member's random rank within its stratum, from 0, and the stratum's size."""
    order = np.lexsort((rng.random(len(stratum)), stratum))
    ordered = stratum[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    sizes = np.diff(np.r_[starts, len(ordered)])
    rank, size = np.empty_like(stratum), np.empty_like(stratum)
    rank[order] = np.arange(len(ordered)) - np.repeat(starts, sizes)
    size[order] = np.repeat(sizes, sizes)
    return rank, size


def _test_split(stratum: Ints, tier: Ints, share: float, rng: np.random.Generator) -> Bools:
    """Draw the test split; contextual and normative strata round to opposite sides, so that their sum stays even."""
    rank, size = _ranks(stratum, rng)
    quota = np.zeros(int(stratum.max()) + 1, dtype=np.int64)
    for code in range(len(TIERS)):
        members, first = np.unique(stratum[tier == code], return_index=True)
        total = np.cumsum(size[tier == code][first]) * share
        rounded = np.floor(total + (0.5 if code == 1 else 1e-9)).astype(np.int64)
        quota[members] = np.diff(np.r_[0, rounded])
    return rank < quota[stratum]


def _secondary(universe: Universe, persona: Ints, rng: np.random.Generator) -> Ints:
    """Draw a secondary region for every seed."""
    regions = list(Region)
    options = [[regions.index(other) for other in universe.secondary[p.region]] for p in universe.personas]
    counts = np.array([len(each) for each in options])
    table = np.array([each + [-1] * (int(counts.max()) - len(each)) for each in options])
    pick = (rng.random(len(persona)) * counts[persona]).astype(np.int64)
    drawn: Ints = table[persona, pick]
    return drawn


def names(universe: Universe, allocation: Allocation) -> list[str]:
    """Spell the id of every seed."""
    regions = list(Region)
    heads = [_head(persona) for persona in universe.personas]
    ids = [template.template_id for template in universe.templates]
    tails = ["", *(f"__XCULTURE_{region}" for region in regions)]
    columns = (allocation.persona, allocation.template, allocation.tier, allocation.secondary)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return [f"{heads[p]}__{ids[t]}__{_CODES[tier]}{tails[second + 1]}" for p, t, tier, second in rows]


def _head(persona: Persona) -> str:
    spelt = seed_id(persona.region, persona.identity, persona.gender, persona.age_cohort, "T", "STANDARD", None)
    return spelt.removesuffix("__T__STANDARD")
