"""Chronotopes that differ in structure, and the scenarios made of them: forms, readers, checks (Tables 8 and 9). Pure.

Structural difference is held to in three ways: the model declares in which of the five core dimensions a chronotope
differs, the fields of those dimensions are compared by their words, and the whole is compared by its vector (which the
stage does, as a vector is no pure thing).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ccfw.checks.issue import Issue
from ccfw.checks.leakage import holds, paraphrases
from ccfw.checks.text import alike
from ccfw.crisp.records import Chronotope, Draft, Norm
from ccfw.forms import TEXT, Form, an_object, read_form, texts

DIMENSIONS: dict[str, tuple[str, ...]] = {
    "temporal_regime": ("time",),
    "spatial_social_setting": ("place", "social_space"),
    "relationship_configuration": ("relationship_context",),
    "occasion_or_activity": ("occasion",),
    "potential_tension": ("potential_tension",),
}
"""The core dimensions of Table 8, and the fields that tell of each."""
LEAST = 2
"""Dimensions in which a chronotope differs from each accepted one."""
SAME = 0.5
"""Share of content words in common from which two fields say the same."""
FIELDS = tuple(Chronotope.model_fields)
SCENARIO_FORM = an_object({"scenario": TEXT, "question": TEXT, "hidden_expected_answer": TEXT})


@dataclass(frozen=True)
class Declared:
    """A chronotope with the dimensions in which it is said to differ from those accepted."""

    chronotope: Chronotope
    dimensions: tuple[str, ...]


def form(accepted: int) -> Form:
    """Return the form of a chronotope; the first of a norm has nothing to differ from."""
    differs = {"differs_in": texts(LEAST, len(DIMENSIONS), tuple(DIMENSIONS))} if accepted else {}
    return an_object(dict.fromkeys(FIELDS, TEXT) | differs)


def read_chronotope(text: str, accepted: int) -> Declared | tuple[Issue, ...]:
    """Read a model's reply, or return what breaks its form; raise ``Refusal`` when it is no JSON object."""
    content = read_form(text, form(accepted))
    if not isinstance(content, dict):
        return content
    declared = tuple(content.pop("differs_in", ()))
    if len(set(declared)) < len(declared):
        return (Issue("schema", "differs_in", ", ".join(declared), "each dimension once"),)
    return Declared(Chronotope.model_validate(content), declared)


def differing(one: Chronotope, other: Chronotope) -> tuple[str, ...]:
    """Return the core dimensions in which two chronotopes differ by their words."""
    return tuple(
        name for name, fields in DIMENSIONS.items() if not alike(_said(one, fields), _said(other, fields), SAME)
    )


def _said(chronotope: Chronotope, fields: Sequence[str]) -> str:
    return " ".join(getattr(chronotope, field) for field in fields)


def spoken(chronotope: Chronotope) -> str:
    """Return a chronotope as it is embedded: the fields of its core dimensions."""
    return ". ".join(getattr(chronotope, field) for fields in DIMENSIONS.values() for field in fields)


def check_chronotope(norm: Norm, made: Declared, accepted: Sequence[Chronotope]) -> tuple[Issue, ...]:
    """Return what is wrong with a chronotope: what it gives away, and accepted ones that it repeats.

    ``norm_activation_condition`` and ``potential_tension`` are the author's notes to the scenario and may speak of the
    norm's matter; they are only not to hold it.
    """
    issues = []
    for field in FIELDS[:6]:
        text = getattr(made.chronotope, field)
        if holds(text, norm.norm) or paraphrases(text, norm.norm, frozenset()):
            issues.append(Issue("leak", field, text, "nothing of the norm"))
    for number, other in enumerate(accepted, 1):
        really = set(differing(made.chronotope, other))
        if len(really) < LEAST:
            said = ", ".join(sorted(really)) or "nothing"
            issues.append(
                Issue("structure", f"accepted {number}", said, f"another in at least {LEAST} core dimensions")
            )
        if len(really & set(made.dimensions)) < LEAST:
            said = ", ".join(made.dimensions)
            issues.append(Issue("declaration", f"accepted {number}", said, "differences that the fields really show"))
    return tuple(issues)


def read_draft(text: str) -> Draft | tuple[Issue, ...]:
    """Read a scenario with question and hidden answer; raise ``Refusal`` when it is no JSON object."""
    content = read_form(text, SCENARIO_FORM)
    return Draft.model_validate(content) if isinstance(content, dict) else content
