"""The queries of a seed (Appendix G.2.2): one for the situation, one for the persona, one for taboos. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ccfw.records import Persona
from ccfw.universe.records import LibraryTemplate

INSTRUCTION = (
    "Find articles with the particular words, places, customs, dishes, rites or taboos of East and Southeast Asian "
    "cultures that bear on the situation."
)
"""For embedders that take an instruction before a query."""
TABOO_INSTRUCTION = "Find acts that are forbidden or give offence in East and Southeast Asian cultures."
_SLOT = re.compile(r"\{[A-Z0-9_]+\}")
_FRAGMENT, _TOPICS, _DIMENSIONS = 80, 60, 3
"""Characters of the sketch and of its slots, and dimensions, that go into a query: the paper's."""


@dataclass(frozen=True)
class Queries:
    """What is looked up for a seed."""

    scenario: str
    identity: str
    taboo: str


def queries(template: LibraryTemplate, domain: str, subdomain: str, persona: Persona) -> Queries:
    """Build the queries of a persona and a template."""
    sketch = " ".join(_SLOT.sub("", template.template_text).split())[:_FRAGMENT]
    topics = " ".join(template.slot_definitions.values())[:_TOPICS]
    dimensions = " ".join(template.potential_cultural_dimensions[:_DIMENSIONS])
    field, identity = spelt(subdomain), spelt(persona.identity)
    return Queries(
        scenario=f"{field} {sketch} {topics}",
        identity=f"{identity} {dimensions} {field}",
        taboo=f"{spelt(domain)} {field} {identity} {persona.region}",
    )


def spelt(name: str) -> str:
    """Write a code as words: ``1_CULINARY_PRACTICES_&_…`` without its number, underscores as blanks."""
    return " ".join(re.sub(r"^\d+_", "", name).replace("_", " ").split())
