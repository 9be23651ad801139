"""Seeds: the paper's numbers, exact in every slice, drawn by the rules that are stated."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ccfw.records import ChallengeConfig, Region, Seed, Tier
from ccfw.resources import resource
from ccfw.universe.reading import read_universe
from ccfw.universe.records import LibraryTemplate, Universe
from ccfw.universe.seeds import TIERS, Allocation, Shares, allocate, names

SHARES = Shares(0.05, 0.5, {Tier.STANDARD: 0.1, Tier.CONTEXTUAL: 0.5, Tier.NORMATIVE: 0.1})


@pytest.fixture(scope="module")
def universe() -> Universe:
    return read_universe(resource("data") / "universe")


@pytest.fixture(scope="module")
def found(universe: Universe) -> Allocation:
    return allocate(universe, SHARES, 0)


def tiers_by(found: Allocation, groups: list[object]) -> dict[object, list[int]]:
    """Count the tiers within each group of seeds."""
    labels = np.array([hash(group) for group in groups])
    return {
        group: np.bincount(found.tier[labels == hash(group)], minlength=3).tolist() for group in dict.fromkeys(groups)
    }


def test_the_numbers_are_the_papers(found: Allocation) -> None:
    assert len(found.tier) == 146_160
    assert np.bincount(found.tier).tolist() == [73_080, 36_540, 36_540]
    assert int(found.test.sum()) == 7_308


def test_tiers_are_exact_in_every_region_and_domain(universe: Universe, found: Allocation) -> None:
    regions = [universe.personas[p].region for p in found.persona]
    domains = [universe.templates[t].domain_code for t in found.template]
    cells = tiers_by(found, list(zip(regions, domains, strict=True)))
    assert len(cells) == 70
    assert {
        cell: counts for cell, counts in cells.items() if counts[0] != 2 * counts[1] or counts[1] != counts[2]
    } == {}


def test_tiers_are_exact_for_every_persona(found: Allocation) -> None:
    counts = tiers_by(found, found.persona.tolist())
    assert set(map(tuple, counts.values())) == {(210, 105, 105)}


def test_a_trap_is_only_set_where_the_template_admits_it(universe: Universe, found: Allocation) -> None:
    pairs = set(zip(found.template.tolist(), found.tier.tolist(), strict=True))
    assert [pair for pair in pairs if not universe.templates[pair[0]].admits(TIERS[pair[1]])] == []


def test_the_test_split_is_a_twentieth_of_every_stratum(universe: Universe, found: Allocation) -> None:
    people = [(universe.personas[p].region, universe.personas[p].identity) for p in found.persona]
    domains = [universe.templates[t].domain_code for t in found.template]
    strata = list(zip(people, domains, strict=True))
    held = [stratum for stratum, test in zip(strata, found.test, strict=True) if test]
    counts = {stratum: held.count(stratum) for stratum in set(strata)}
    assert set(counts.values()) == {18}  # 5 % of 360
    by_tier = [int(found.test[found.tier == code].sum()) for code in range(3)]
    assert by_tier == [3_654, 1_827, 1_827]


def test_flags_follow_the_stated_shares(found: Allocation) -> None:
    cross = [float((found.secondary[found.tier == code] >= 0).mean()) for code in range(3)]
    grounded = [float(found.taboo_grounded[found.tier == code].mean()) for code in range(3)]
    assert cross == pytest.approx([0.1, 0.5, 0.1], abs=0.01)
    assert grounded == pytest.approx([0.0, 0.0, 0.5], abs=0.01)


def test_a_second_region_is_one_that_the_first_plausibly_meets(universe: Universe, found: Allocation) -> None:
    regions = list(Region)
    rows = set(zip(found.persona.tolist(), found.secondary.tolist(), strict=True))
    strange = [(p, s) for p, s in rows if s >= 0 and regions[s] not in universe.secondary[universe.personas[p].region]]
    assert strange == []


def test_ids_are_unique_and_spell_the_seed(universe: Universe, found: Allocation) -> None:
    spelt = names(universe, found)
    assert len(set(spelt)) == 146_160
    for index in (0, 31, 77_777, 146_159):
        tier, second = TIERS[found.tier[index]], int(found.secondary[index])
        seed = Seed(
            seed_id=spelt[index],
            template_id=universe.templates[found.template[index]].template_id,
            split="test" if found.test[index] else "train",
            persona=universe.personas[found.persona[index]],
            challenge_config=ChallengeConfig(
                challenge_group="Standard" if tier is Tier.STANDARD else "Trap",
                challenge_type=tier,
                is_cross_cultural=second >= 0,
                secondary_region=list(Region)[second] if second >= 0 else None,
                taboo_grounded=bool(found.taboo_grounded[index]),
            ),
        )
        assert seed.seed_id == spelt[index]


def test_the_same_seed_gives_the_same_and_another_gives_others(universe: Universe, found: Allocation) -> None:
    again, other = allocate(universe, SHARES, 0), allocate(universe, SHARES, 1)
    assert names(universe, again) == names(universe, found)
    assert (again.test == found.test).all()
    assert (other.tier != found.tier).mean() > 0.4


def small(universe: Universe, personas: int, templates: int) -> Universe:
    """Return a universe of some of the personas and of so many templates a subdomain."""
    kept = tuple(t for t in universe.templates if int(t.template_id[-2:]) <= templates)
    return universe.model_copy(update={"personas": universe.personas[:personas], "templates": kept})


@settings(max_examples=25, deadline=None)
@given(personas=st.integers(1, 60), templates=st.integers(6, 10), seed=st.integers(0, 2**32 - 1))
def test_any_universe_keeps_its_shares_within_one(personas: int, templates: int, seed: int) -> None:
    universe = small(read_universe(resource("data") / "universe"), personas, templates)
    found = allocate(universe, SHARES, seed)
    regions = [universe.personas[p].region for p in found.persona]
    domains = [universe.templates[t].domain_code for t in found.template]
    for counts in tiers_by(found, list(zip(regions, domains, strict=True))).values():
        assert all(abs(counts[code] - sum(counts) * share) <= 1 for code, share in enumerate((0.5, 0.25, 0.25)))
    assert abs(int(found.test.sum()) - 0.05 * len(found.test)) <= 3


def test_a_domain_that_admits_too_few_traps_is_refused(universe: Universe) -> None:
    none = {"trap_compatible": False, "applicable_trap_types": ()}
    bare = tuple(
        LibraryTemplate.model_validate(t.model_dump() | {"challenge_compatibility": none})
        if t.domain_code == "HEA"
        else t
        for t in universe.templates
    )
    with pytest.raises(ValueError) as caught:
        allocate(universe.model_copy(update={"templates": bare}), SHARES, 0)
    assert str(caught.value) == "domain HEA: too few templates admit Friction_Contextual: a quarter must"
