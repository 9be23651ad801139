"""What every template of the library must be (G.1): its voice, its slots, and no culture of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ccfw.checks.template import MAX_DEFINITION_WORDS, OPENING, SENTENCES, slots
from ccfw.checks.text import count_words, sentences
from ccfw.records import Region
from ccfw.universe.records import LibraryTemplate

SLOTS = (3, 7)
HOPS = (3, 5)
DIMENSIONS = (1, 5)


def faults(template: LibraryTemplate, culture_words: frozenset[str]) -> Iterator[str]:
    """Yield what is wrong with a template, one line each; ``culture_words`` tie a sketch to one place or faith."""
    yield from _text(template)
    yield from _slots(template)
    yield from _notes(template)
    yield from (f"culture-specific word: {word}" for word in sorted(_words(template) & culture_words))


def _text(template: LibraryTemplate) -> Iterator[str]:
    text = template.template_text
    if not text.startswith(f"{OPENING} "):
        yield f"starts with {text.split()[:3]}, not with {OPENING!r}"
    if not SENTENCES[0] <= len(sentences(text)) <= SENTENCES[1]:
        yield f"{len(sentences(text))} sentences, not {SENTENCES[0]}–{SENTENCES[1]}"


def _slots(template: LibraryTemplate) -> Iterator[str]:
    used, defined = slots(template.template_text), set(template.slot_definitions)
    yield from (f"slot {name} is used and not defined" for name in sorted(used - defined))
    yield from (f"slot {name} is defined and not used" for name in sorted(defined - used))
    if not SLOTS[0] <= len(used) <= SLOTS[1]:
        yield f"{len(used)} slots, not {SLOTS[0]}–{SLOTS[1]}"
    for name, text in template.slot_definitions.items():
        if count_words(text) > MAX_DEFINITION_WORDS:
            yield f"slot {name} is defined in {count_words(text)} words, not at most {MAX_DEFINITION_WORDS}"


def _notes(template: LibraryTemplate) -> Iterator[str]:
    hops = [step for step in template.multi_hop_potential.split(";") if step.strip()]
    if not HOPS[0] <= len(hops) <= HOPS[1]:
        yield f"{len(hops)} reasoning steps, not {HOPS[0]}–{HOPS[1]}"
    if not DIMENSIONS[0] <= len(template.potential_cultural_dimensions) <= DIMENSIONS[1]:
        yield f"{len(template.potential_cultural_dimensions)} cultural dimensions, not {DIMENSIONS[0]}–{DIMENSIONS[1]}"
    compatibility = template.challenge_compatibility
    if compatibility.trap_compatible != bool(compatibility.applicable_trap_types):
        yield "trap_compatible and applicable_trap_types disagree"
    if set(template.applicable_regions) != set(Region):
        yield "seeds cross every template with every region: name all ten"


def _words(template: LibraryTemplate) -> set[str]:
    texts = (
        template.template_text,
        *template.slot_definitions.values(),
        *template.potential_cultural_dimensions,
        template.multi_hop_potential,
    )
    return set(re.findall(r"[a-z]+", " ".join(texts).lower()))
