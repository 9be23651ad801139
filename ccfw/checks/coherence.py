"""Whether persona, place and time fit together (paper G.2, rule 9 and *cross-cultural scenarios*)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ccfw.checks.fields import MESSAGE, Field, first_message, situation
from ccfw.checks.issue import Check, Finding
from ccfw.checks.places import INSTITUTIONS, PLACES
from ccfw.checks.text import sentences, straighten, unmarked
from ccfw.records import Region, Scenario

_GRANDCHILD = r"(?:\w+ ){0,2}?(?:grandchild(?:ren)?|grandsons?|granddaughters?|grandkids?|grandbab(?:y|ies))\b"
_OWN_GRANDCHILD = re.compile(rf"\b(?:my|our) {_GRANDCHILD}")
_REPORTED_GRANDCHILD = re.compile(rf"\b(?:her|his|their|the user's) {_GRANDCHILD}")
# "Her grandmother adores her grandchildren" is no fault of a young persona: the elder owns them.
_OTHER_OWNER = re.compile(
    r"\b(?:grand(?:ma|pa|mother|father|parents?)|mum|mom|mother|dad|father|parents?|aunt\w*|uncle|boss|teacher|"
    r"neighbou?rs?|landlady|landlord|host|client|nenek|lol[ao]|nai ?nai|po ?po|ah ma|in-laws?|colleague)\b"
)
_FIFTIES = re.compile(
    r"\b5[0-4]\b(?=[ -]?(?:years?[ -]old|year-old|yo\b))|\b(?:aged?|turn(?:s|ed|ing)|i'm|im|is) 5[0-4]\b"
    r"|\b(?:early fifties|early 50s)\b"
)


def own_grandchild(text: str) -> str | None:
    """Return the words by which a text gives the user a grandchild, if it does."""
    line = text.casefold()
    for part in sentences(line) if "grand" in line else ():
        if match := _OWN_GRANDCHILD.search(part):
            return match.group()
        if not _OTHER_OWNER.search(part) and (match := _REPORTED_GRANDCHILD.search(part)):
            return match.group()
    return None


def grandchildren(scenario: Scenario) -> Iterator[Finding]:
    """18–34: no grandchildren of one's own; 35–54: only when an age of 50 or more is stated."""
    cohort, fields = scenario.seed.persona.age_cohort, situation(scenario)
    if cohort == "55+":
        return
    if cohort == "35-54" and any(_FIFTIES.search(straighten(field.text).casefold()) for field in fields):
        return
    for field in fields:
        if found := own_grandchild(field.text):
            yield Finding(field.where, found, f"no grandchildren at {cohort}")


def _regions(scenario: Scenario) -> set[Region]:
    second = scenario.seed.challenge_config.secondary_region
    return {scenario.seed.persona.region} | ({second} if second else set())


def institutions(scenario: Scenario) -> Iterator[Finding]:
    """Keep an institution of one region out of scenarios set in others (*avoid impossible locations*)."""
    at_home, fields = _regions(scenario), situation(scenario)
    together = "\n".join(straighten(field.text) for field in fields)  # one search of all tells that most hold none
    for region in Region:
        if region not in at_home and INSTITUTIONS[region].search(together):
            yield from _named(INSTITUTIONS[region], fields, f"institutions of {'/'.join(sorted(at_home))}")


def _named(pattern: re.Pattern[str], fields: list[Field], says: str) -> Iterator[Finding]:
    for field in fields:
        if match := pattern.search(straighten(field.text)):
            yield Finding(field.where, match.group(), says)


def second_region(scenario: Scenario) -> Iterator[Finding]:
    """Name the second region in a cross-cultural message: country, city or people (*meaningfulness*)."""
    second = scenario.seed.challenge_config.secondary_region
    if second and not PLACES[second].search(unmarked(first_message(scenario))):
        yield Finding(MESSAGE, first_message(scenario), f"a place or people of {second}")


CHECKS: tuple[Check, ...] = (grandchildren, institutions, second_region)
