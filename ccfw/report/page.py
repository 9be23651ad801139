"""A report as one HTML page that needs nothing else: style, scripts, figures and conversations are inside it.

Whatever stands in the page is untrusted. The template escapes it, figures are pictures of their own, in which nothing
runs, conversations are data that the scripts put in place as text, and a policy lets only the page's own scripts run
and nothing be fetched.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from ccfw.report.reader_index import SCORE_TITLES, SCORES, Index
from ccfw.report.sections import Report, TableView
from ccfw.store import write_atomically
from ccfw.terminal import printable

_WEB = Path(__file__).parent / "web"
_SCRIPTS = ("tables.js", "source.js", "conversation.js", "reader.js")
_TALL = 24
"""Rows from which a table scrolls in a frame of its own."""
_LONG = 16
"""Letters from which a cell is broken into lines, so that a table of names does not grow too wide."""
_LOW_FIRST = re.compile(r"(p|Rank|Group)\b")
"""Heads of figures that are sorted from the lowest first: a rank or a p-value is the better, the lower."""


@dataclass(frozen=True)
class Embedded:
    """Conversations that travel with the page."""

    index: Index
    chunks: Sequence[bytes]
    """As ``ccfw.report.reader.chunk`` makes them: the index's conversations in order, ``per_chunk`` in each."""
    per_chunk: int
    total: int
    """How many there are, of which these may be a sample."""


@dataclass(frozen=True)
class Served:
    """Conversations that the page's own server has."""

    index: Index


class Part(NamedTuple):
    """Rows of a table that compare with each other."""

    heading: str
    """The text of the break before them; empty where there is none."""
    rows: tuple[tuple[int, tuple[str, ...]], ...]
    """With their places in the table."""


def write(path: Path, report: Report, conversations: Embedded | Served) -> None:
    """Write the page so that a reader meets the old one or the new one."""
    write_atomically(path, render(report, conversations))


def render(report: Report, conversations: Embedded | Served) -> str:
    """Return the page."""
    style, script = asset("page.css"), "".join(asset(name) for name in _SCRIPTS)
    held = conversations if isinstance(conversations, Embedded) else None
    page: str = template("page.html.j2").render(
        report=report,
        policy=content_policy(style, script, served=held is None),
        style=style,
        script=script,
        total=held.total if held else len(conversations.index),
        shown=len(conversations.index),
        setup=_data(_setup(conversations)),
        chunks=[_escaped(each) for each in held.chunks] if held else [],
    )
    return page


def _setup(conversations: Embedded | Served) -> dict[str, Any]:
    """Return what the reader starts from."""
    index = conversations.index
    common = {"scores": SCORES, "titles": SCORE_TITLES, "known": index.known, "count": len(index)}
    if isinstance(conversations, Served):
        return common | {"served": True}
    return common | {"served": False, "per_chunk": conversations.per_chunk, "columns": index.columns()}


def parts(table: TableView) -> list[Part]:
    """Part a table at its breaks; sorting stays within a part."""
    starts = dict(table.breaks)
    edges = sorted({0, *starts, len(table.rows)} & set(range(len(table.rows) + 1)))
    return [Part(starts.get(first, ""), tuple(enumerate(table.rows))[first:last]) for first, last in pairwise(edges)]


def content_policy(style: str, script: str, *, served: bool) -> str:
    """Return the Content-Security-Policy of a page: its own style and script run, and nothing is fetched."""
    rules = {
        "default-src": "'none'",
        "style-src": _hash(style),
        "script-src": _hash(script),
        "img-src": "data:",
        "connect-src": "'self'" if served else "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _data(value: Any) -> str:
    return _escaped(orjson.dumps(printables(value)))


def printables(value: Any) -> Any:
    """Return a JSON value with every text in it made safe to show."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {printable(key): printables(each) for key, each in value.items()}
    return [printables(each) for each in value] if isinstance(value, list | tuple) else value


_ESCAPES = {b"<": b"\\u003c", b">": b"\\u003e", b"&": b"\\u0026", "\u2028".encode(): b"\\u2028"}
_ESCAPES |= {"\u2029".encode(): b"\\u2029"}


def _escaped(data: bytes) -> str:
    """Return JSON in which no sign can end the element that holds it."""
    for sign, escape in _ESCAPES.items():
        data = data.replace(sign, escape)
    return data.decode()


def _picture(svg: str) -> str:
    """Return a figure as an address that holds it: a picture runs no script and loads nothing."""
    return f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"


_SIZE = re.compile(r"""<svg\b[^>]*?\bwidth="([\d.]+)pt"[^>]*?\bheight="([\d.]+)pt\"""")


def _size(svg: str) -> tuple[int, int]:
    """Return width and height of a figure in pixels, so that nothing moves when it is drawn; 0 where it says none."""
    found = _SIZE.search(svg)
    return (round(float(found[1]) * 4 / 3), round(float(found[2]) * 4 / 3)) if found else (0, 0)


_INTERVAL = re.compile(r"([^\[(]*\d[^\[(]*?)\s*((?:\[[^\[\]]*\])?\s*(?:\([^()]*\))?)")


def _interval(cell: str) -> tuple[str, str]:
    """Part a figure from what stands behind it in brackets: interval, number, share; empty where there is nothing."""
    found = _INTERVAL.fullmatch(cell)
    return (found[1], found[2]) if found else (cell, "")


def _key(value: object) -> str:
    """Write what a cell is sorted by; empty where there is nothing."""
    return "" if value is None else str(value)


def _paragraphs(text: str) -> Iterator[str]:
    return (part for part in (each.strip() for each in text.split("\n\n")) if part)


@cache
def asset(name: str) -> str:
    """Return a style or script of ``web/``."""
    return (_WEB / name).read_text("utf-8")


@cache
def template(name: str) -> Any:
    """Return a template of ``web/`` that escapes all that it is given, control characters as marks."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_WEB),
        undefined=jinja2.StrictUndefined,
        autoescape=True,
        finalize=lambda value: printable(value) if isinstance(value, str) and not hasattr(value, "__html__") else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "parts": parts,
        "picture": _picture,
        "paragraphs": _paragraphs,
        "interval": _interval,
        "size": _size,
        "key": _key,
    }
    environment.tests["low_first"] = lambda head: _LOW_FIRST.match(head) is not None
    environment.globals |= {"tall": _TALL, "long": _LONG}
    return environment.get_template(name)
