"""Which scenarios are taken, and that every beginning of their order is a fair sample."""

from __future__ import annotations

import functools
from collections import Counter
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ccfw.records import Region, Scenario, Tier
from ccfw.selection import Criteria, Outline, choose, outline, problems, random_order, stratum
from ccfw.universe.seed_id import seed_id
from tests.samples import raw_scenario, scenario_of

Stratum = tuple[Region, Tier]
SEEDS = st.integers(0, 10_000)
SIZES = st.dictionaries(st.tuples(st.sampled_from(Region), st.sampled_from(Tier)), st.integers(1, 15), max_size=8)


@functools.cache
def base() -> Scenario:
    return scenario_of(raw_scenario())


def made(region: Region = Region.SG, tier: Tier = Tier.STANDARD, /, **changes: Any) -> Outline:
    """Return the outline of a scenario that differs from the sample in its seed and its template's place."""
    old = base().seed
    persona = old.persona.model_copy(
        update={"region": region} | {k: v for k, v in changes.items() if k in type(old.persona).model_fields}
    )
    challenge = old.challenge_config.model_copy(
        update={"challenge_type": tier, "challenge_group": "Standard" if tier is Tier.STANDARD else "Trap"}
    )
    name = seed_id(
        persona.region,
        persona.identity,
        persona.gender,
        persona.age_cohort,
        old.template_id,
        challenge.code,
        challenge.secondary_region,
    )
    seed = old.model_copy(
        update={
            "seed_id": name,
            "persona": persona,
            "challenge_config": challenge,
            "split": changes.get("split", old.split),
        }
    )
    template = base().blueprint.scenario_instantiation.parent_template
    place = template.model_copy(update={k: v for k, v in changes.items() if k in ("domain", "subdomain")})
    filled = base().blueprint.scenario_instantiation.model_copy(update={"parent_template": place})
    blueprint = base().blueprint.model_copy(update={"seed": seed, "scenario_instantiation": filled})
    return outline(base().model_copy(update={"blueprint": blueprint}))


@functools.cache
def member(region: Region, tier: Tier, n: int) -> Outline:
    return made(region, tier, identity=f"Community_{n}")


def population(sizes: dict[Stratum, int]) -> list[Outline]:
    return [member(*place, n) for place, size in sizes.items() for n in range(size)]


def ids(scenarios: Any) -> list[str]:
    return [scenario.seed.seed_id for scenario in scenarios]


def order(scenarios: list[Outline], seed: int, limit: int | None = None) -> list[str]:
    return ids(choose(scenarios, Criteria(), limit, seed))


@given(SIZES, SEEDS, st.randoms(use_true_random=False))
def test_the_order_is_not_that_of_the_files(sizes: dict[Stratum, int], seed: int, random: Any) -> None:
    scenarios = population(sizes)
    expected = order(scenarios, seed)
    random.shuffle(scenarios)
    assert order(scenarios, seed) == expected
    assert sorted(expected) == sorted(ids(scenarios))


@given(SIZES, SEEDS, st.integers(0, 130))
def test_a_limit_takes_the_beginning(sizes: dict[Stratum, int], seed: int, limit: int) -> None:
    scenarios = population(sizes)
    assert order(scenarios, seed, limit) == order(scenarios, seed)[:limit]


def furthest(sizes: dict[Stratum, int], seed: int) -> dict[str, float]:
    """Return how far, over all beginnings, each stratum's count is at most from its share."""
    scenarios = population(sizes)
    shares = {f"{region}:{tier}": size / len(scenarios) for (region, tier), size in sizes.items()}
    counts, found = Counter[str](), dict.fromkeys(shares, 0.0)
    for n, scenario in enumerate(choose(scenarios, Criteria(), None, seed), 1):
        counts[stratum(scenario)] += 1
        found = {name: max(found[name], abs(counts[name] - n * shares[name])) for name in shares}
    return found


@given(SIZES, SEEDS)
def test_every_beginning_is_balanced_within_the_proven_bound(sizes: dict[Stratum, int], seed: int) -> None:
    total = sum(sizes.values())
    for (region, tier), size in sizes.items():
        bound = 1 + max(0, len(sizes) - 2) * size / total
        assert furthest(sizes, seed)[f"{region}:{tier}"] < bound + 1e-9


@given(st.sets(st.tuples(st.sampled_from(Region), st.sampled_from(Tier)), min_size=1, max_size=30), SEEDS)
@settings(max_examples=30)
def test_strata_of_one_size_are_balanced_within_one(places: set[Stratum], seed: int) -> None:
    assert max(furthest(dict.fromkeys(sorted(places), 4), seed).values()) < 1


@pytest.mark.parametrize("seed", range(5))
def test_thirty_strata_of_all_sizes_are_balanced_within_one_and_a_half(seed: int) -> None:
    places = [(region, tier) for region in Region for tier in Tier]
    assert max(furthest({place: 3 + 2 * n for n, place in enumerate(places)}, seed).values()) < 1.5


@given(SIZES, SEEDS, st.sampled_from(Region), st.sampled_from(Tier))
def test_a_new_scenario_moves_those_of_other_strata_by_one_place_at_most(
    sizes: dict[Stratum, int], seed: int, region: Region, tier: Tier
) -> None:
    before = order(population(sizes), seed)
    new = made(region, tier, identity="Newcomer")
    after = order([*population(sizes), new], seed)
    own = {s.seed.seed_id for s in population(sizes) if stratum(s) == stratum(new)}
    assert [each for each in before if each not in own] == [
        each for each in after if each not in own and each != new.seed.seed_id
    ]
    assert [each for each in before if each in own] == [each for each in after if each in own]
    assert all(after.index(each) - place in (0, 1) for place, each in enumerate(before) if each not in own)


@given(SIZES, SEEDS, st.sets(st.sampled_from(Region)))
def test_whole_strata_keep_their_order_when_others_are_left_out(
    sizes: dict[Stratum, int], seed: int, regions: set[Region]
) -> None:
    scenarios = population(sizes)
    kept = [s.seed.seed_id for s in choose(scenarios, Criteria(), None, seed) if s.seed.persona.region in regions]
    assume(regions)
    assert ids(choose(scenarios, Criteria(regions=tuple(regions)), None, seed)) == kept


def test_over_seeds_every_scenario_is_as_often_at_the_beginning() -> None:
    """Strata of 1, 3 and 8: the first 3 of 12 hold each scenario with probability 1/4, but for whole-number counts."""
    sizes = {(Region.SG, Tier.STANDARD): 1, (Region.SG, Tier.NORMATIVE): 3, (Region.JP, Tier.NORMATIVE): 8}
    counts = Counter(each for seed in range(2_000) for each in order(population(sizes), seed, 3))
    assert set(counts) == set(ids(population(sizes)))
    assert all(counts[each] / 2_000 == pytest.approx(0.25, abs=0.06) for each in counts)


def test_another_seed_is_another_order() -> None:
    scenarios = population({(Region.SG, Tier.STANDARD): 12, (Region.TH, Tier.CONTEXTUAL): 5})
    assert order(scenarios, 1) != order(scenarios, 2)


VARIED = (
    made(),
    made(Region.TH, Tier.NORMATIVE, identity="Central_Thai_Buddhist", gender="Male"),
    made(Region.VN, Tier.CONTEXTUAL, identity="Kinh_Buddhist", age_cohort="55+", split="train"),
    made(Region.VN, Tier.STANDARD, identity="Kinh_Catholic", domain="Rites", subdomain="Funerals"),
)


@pytest.mark.parametrize(
    ("criteria", "taken"),
    [
        ({}, {0, 1, 2, 3}),
        ({"tiers": (Tier.CONTEXTUAL, Tier.NORMATIVE)}, {1, 2}),
        ({"regions": ("VN",)}, {2, 3}),
        ({"regions": ("VN", "TH")}, {1, 2, 3}),
        ({"identities": ("Kinh_Catholic",)}, {3}),
        ({"domains": ("Rites",)}, {3}),
        ({"subdomains": ("Funerals",)}, {3}),
        ({"ages": ("55+",)}, {2}),
        ({"genders": ("Male",)}, {1}),
        ({"splits": ("train",)}, {2}),
        ({"ids": (VARIED[1].seed.seed_id, VARIED[3].seed.seed_id)}, {1, 3}),
        ({"regions": ("VN",), "tiers": (Tier.STANDARD,)}, {3}),
    ],
    ids=str,
)
def test_criteria_take_what_meets_them_all(criteria: dict[str, Any], taken: set[int]) -> None:
    chosen = choose(VARIED, Criteria(**criteria), None, 0)
    assert set(ids(chosen)) == {VARIED[n].seed.seed_id for n in taken}
    assert problems(VARIED, Criteria(**criteria)) == ()


def test_every_criterion_is_tried_above() -> None:
    assert {field.name for field in fields(Criteria)} == {
        *("tiers", "regions", "identities", "domains", "subdomains", "ages", "genders", "splits", "ids")
    }


def test_unknown_values_are_all_named_with_what_there_is() -> None:
    asked = Criteria(regions=("VN", "XX", "BN"), ages=("18-35",), genders=("female",), ids=("nobody",))
    lines = problems(VARIED, asked)
    assert lines[:4] == (
        "region=XX: no scenario has it; there: SG, TH, VN",
        "region=BN: no scenario has it; there: SG, TH, VN",
        "age=18-35: no scenario has it; there: 35-54, 55+",
        "gender=female: no scenario has it; there: Female, Male",
    )
    assert lines[4].startswith("ids=nobody: no scenario has it; there: ")
    assert len(lines) == 5


def test_of_many_options_the_nearest_are_named() -> None:
    scenarios = population({(Region.SG, Tier.STANDARD): 40})
    (line,) = problems(scenarios, Criteria(identities=("Comunity_7",)))
    assert line.startswith("identity=Comunity_7: no scenario has it; nearest: Community_7")
    assert line.endswith("(40 there)")
    (line,) = problems(scenarios, Criteria(identities=("?",)))
    assert line == "identity=?: no scenario has it; as in Community_0 (40 there)"


def test_known_values_that_never_meet_are_one_problem() -> None:
    asked = Criteria(tiers=(Tier.NORMATIVE,), regions=("VN", "SG"))
    assert problems(VARIED, asked) == (
        "trap.tiers=Friction_Normative region=VN,SG: no scenario is all of this; "
        "without trap.tiers there are Friction_Contextual, Standard_Implicit",
    )
    (line,) = problems(VARIED, Criteria(regions=("TH",), ages=("55+",)))
    assert line == "region=TH age=55+: no scenario is all of this, though each value alone is there"
    assert choose(VARIED, asked, None, 0) == ()


def test_a_tier_that_the_dataset_lacks_is_no_problem_beside_one_that_it_has() -> None:
    assert problems(VARIED[:1], Criteria(tiers=tuple(Tier))) == ()
    (line,) = problems(VARIED[:1], Criteria(tiers=(Tier.NORMATIVE,)))
    assert (
        line
        == "trap.tiers=Friction_Normative: no scenario is all of this; without trap.tiers there are Standard_Implicit"
    )


def test_nothing_at_all_is_a_problem() -> None:
    assert problems((), Criteria()) == ("no scenario is there",)
    assert problems((), Criteria(regions=("SG",))) == ("region=SG: no scenario has it; there: nothing",)


@given(st.sets(st.text(max_size=5)), SEEDS, st.randoms(use_true_random=False))
def test_a_random_order_is_of_the_ids_alone(names: set[str], seed: int, random: Any) -> None:
    expected = random_order(names, seed)
    shuffled = sorted(names)
    random.shuffle(shuffled)
    assert random_order(shuffled, seed) == expected
    assert set(expected) == names


def test_in_random_orders_everyone_is_first_as_often() -> None:
    firsts = Counter(random_order("abcde", seed)[0] for seed in range(3_000))
    assert all(firsts[each] / 3_000 == pytest.approx(0.2, abs=0.03) for each in "abcde")
