"""The template and its slots (paper G.1; filling rules in G.2, hard constraints 5 and 7)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from ccfw.checks.fields import INSTANTIATION
from ccfw.checks.issue import Check, Finding
from ccfw.checks.text import count_words, sentences
from ccfw.records import Scenario, Template

TEMPLATE = f"{INSTANTIATION}.Parent_Template"
FILLING_WORDS = (1, 5)
SENTENCES = (2, 3)
MAX_DEFINITION_WORDS = 12
OPENING = "The user needs"

_SLOT = re.compile(r"\{([A-Z][A-Z0-9_]*)\}")


def slot_name(key: str) -> str:
    """Return a slot's bare name: the paper's files key slots with their braces."""
    return key.strip("{}")


def slots(template_text: str) -> set[str]:
    """Return the names of the slots a template uses."""
    return set(_SLOT.findall(template_text))


def render(template_text: str, filling: Mapping[str, str]) -> str:
    """Put the fillings into the template in one pass; an unfilled slot stays."""
    values = {slot_name(key): value for key, value in filling.items()}
    return _SLOT.sub(lambda match: values.get(match[1], match[0]), template_text)


def _template(scenario: Scenario) -> Template:
    return scenario.blueprint.scenario_instantiation.parent_template


def slots_match(scenario: Scenario) -> Iterator[Finding]:
    """Use, define and fill the same slots (G.2, *never leave Slot_Filling empty*)."""
    used = slots(_template(scenario).template_text)
    filling = scenario.blueprint.scenario_instantiation.slot_filling
    sides = {
        f"{TEMPLATE}.Slot_Definitions": _template(scenario).slot_definitions,
        f"{INSTANTIATION}.Slot_Filling": filling,
    }
    for where, given in sides.items():
        for name in sorted(used ^ {slot_name(key) for key in given}):
            says = "an entry for each slot used" if name in used else "no entry for a slot that is not used"
            yield Finding(where, f"{{{name}}}", says)


def filling_length(scenario: Scenario) -> Iterator[Finding]:
    """Fill with 1–5 words, so that it drops into the sentence (G.2)."""
    least, most = FILLING_WORDS
    for key, value in scenario.blueprint.scenario_instantiation.slot_filling.items():
        if not least <= count_words(value) <= most:
            yield Finding(f"{INSTANTIATION}.Slot_Filling.{key}", value, f"{least}–{most} words")


def rendered_text(scenario: Scenario) -> Iterator[Finding]:
    """Render the template with its fillings, blanks aside (G.2)."""
    made = scenario.blueprint.scenario_instantiation
    expected = render(made.parent_template.template_text, made.slot_filling)
    if made.rendered_template_text.split() != expected.split():
        yield Finding(f"{INSTANTIATION}.Rendered_Template_Text", made.rendered_template_text, expected)


def template_opening(scenario: Scenario) -> Iterator[Finding]:
    """One voice for all: *The user needs …* (G.1, constraint 3)."""
    text = _template(scenario).template_text
    if not text.startswith(f"{OPENING} "):
        yield Finding(f"{TEMPLATE}.template_text", text, f"starts with {OPENING!r}")


def template_sentences(scenario: Scenario) -> Iterator[Finding]:
    """Sketch a template in 2–3 sentences (G.1, output format)."""
    text = _template(scenario).template_text
    if not SENTENCES[0] <= len(sentences(text)) <= SENTENCES[1]:
        yield Finding(f"{TEMPLATE}.template_text", text, f"{SENTENCES[0]}–{SENTENCES[1]} sentences")


def definition_length(scenario: Scenario) -> Iterator[Finding]:
    """Define a slot in at most 12 words (G.1, constraint 6)."""
    for key, text in _template(scenario).slot_definitions.items():
        if count_words(text) > MAX_DEFINITION_WORDS:
            yield Finding(f"{TEMPLATE}.Slot_Definitions.{key}", text, f"at most {MAX_DEFINITION_WORDS} words")


CHECKS: tuple[Check, ...] = (
    slots_match,
    filling_length,
    rendered_text,
    template_opening,
    template_sentences,
    definition_length,
)
