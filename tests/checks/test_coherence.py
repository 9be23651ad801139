"""Persona, place and time."""

from __future__ import annotations

import pytest

from ccfw.checks.places import INSTITUTIONS, PLACES, on_map_or_calendar
from ccfw.records import Region

from .conftest import Findings

COHORT = "Blueprint.Seed.Persona.Age_Cohort"
REGION = "Blueprint.Seed.Persona.Region"
CHALLENGE = "Blueprint.Seed.Challenge_Config"
MESSAGE = "Blueprint.Public_Context.Initial_User_Message.Global_English"
SUMMARY = "Blueprint.Scenario_Instantiation.Instantiated_Summary.Global_English"
BACKGROUND = "Blueprint.User_Private_Context.Background"
CUE = "Interaction_Sequence[2].User_Instruction.Required_Signifier_Usage[0]"
HOME_ONLY = {f"{CHALLENGE}.Is_Cross_Cultural": False, f"{CHALLENGE}.Secondary_Region": None}


@pytest.mark.parametrize("cohort", ["18-34", "35-54"])
@pytest.mark.parametrize(
    ("where", "text", "found"),
    [
        (MESSAGE, "picking up my grandson from kelantan", "my grandson"),
        (MESSAGE, "our two little granddaughters love kelantan", "our two little granddaughters"),
        (SUMMARY, "A woman plans a party for her grandchildren.", "her grandchildren"),
        (BACKGROUND, "The user's grandkids live in Ipoh.", "the user's grandkids"),
        (CUE, "Says his eldest grandchild is ill", "his eldest grandchild"),
    ],
)
def test_too_young_for_grandchildren(findings: Findings, cohort: str, where: str, text: str, found: str) -> None:
    [issue] = findings("grandchildren", {COHORT: cohort, where: text})
    assert (issue.where, issue.found) == (where, found)


@pytest.mark.parametrize(
    "text",
    [
        "i'm the eldest grandchild in kelantan",
        "all the grandchildren get an envelope",
        "my grandmother wants her grandsons seated first",
        "my boss brings his granddaughter",
        "granddad's house in kelantan",
    ],
)
def test_grandchildren_of_others(findings: Findings, text: str) -> None:
    assert findings("grandchildren", {MESSAGE: text, CUE: text}) == []


@pytest.mark.parametrize(
    ("cohort", "age", "faults"),
    [
        ("55+", "She is retired.", 0),
        ("35-54", "She is 52 and runs a shop.", 0),
        ("35-54", "A 51-year-old teacher.", 0),
        ("35-54", "She has 52 guests.", 1),
        ("35-54", "She is 45.", 1),
        ("18-34", "The aunt is 52.", 1),
    ],
)
def test_age_that_allows_grandchildren(findings: Findings, cohort: str, age: str, faults: int) -> None:
    assert len(findings("grandchildren", {COHORT: cohort, BACKGROUND: age, CUE: "Says her grandson cooks"})) == faults


@pytest.mark.parametrize(
    ("region", "text", "found"),
    [
        ("SG", "asks about bpjs for her maid", "bpjs"),
        ("SG", "registers at the KUA first", "KUA"),
        ("ID", "my hdb flat", "hdb"),
        ("ID", "tops up at NTUC", "NTUC"),
        ("TH", "talks to the barangay captain", "barangay"),
        ("JP", "pays with Touch ’n Go", "Touch 'n Go"),
        ("PH", "asks at the RIPAS ward", "RIPAS"),
    ],
)
def test_institution_from_elsewhere(findings: Findings, region: str, text: str, found: str) -> None:
    [issue] = findings("institutions", {REGION: region, **HOME_ONLY, CUE: text})
    assert (issue.where, issue.found) == (CUE, found)


@pytest.mark.parametrize(
    ("region", "text"),
    [
        ("SG", "her HDB flat and her CPF"),
        ("PH", "the barangay hall, then PhilHealth"),
        ("TH", "turns on the tap, buys a spm-free pan"),
        ("SG", "looks for the JAKIM mark"),
    ],
)
def test_institution_at_home_or_no_institution(findings: Findings, region: str, text: str) -> None:
    assert findings("institutions", {REGION: region, **HOME_ONLY, CUE: text}) == []


def test_institution_of_the_second_region(findings: Findings) -> None:
    assert findings("institutions", {CUE: "says the client pays from his EPF"}) == []


@pytest.mark.parametrize(
    ("region", "text"),
    [
        ("MY", "visiting my gf's family in johor"),
        ("MY", "malaysian colleague"),
        ("CN", "hosting a client from Linxia tmr"),
        ("TH", "going to chiang mai"),
        ("TH", "a bangkok-based supplier"),
        ("JP", "clients from Ōsaka, well osaka"),
        ("KR", "my korean in-laws"),
        ("PH", "filipina helper"),
        ("VN", "off to Da Nang"),
        ("VN", "baptised in nam dinh"),
        ("VN", "off to Đà Nẵng"),
        ("ID", "a helper from bengkulu"),
        ("ID", "wedding in bali"),
        ("BN", "job in brunei"),
        ("SG", "cousin moved to sg"),
    ],
)
def test_second_region_is_named(findings: Findings, region: str, text: str) -> None:
    home = "TH" if region == "MY" else "MY"
    assert findings("second_region", {REGION: home, f"{CHALLENGE}.Secondary_Region": region, MESSAGE: text}) == []


@pytest.mark.parametrize(
    "text", ["a client comes over", "a client from thailand", "javanese food", "maldives trip", "a man called nam"]
)
def test_second_region_is_not_named(findings: Findings, text: str) -> None:
    assert len(findings("second_region", {MESSAGE: text})) == 1


def test_one_culture_needs_no_second_region(findings: Findings) -> None:
    assert findings("second_region", {**HOME_ONLY, MESSAGE: "a client comes over"}) == []


def test_tables_cover_the_ten_regions() -> None:
    assert set(INSTITUTIONS) == set(PLACES) == set(Region)


@pytest.mark.parametrize("term", ["Katong", "Batu Caves", "Sóc Trăng", "Thaipusam", "Novena Church", "Qing Ming"])
def test_a_map_or_a_calendar_explains_it(term: str) -> None:
    assert on_map_or_calendar(term)


@pytest.mark.parametrize("term", ["sugee cake", "kavadi", "bazaar Ramadan", "rumah terbuka", "Native Court", "Puang"])
def test_a_practice_must_be_looked_up(term: str) -> None:
    assert not on_map_or_calendar(term)
