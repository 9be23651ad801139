"""Lists of titles as PetScan (https://petscan.wmcloud.org) exports them: plain, wiki, CSV, TSV, JSON.

A line of a plain list is a title; of a table the column ``title`` counts, and only the namespace of articles.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from typing import Any

_HEADS = ("title", "page_title")
_SPACES = ("", "0", "(Main)", "(Article)", "Article")


def titles(text: str) -> frozenset[str]:
    """Return the titles in a list; raise ``ValueError`` for what is no such list."""
    text = text.lstrip("\ufeff")
    if text.lstrip()[:1] in ("{", "["):
        found = _of_json(_json(text))
    else:
        lines = [line for line in text.splitlines() if line.strip()]
        delimiter = _delimiter(lines[0]) if lines else None
        found = _of_table(lines, delimiter) if delimiter else iter(lines)
    try:
        return frozenset(each for each in map(normal, found) if each)
    except (csv.Error, RecursionError) as error:
        raise ValueError(str(error)) from None


def normal(title: str) -> str:
    """Return a title as a dump has it: blanks for underscores, a capital first, no link brackets or bullet."""
    title = " ".join(title.strip().strip('"').lstrip("*#").replace("_", " ").split())
    title = title.removeprefix("[[").removesuffix("]]").lstrip(":").partition("|")[0].strip()
    return title[:1].upper() + title[1:]


def _delimiter(head: str) -> str | None:
    for delimiter in ("\t", ","):
        if set(_HEADS) & {cell.strip().strip('"').lower() for cell in head.split(delimiter)} and delimiter in head:
            return delimiter
    return None


def _of_table(lines: list[str], delimiter: str) -> Iterator[str]:
    for row in csv.DictReader(lines, delimiter=delimiter):
        lower = {str(key).strip().lower(): value or "" for key, value in row.items() if isinstance(value, str | None)}
        if lower.get("namespace", "").strip() in _SPACES:
            yield next((lower[head] for head in _HEADS if head in lower), "")


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError(str(error)) from None


def _of_json(content: Any) -> Iterator[str]:
    """Yield titles from ``{"*":[{"a":{"*":[…]}}]}``, from ``{"pages": […]}``, or from a plain array."""
    if isinstance(content, dict):
        inner = next((content[key] for key in ("*", "a", "pages") if key in content), None)
        if inner is None:
            raise ValueError("no list of pages in it")
        yield from _of_json(inner)
        return
    if not isinstance(content, list):
        raise ValueError("no list of pages in it")  # noqa: TRY004 callers know of one fault of content
    for each in content:
        if isinstance(each, str):
            yield each
        elif (isinstance(each, dict) and "title" in each) or (isinstance(each, dict) and "page_title" in each):
            if str(each.get("namespace", each.get("page_namespace", 0))) in _SPACES:
                yield str(next(each[head] for head in _HEADS if head in each))
        else:
            yield from _of_json(each)
