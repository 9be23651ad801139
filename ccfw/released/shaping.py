"""A nested value of JSON or Parquet → the shape of a record, whatever its file made of nesting. Pure.

Parquet keeps an object as a struct, in which a field that a row lacks is null, or as a map, which is a list of pairs;
either format may hold nesting as a string of JSON. A null or a blank text says nothing, as does a missing field.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel


def present(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that say something."""
    return {key: each for key, each in value.items() if each is not None and not _is_blank(each)}


def _is_blank(value: Any) -> bool:
    return isinstance(value, str) and not value.strip()


def opened(value: Any) -> Any:
    """Return an object or a list that stands in a string of JSON; anything else as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            found = json.loads(value)
        except (ValueError, RecursionError):
            return value
        return found if isinstance(found, dict | list) else value
    return value


def an_object(value: Any) -> dict[str, Any]:
    """Return what an object says; nothing for what is no object."""
    return _object_or_none(value) or {}


def _object_or_none(value: Any) -> dict[str, Any] | None:
    value = opened(value)
    if isinstance(value, list) and value and all(isinstance(each, tuple | list) and len(each) == 2 for each in value):
        value = {str(key): each for key, each in value}  # a Parquet map
    return present(value) if isinstance(value, Mapping) else None


def shaped(value: Any, kind: Any, where: str, unused: Counter[str]) -> Any:
    """Return a value with the nesting and the spelling of a type's fields; what does not fit it stays as it is.

    ``unused`` counts the fields, by their path, that the type does not have.
    """
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Annotated, Union, UnionType):
        return shaped(value, arguments[0], where, unused)
    if origin is tuple:
        found = opened(value)
        return [shaped(each, arguments[0], where, unused) for each in found] if isinstance(found, list) else value
    content = _object_or_none(value) if origin is dict or _is_record(kind) else None
    if content is None or origin is dict:
        return value if content is None else content
    return _record(content, kind, where, unused)


def _is_record(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, BaseModel)


def _record(found: dict[str, Any], kind: type[BaseModel], where: str, unused: Counter[str]) -> dict[str, Any]:
    made = {}
    for name, field in kind.model_fields.items():
        alias = field.alias or name
        for spelling in (name, alias):
            if spelling in found:
                made[alias] = shaped(found.pop(spelling), field.annotation, f"{where}.{alias}", unused)
    unused.update(f"{where}.{key}".removeprefix(".") for key in found)
    return made
