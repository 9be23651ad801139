"""New templates from a model's reply: the same rules as for those that ship (G.1). Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from ccfw.checks.library import faults
from ccfw.parsing import json_object
from ccfw.records import Failure, FailureKind, Region, Tier
from ccfw.universe.records import LibraryTemplate

_SHOWN = 6


def schema(count: int) -> Mapping[str, Any]:
    """Return the JSON schema of a reply with so many templates."""
    text = {"type": "string"}
    texts = {"type": "array", "items": text}
    slot = _object({"name": text, "definition": text})
    traps = {"type": "array", "items": {"type": "string", "enum": [Tier.CONTEXTUAL.value, Tier.NORMATIVE.value]}}
    template = _object(
        {
            "template_text": text,
            "slots": {"type": "array", "items": slot},
            "potential_cultural_dimensions": texts,
            "multi_hop_potential": text,
            "applicable_trap_types": traps,
        }
    )
    return _object({"templates": {"type": "array", "items": template, "minItems": count, "maxItems": count}})


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def read_templates(
    text: str,
    ids: Sequence[str],
    repeated: Callable[[Sequence[str]], Sequence[str | None]],
    culture_words: frozenset[str],
) -> tuple[LibraryTemplate, ...] | Failure:
    """Read one template for each id, or say what is wrong with the reply.

    ``repeated`` names for each new sketch another that it repeats. Raises ``Refusal`` when the text holds no JSON
    object.
    """
    entries = json_object(text).get("templates")
    if not isinstance(entries, list) or len(entries) != len(ids):
        found = len(entries) if isinstance(entries, list) else "no"
        return Failure(kind=FailureKind.INCOMPLETE, detail=f"{found} templates instead of {len(ids)}")
    made: list[LibraryTemplate] = []
    wrong: list[str] = []
    for number, (name, entry) in enumerate(zip(ids, entries, strict=True), 1):
        template = _template(name, entry)
        if isinstance(template, str):
            wrong.append(f"template {number}: {template}")
            continue
        wrong += [f"template {number}: {fault}" for fault in faults(template, culture_words)]
        made.append(template)
    for template, other in zip(made, repeated([each.template_text for each in made]) if made else (), strict=True):
        if other is not None:
            wrong.append(f"template {ids.index(template.template_id) + 1}: the same situation as {other!r}")
    if wrong:
        more = f"; and {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
        return Failure(kind=FailureKind.INCONSISTENT, detail="; ".join(wrong[:_SHOWN]) + more)
    return tuple(made)


def _template(name: str, entry: Any) -> LibraryTemplate | str:
    fields = entry if isinstance(entry, dict) else {}
    slots = fields.get("slots")
    traps = fields.get("applicable_trap_types")
    try:
        return LibraryTemplate.model_validate(
            {
                "template_id": name,
                "template_text": fields.get("template_text"),
                "slot_definitions": {
                    str(slot.get("name")): slot.get("definition") for slot in slots or () if isinstance(slot, dict)
                },
                "potential_cultural_dimensions": fields.get("potential_cultural_dimensions"),
                "multi_hop_potential": fields.get("multi_hop_potential"),
                "challenge_compatibility": {"trap_compatible": bool(traps), "applicable_trap_types": traps},
                "applicable_regions": list(Region),
            }
        )
    except ValidationError as error:
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


def as_yaml_entry(template: LibraryTemplate) -> str:
    """Write a template as the library's YAML has it: JSON is YAML, so nothing in a text can be read as markup."""
    content = template.model_dump(mode="json", by_alias=True)
    return "- " + json.dumps(content, ensure_ascii=False) + "\n"
