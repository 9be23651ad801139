"""Which scenarios a run takes, and in which order. Pure.

The order is stratified by region and tier. Within a stratum of size ``s`` scenarios are ranked by a hash of seed and
id, and the one of rank ``r`` (from 0) stands at ``(r + u) / s``, where ``u`` in (0, 1) is a hash of seed and stratum.
So up to a point ``τ`` there are ``⌈sτ − u⌉`` scenarios of the stratum, less than one from ``sτ``, and over the seeds
each scenario stands before ``τ`` with the same probability, ``τ``. It follows, for ``H`` strata, ``S`` scenarios and
every prefix of ``n``:

- a stratum's count differs from its share ``n·s/S`` by less than ``1 + (H − 2)·s/S``: in ``e = ⌈sτ − u⌉ − sτ``,
  ``|e| < 1``, the count is ``n·s/S + (1 − s/S)·e − (s/S)·Σ e'`` over the others. (By less than 1 when all strata are
  of one size.) The ``e'`` have either sign and nearly cancel, so the excess over 1 is rarely seen;
- a scenario that comes to the dataset, or goes, moves the scenarios of other strata by at most one place, as ``⌈sτ −
  u⌉`` changes by at most 1 when ``s`` does; no two others change their order unless they are of different strata and
  one of them is of its own.
"""

from __future__ import annotations

import difflib
import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import NamedTuple, TypeVar

from ccfw.records import Scenario, Seed, Tier

T = TypeVar("T")
_SHOWN = 30
"""Options written out in one message; the rest are counted."""


class Outline(NamedTuple):
    """What a scenario is chosen and planned by, without its texts."""

    seed: Seed
    domain: str
    subdomain: str
    shards: int
    """How many it has."""
    native: bool = True
    """Whether its first message is there in the persona's language; the English one may stand in for it."""


def outline(scenario: Scenario) -> Outline:
    """Return a scenario's outline."""
    template = scenario.blueprint.scenario_instantiation.parent_template
    message = scenario.blueprint.public_context.initial_user_message
    native = scenario.seed.persona.native_language == "English" or message.native_language != message.global_english
    return Outline(scenario.seed, template.domain, template.subdomain, len(scenario.interaction_sequence), native)


@dataclass(frozen=True)
class Criteria:
    """What a scenario must be; an empty field admits everything."""

    tiers: tuple[Tier, ...] = ()
    regions: tuple[str, ...] = ()
    identities: tuple[str, ...] = ()
    domains: tuple[str, ...] = ()
    subdomains: tuple[str, ...] = ()
    ages: tuple[str, ...] = ()
    genders: tuple[str, ...] = ()
    splits: tuple[str, ...] = ()
    ids: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Facet:
    key: str
    """The setting's name in messages."""
    value: Callable[[Outline], str]


_FACETS = {
    "tiers": _Facet("trap.tiers", lambda s: s.seed.challenge_config.challenge_type),
    "regions": _Facet("region", lambda s: s.seed.persona.region),
    "identities": _Facet("identity", lambda s: s.seed.persona.identity),
    "domains": _Facet("domain", lambda s: s.domain),
    "subdomains": _Facet("subdomain", lambda s: s.subdomain),
    "ages": _Facet("age", lambda s: s.seed.persona.age_cohort),
    "genders": _Facet("gender", lambda s: s.seed.persona.gender),
    "splits": _Facet("split", lambda s: s.seed.split),
    "ids": _Facet("ids", lambda s: s.seed.seed_id),
}


def problems(scenarios: Sequence[Outline], criteria: Criteria) -> tuple[str, ...]:
    """Return one line for each value that no scenario has, with those that there are.

    When every value is known, yet no scenario meets them all, that is the one line. A tier that the dataset lacks is no
    problem of its own: tiers are chosen by group, not by name.
    """
    found = []
    for field, wanted in _wanted(criteria):
        if field == "tiers":
            continue
        options = sorted({str(_FACETS[field].value(s)) for s in scenarios})
        found += [
            _unknown(_FACETS[field].key, value, options) for value in dict.fromkeys(wanted) if value not in options
        ]
    if not found and not _admitted(scenarios, criteria):
        found.append(_nothing(scenarios, criteria))
    return tuple(found)


def choose(scenarios: Iterable[Outline], criteria: Criteria, limit: int | None, seed: int) -> tuple[Outline, ...]:
    """Return the scenarios that meet the criteria in the stratified order, at most ``limit`` of them.

    The order depends on the seed and on which scenarios are admitted, not on the order they come in.
    """
    admitted = _admitted(scenarios, criteria)
    return stratified(((stratum(each), each.seed.seed_id, each) for each in admitted), seed)[:limit]


def stratified(items: Iterable[tuple[str, str, T]], seed: int) -> tuple[T, ...]:
    """Return items, each given with its stratum and id, in the stratified order of this module."""
    strata: dict[str, list[tuple[bytes, T]]] = defaultdict(list)
    for name, identity, item in items:
        strata[name].append((_hash(seed, identity), item))
    placed = []
    for name, members in strata.items():
        offset = int.from_bytes(_hash(seed, f"stratum:{name}")[:6]) / 2**48
        members.sort(key=lambda member: member[0])
        placed += [((rank + offset) / len(members), tie, item) for rank, (tie, item) in enumerate(members)]
    placed.sort(key=lambda place: place[:2])
    return tuple(item for _, _, item in placed)


def stratum(scenario: Outline) -> str:
    """Return the name of the stratum: region and tier."""
    return f"{scenario.seed.persona.region}:{scenario.seed.challenge_config.challenge_type}"


def random_order(ids: Iterable[str], seed: int) -> tuple[str, ...]:
    """Return the ids in an order that any other order was as likely as: what a stopping rule's promise stands on."""
    return tuple(sorted(ids, key=lambda each: _hash(seed, f"order:{each}")))


def _wanted(criteria: Criteria) -> list[tuple[str, tuple[str, ...]]]:
    asked = [(field.name, getattr(criteria, field.name)) for field in fields(criteria)]
    return [(name, values) for name, values in asked if values]


def _admitted(scenarios: Iterable[Outline], criteria: Criteria) -> list[Outline]:
    tests = [(_FACETS[name].value, frozenset(values)) for name, values in _wanted(criteria)]
    return [s for s in scenarios if all(value(s) in admitted for value, admitted in tests)]


def _nothing(scenarios: Sequence[Outline], criteria: Criteria) -> str:
    if not scenarios:
        return "no scenario is there"
    asked = " ".join(f"{_FACETS[field].key}={','.join(wanted)}" for field, wanted in _wanted(criteria))
    tiers = sorted({s.seed.challenge_config.challenge_type for s in _admitted(scenarios, replace(criteria, tiers=()))})
    if tiers:
        return f"{asked}: no scenario is all of this; without trap.tiers there are {', '.join(tiers)}"
    return f"{asked}: no scenario is all of this, though each value alone is there"


def _unknown(key: str, value: str, options: Sequence[str]) -> str:
    if len(options) > _SHOWN:
        near = difflib.get_close_matches(value, options, 3)
        meant = f"nearest: {', '.join(near)}" if near else f"as in {options[0]}"
        return f"{key}={value}: no scenario has it; {meant} ({len(options)} there)"
    return f"{key}={value}: no scenario has it; there: {', '.join(options) or 'nothing'}"


def _hash(seed: int, text: str) -> bytes:
    return hashlib.sha256(f"{seed}:{text}".encode()).digest()
