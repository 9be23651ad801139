"""What is done to wikitext before it is parsed, each step in one walk over the text.

A parser that meets ``{{`` looks for ``}}`` and goes back when there is none, so that an article of unclosed braces
takes it minutes. Here what is never closed, or is nested past reason, is taken out first, and counted.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

_BRACKETS = re.compile(r"\{\{|\}\}|\[\[|\]\]")
_CLOSES = {"}}": "{{", "]]": "[["}
_DEEPEST = 12
"""Levels of templates and links within each other; the tables of infoboxes come to six."""
_MOST = 20_000
"""Brackets in a section; the longest lists of Wikipedia come to half of it."""
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,500}>")
_BREAK = re.compile(r"<(?:br|p|li|div|blockquote|poem|tr)\b[^<>]{0,200}>", re.IGNORECASE)
_HEADING = re.compile(r"^(={1,6})[ \t]*(\S[^\n]*?)[ \t]*=+[ \t]*$", re.MULTILINE)
_ADDRESS = r"(?:https?:|ftp:|mailto:|//)"
_LABELLED = re.compile(rf"(?<!\[)\[{_ADDRESS}[^\s\[\]]{{0,2000}}+[^\S\n]*([^\[\]\n]{{0,500}})\]")
_OPEN_ADDRESS = re.compile(rf"\[(?={_ADDRESS})")
_TABLE = re.compile(r"^[ \t:*#]*(\{\||\|\}(?!\}))", re.MULTILINE)
_CONVERSION = re.compile(r"-\{([^{}]{0,2000})\}-")
_VARIANTS = ("zh-hans", "zh-cn", "zh-sg", "zh")
_SWITCH = re.compile(r"__[A-Z]{3,30}__")
_EMPTY = re.compile(r"[(（][\s,;:，；：、]*[)）]")
_LEADING = re.compile(r"([(（])[\s,;:，；：、]+")
_BLANKS = re.compile(r"[^\S\n]+")
_BULLET = re.compile(r"^[ \t]*[*#:;]+[ \t]*", re.MULTILINE)
_LINES = re.compile(r"\s*\n\s*")


def without_comments(text: str) -> str:
    """Take out comments; one that is not closed goes on to the end, as in MediaWiki."""
    parts = []
    start = 0
    while (opened := text.find("<!--", start)) >= 0:
        parts.append(text[start:opened])
        closed = text.find("-->", opened + 4)
        start = closed + 3 if closed >= 0 else len(text)
    return "".join([*parts, text[start:]]) if parts else text


def without_elements(text: str, names: Collection[str]) -> str:
    """Take out elements with their content; of one that is not closed the tag alone."""
    opener = re.compile(rf"<({'|'.join(map(re.escape, names))})\b([^<>]{{0,2000}})>", re.IGNORECASE)
    closers = {name: re.compile(rf"</{re.escape(name)}\s*>", re.IGNORECASE) for name in names}
    parts, start = [], 0
    last: dict[str, int] = {}
    while match := opener.search(text, start):
        parts.append(text[start : match.start()])
        start = match.end()
        name = match[1].lower()
        if match[2].endswith("/") or start >= last.get(name, len(text) + 1):
            continue
        closed = closers[name].search(text, start)
        if closed:
            start = closed.end()
        else:
            last[name] = start  # none from here on: looking again for each would take the square of the length
    return "".join([*parts, text[start:]])


def without_tags(text: str) -> str:
    """Take out what is left of tags, and keep what stands between them."""
    return _TAG.sub("", _BREAK.sub("\n", text))


def without_addresses(text: str) -> str:
    """Put the label in the place of a link to an address; of one that is not closed the bracket alone goes."""
    return _OPEN_ADDRESS.sub("", _LABELLED.sub(r"\1", text))


def without_tables(text: str) -> tuple[str, int]:
    """Take out tables with those inside them; one that is not closed ends with the text, and is counted."""
    parts, start, depth = [], 0, 0
    for match in _TABLE.finditer(text):
        if match[1] == "{|":
            if not depth:
                parts.append(text[start : match.start()])
            depth += 1
        elif depth:
            depth -= 1
            start = match.end()
    return "".join(parts if depth else [*parts, text[start:]]), int(depth > 0)


def balanced(text: str) -> tuple[str, int]:
    """Take out brackets without their partner, and what is nested too deep; return how many places that were.

    Past ``_MOST`` brackets the rest of the text is left out.
    """
    opened: list[re.Match[str]] = []
    cuts: list[tuple[int, int]] = []
    repairs = 0
    for number, match in enumerate(_BRACKETS.finditer(text)):
        if number == _MOST:
            text, repairs = text[: match.start()], repairs + 1
            break
        if match[0] not in _CLOSES:
            opened.append(match)
            continue
        while opened and opened[-1][0] != _CLOSES[match[0]] and any(o[0] == _CLOSES[match[0]] for o in opened[-3:]):
            cuts.append(opened.pop().span())
        if not opened or opened[-1][0] != _CLOSES[match[0]]:
            cuts.append(match.span())
            continue
        partner = opened.pop()
        if len(opened) >= _DEEPEST:
            cuts.append((partner.start(), match.end()))
    cuts += [match.span() for match in opened]
    return _without(text, cuts), repairs + len(cuts)


def _without(text: str, cuts: list[tuple[int, int]]) -> str:
    parts, start = [], 0
    for begin, end in sorted(cuts):
        if begin >= start:
            parts.append(text[start:begin])
        start = max(start, end)
    return "".join([*parts, text[start:]])


def sections(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield level, heading and text of each section in order; the lead has level 0 and no heading."""
    level, heading, start = 0, "", 0
    for match in _HEADING.finditer(text):
        yield level, heading, text[start : match.start()]
        level, heading, start = len(match[1]), match[2], match.end()
    yield level, heading, text[start:]


def converted(text: str) -> str:
    """Resolve Chinese ``-{…}-``: the simplified wording where several are given; rules without a wording go."""
    return _CONVERSION.sub(lambda match: _variant(match[1]), text)


def _variant(content: str) -> str:
    flags, bar, rest = content.partition("|")
    if bar and re.fullmatch(r"[A-Za-z;\- ]{0,40}", flags):
        if not flags.strip().isupper() or "A" in flags:
            content = rest
        else:
            return ""
    wordings = dict(part.split(":", 1) for part in content.split(";") if ":" in part)
    named = {key.strip().lower().rpartition("=>")[2]: value.strip() for key, value in wordings.items()}
    for variant in _VARIANTS:
        if variant in named:
            return named[variant]
    return next(iter(named.values()), content.strip())


def tidied(text: str) -> str:
    """Clean up what dropped markup leaves: empty brackets, blanks, bullets, switches; a line is a paragraph."""
    text = _SWITCH.sub("", text).replace("\xa0", " ")
    text = _LEADING.sub(r"\1", _EMPTY.sub("", text))
    text = _BULLET.sub("", _BLANKS.sub(" ", text))
    text = re.sub(r" +([,.;:)!?、，。])", r"\1", text)
    return _LINES.sub("\n", text).strip()
