"""Make a valid instance of a JSON schema, as a provider's constrained decoding would."""

from __future__ import annotations

import math
from collections.abc import Mapping
from random import Random
from typing import Any

Schema = Mapping[str, Any]

_TEXT = (
    "the family may see this as a sign of respect so ask an elder first and bring a small gift with both "
    "hands before the meal while you wait quietly then thank them warmly after visit Tết 사랑 ご飯 nasi"
)
WORDS = tuple(_TEXT.split())
DEEPEST = 8
"""Below this depth optional properties, optional items and non-null choices are left out."""


def fill(schema: Schema, rng: Random) -> Any:
    """Return an instance of ``schema`` drawn by ``rng``, with every property that the schema names.

    Knows objects, arrays, strings (``enum``, lengths), numbers (bounds), booleans, null, ``const``,
    ``anyOf``/``oneOf``/``allOf`` and local ``$ref``. Knows no ``pattern`` and no ``format``.
    """
    return _fill(schema, schema, rng, 0)


def prose(rng: Random, shortest: int, longest: int) -> str:
    """Return words of ``shortest`` to ``longest`` characters, with no space at either end."""
    target = rng.randint(shortest, longest)
    text = ""
    while len(text) < target:
        text += rng.choice(WORDS) + " "
    text = text[:target]
    return text[:-1] + "s" if text.endswith(" ") else text


def resolved(schema: Schema, root: Schema) -> Schema:
    """Return ``schema`` with its top ``$ref`` and ``allOf`` merged in."""
    merged = {key: value for key, value in schema.items() if key not in ("$ref", "allOf")}
    if reference := schema.get("$ref"):
        target: Any = root
        for step in str(reference).removeprefix("#").strip("/").split("/"):
            target = target[step] if step else target
        merged = {**resolved(target, root), **merged}
    for part in schema.get("allOf", ()):
        merged = {**resolved(part, root), **merged}
    return merged


def _fill(schema: Schema, root: Schema, rng: Random, depth: int) -> Any:
    schema = resolved(schema, root)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return rng.choice(schema["enum"])
    if choices := schema.get("anyOf") or schema.get("oneOf"):
        return _fill(_choice([resolved(each, root) for each in choices], rng, depth), root, rng, depth)
    match _type(schema, rng, depth):
        case "object":
            return _object(schema, root, rng, depth)
        case "array":
            return _array(schema, root, rng, depth)
        case "integer":
            return rng.randint(*_bounds(schema))
        case "number":
            return _number(schema, rng)
        case "boolean":
            return rng.random() < 0.5
        case "null":
            return None
        case _:
            return _string(schema, rng)


def _choice(choices: list[Schema], rng: Random, depth: int) -> Schema:
    nulls = [each for each in choices if each.get("type") == "null"]
    return nulls[0] if nulls and depth >= DEEPEST else rng.choice(choices)


def _type(schema: Schema, rng: Random, depth: int) -> str:
    named = schema.get("type", "object" if "properties" in schema else "string")
    if isinstance(named, str):
        return named
    return "null" if "null" in named and depth >= DEEPEST else str(rng.choice(named))


def _object(schema: Schema, root: Schema, rng: Random, depth: int) -> dict[str, Any]:
    properties: Mapping[str, Schema] = schema.get("properties", {})
    required = schema.get("required", ())
    kept = [name for name in properties if depth < DEEPEST or name in required]
    return {name: _fill(properties[name], root, rng, depth + 1) for name in kept}


def _array(schema: Schema, root: Schema, rng: Random, depth: int) -> list[Any]:
    least = schema.get("minItems", 0)
    most = schema.get("maxItems", max(3, least))
    size = least if depth >= DEEPEST else rng.randint(min(max(1, least), most), most)
    return [_fill(schema.get("items", {}), root, rng, depth + 1) for _ in range(size)]


def _bounds(schema: Schema) -> tuple[int, int]:
    lows = [math.ceil(schema["minimum"])] if "minimum" in schema else []
    lows += [math.floor(schema["exclusiveMinimum"]) + 1] if "exclusiveMinimum" in schema else []
    highs = [math.floor(schema["maximum"])] if "maximum" in schema else []
    highs += [math.ceil(schema["exclusiveMaximum"]) - 1] if "exclusiveMaximum" in schema else []
    low = max(lows) if lows else min([0, *highs])
    return low, min(highs) if highs else low + 10


def _number(schema: Schema, rng: Random) -> float:
    low = schema.get("minimum", min(0.0, schema.get("maximum", 0.0)))
    return rng.uniform(low, schema.get("maximum", low + 1.0))


def _string(schema: Schema, rng: Random) -> str:
    least = schema.get("minLength", 0)
    most = schema.get("maxLength", max(80, 2 * least))
    return prose(rng, min(max(20, least), most), most)
