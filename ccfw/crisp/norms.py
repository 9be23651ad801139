"""Sources of norms → candidates: how each published file, and a file of one's own, is read. Pure.

A candidate is a row that asks a question with options, or one that states a rule. CulturalBench and FORK ask, so a
model makes a norm of question and answer; NormAd and files of one's own state a rule, which is taken as it is. Either
becomes a norm in ``ccfw.crisp.rules``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain, count
from typing import Any, NamedTuple

from ccfw.checks.text import count_words, normalise, tokens
from ccfw.crisp.records import CultureNorms, Loss, Norm, Reason
from ccfw.forms import text_fault
from ccfw.records import Region

Cells = Mapping[str, Any]
SHIPPED = "starter"
LICENCES = {"culturalbench": "CC-BY-4.0", "fork": "CC-BY-4.0", "normad": "CC-BY-4.0", SHIPPED: "Apache-2.0"}
SHORTEST, LONGEST = 3, 60
"""Words of a norm."""
_LONGEST_ID = 80
_NAMES = {
    "usa": "United States",
    "united states of america": "United States",
    "uk": "United Kingdom",
    "turkiye": "Türkiye",
    "türkiye": "Türkiye",
    "turkey": "Türkiye",
    "uae": "United Arab Emirates",
    "korea": "South Korea",
    "timor leste": "Timor-Leste",
    "czechia": "Czech Republic",
    "deutschland": "Germany",
    "italia": "Italy",
    "méxico": "Mexico",
    "nippon": "Japan",
    "viet nam": "Vietnam",
    "brunei darussalam": "Brunei",
}
_INITIALS = 3
"""Letters of a name in capitals that stays so: DRC."""
_CULTURE = re.compile(r"[^\W\d_][\w .,'’()&/-]{0,59}")
_SMALL = frozenset({"and", "of", "the"})
NOT = (
    r"n't\b|\bnot\b|\bnever\b|\bunusual\b|\buncommon\b|\binappropriate\b|\bunacceptable\b|\bexcept\b|\bimpolite\b"
    r"|\brude\b|\boffensive\b|\bdisrespectful\b|\btaboos?\b|\bfrowned\b|\bavoid\w*\b|\bforbidden\b|\bprohibited\b"
)
_NEGATION = re.compile(NOT, re.IGNORECASE)
_SLUG = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True)
class Candidate:
    """A row of a source that may become a norm."""

    row_id: str
    """``<source>:<id>``, unique over all sources."""
    source: str
    culture: str
    norm_type: str
    licence: str
    origin: str
    rule: str | None
    """What the row states, where it states a rule."""
    question: str = ""
    options: tuple[str, ...] = ()
    answer: str = ""
    """The correct option, as it stands."""
    region: Region | None = None

    @property
    def key(self) -> tuple[str, str]:
        """What makes two rows of a source one: the same question about a culture, or its rule, in the same words."""
        return self.culture, normalise(self.question or self.rule or "")

    @property
    def negated(self) -> bool:
        """Whether the answer is what is *not* done: an odd number of negations, so that "not uncommon" is none."""
        return negations(self.question.split("\n")[0]) % 2 == 1


class Rows(NamedTuple):
    """The candidates of one source, and the rows that are none."""

    source: str
    candidates: tuple[Candidate, ...]
    losses: tuple[tuple[str, Loss], ...]
    """By row."""


class Layout(NamedTuple):
    """The columns of a published file, and what makes a candidate of a row."""

    source: str
    columns: frozenset[str]
    read: Callable[[Cells, str], Candidate]
    """Raises ``ValueError`` with what the row lacks."""


def negations(text: str) -> int:
    """Count the words that turn what is said into its contrary, or into what is not done."""
    return len(_NEGATION.findall(text))


def culture_name(name: str) -> str:
    """Return a culture's name as this project writes it: ``south_korea`` and ``SOUTH KOREA`` → South Korea.

    ``USA`` is United States; other names of three capitals stay.
    """
    plain = " ".join(name.replace("_", " ").replace("-", " ").split())
    if plain.casefold() in _NAMES:
        return _NAMES[plain.casefold()]
    if plain != plain.lower() and (plain != plain.upper() or len(plain) <= _INITIALS):
        return plain
    return " ".join(word if word in _SMALL else word.capitalize() for word in plain.lower().split())


def slug(text: str) -> str:
    """Return a kind of norm as an identifier: ``General Culture/Custom`` → ``general_culture_custom``."""
    made = _SLUG.sub("_", text.casefold()).strip("_")
    return made if made[:1].isalpha() else f"kind_{made}".strip("_")


def _text(cells: Cells, column: str) -> str:
    """Return a cell's text on one line; raise ``ValueError`` when it is none that can be sent on."""
    return " ".join(_lines(cells, column).split())


def _lines(cells: Cells, column: str) -> str:
    value = cells.get(column)
    if value is None or value == "":
        raise ValueError(f"nothing under {column}")
    if not isinstance(value, str):
        raise ValueError(f"{column} is no text")  # noqa: TRY004 a fault of the row, as the others are
    text = "\n".join(value.splitlines()).strip()
    if not text:
        raise ValueError(f"nothing under {column}")
    if fault := text_fault(text, lines=True):
        raise ValueError(f"{column} must be {fault}")
    return text


def _culture(cells: Cells, column: str) -> str:
    name = _text(cells, column)
    if not _CULTURE.fullmatch(name):
        raise ValueError(f"{column} must be a name: a letter, then at most 59 letters, blanks and simple punctuation")
    return culture_name(name)


def _optional(cells: Cells, *columns: str) -> str:
    """Return the text of the first of some columns that has a short one that can be sent on; empty if none has."""
    found = (" ".join(value.split()) for name in columns if isinstance(value := cells.get(name), str))
    return next((text for text in found if len(text) <= _LONGEST_ID and not text_fault(text)), "")


def _ruled(cells: Cells, column: str) -> str:
    """Return a rule as it stands, of the length that a model's is held to."""
    rule = _text(cells, column)
    if len(tokens(rule)) < SHORTEST or count_words(rule) > LONGEST:
        raise ValueError(f"{column} must have {SHORTEST} to {LONGEST} words, not {count_words(rule)}")
    return rule


def _shown(text: str) -> str:
    """Return a text without control and format characters, of which published items hold some by accident."""
    return "".join(char for char in text if char in "\n\t" or unicodedata.category(char) not in {"Cc", "Cf"})


def _question(source: str, letters: Mapping[str, str], question: str, answer: str) -> Callable[[Cells, str], Candidate]:
    def read(raw: Cells, row: str) -> Candidate:
        cells = {name: _shown(value) if isinstance(value, str) else value for name, value in raw.items()}
        options = {letter: _text(cells, column) for letter, column in letters.items()}
        key = _text(cells, answer).upper()
        if key not in options:
            raise ValueError(f"the answer is {key[:_LONGEST_ID]!r}; options: {', '.join(options)}")
        return Candidate(
            row_id=f"{source}:{row}",
            source=source,
            culture=_culture(cells, "country"),
            norm_type=slug(_optional(cells, "dimension") or "other"),
            licence=LICENCES[source],
            origin=row,
            rule=None,
            question=_lines(cells, question),
            options=tuple(options.values()),
            answer=options[key],
        )

    return read


def _rule(cells: Cells, row: str) -> Candidate:
    return Candidate(
        row_id=f"normad:{row}",
        source="normad",
        culture=_culture(cells, "country"),
        norm_type=slug(_optional(cells, "subaxis", "axis") or "other"),
        licence=LICENCES["normad"],
        origin=row,
        rule=_ruled(cells, "rule of thumb"),
    )


def _own(cells: Cells, row: str) -> Candidate:
    source = slug(_optional(cells, "source") or "own")
    if source in LICENCES:  # its rows were made into norms elsewhere, under whatever rules
        source = f"own_{source}"
    return Candidate(
        row_id=f"{source}:{row}",
        source=source,
        culture=_culture(cells, "culture"),
        norm_type=slug(_optional(cells, "norm type", "type") or "other"),
        licence=_optional(cells, "licence", "license") or "unstated",
        origin=row,
        rule=_ruled(cells, "norm"),
    )


_LETTERS = {letter.upper(): f"prompt option {letter}" for letter in "abcd"}
_TWO = {"A": "option a", "B": "option b"}
LAYOUTS = (
    Layout(
        "culturalbench",
        frozenset({"prompt question", *_LETTERS.values(), "answer", "country"}),
        _question("culturalbench", _LETTERS, "prompt question", "answer"),
    ),
    Layout(
        "fork",
        frozenset({"question", *_TWO.values(), "answer key", "country"}),
        _question("fork", _TWO, "question", "answer key"),
    ),
    Layout("normad", frozenset({"country", "rule of thumb"}), _rule),
    Layout("own", frozenset({"norm", "culture"}), _own),
)
"""By its columns a file is known; other columns may stand beside them."""
_IDS = ("id", "data idx", "norm id")


def layout_of(columns: Iterable[str]) -> Layout | None:
    """Return whose columns these are; ``None`` for a file of none of the sources."""
    have = set(columns)
    return next((layout for layout in LAYOUTS if layout.columns <= have), None)


def read_rows(layout: Layout, rows: Iterable[tuple[int, Cells]]) -> Rows:
    """Read the rows of a file, each with its line; what is no candidate is a loss with its reason."""
    found, losses, seen = list[Candidate](), list[tuple[str, Loss]](), set[str]()
    for line, cells in rows:
        row = _row_id(cells, line, seen)
        seen.add(row)
        try:
            found.append(layout.read(cells, row))
        except ValueError as error:
            losses.append((f"{layout.source}:{row}", Loss(reason=Reason.BAD_ROW, detail=f"line {line}: {error}")))
    return Rows(layout.source, tuple(organised(found)), tuple(losses))


def _row_id(cells: Cells, line: int, seen: Container[str]) -> str:
    """Return what tells a row from the others of its file: its own id where it has one, else its line."""
    texts = {name: str(cells[name]) if type(cells.get(name)) is int else cells.get(name) for name in _IDS}
    lines = (f"line_{line}_{number}" if number > 1 else f"line_{line}" for number in count(1))
    return next(name for name in chain([_optional(texts, *_IDS)], lines) if name and name not in seen)


def told_apart(files: Iterable[Rows]) -> Iterator[Rows]:
    """Yield the rows of several files; an id that stands in an earlier file too gets the number of its file."""
    seen = set[str]()
    for number, rows in enumerate(files, 1):
        own = [
            replace(each, row_id=f"{each.row_id}~{number}") if each.row_id in seen else each for each in rows.candidates
        ]
        seen.update(each.row_id for each in own)
        yield rows._replace(candidates=tuple(own))


def organised(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return rules by culture and kind, questions as the file has them (Table 1, *structured rule organization*)."""
    asked, ruled = list[Candidate](), list[Candidate]()
    for each in candidates:
        (asked if each.rule is None else ruled).append(each)
    return [*asked, *sorted(ruled, key=lambda each: (each.culture, each.norm_type))]


def distinct(candidates: Iterable[Candidate]) -> tuple[list[Candidate], list[tuple[Candidate, Loss]]]:
    """Return the first candidate of each question or rule, and the others with what they repeat.

    FORK's 184 rows hold 177 questions, which is the number that the paper gives for it (Table 1).
    """
    first, kept, again = dict[tuple[str, str, str], Candidate](), list[Candidate](), list[tuple[Candidate, Loss]]()
    for each in candidates:
        known = first.setdefault((each.source, *each.key), each)
        if known is each:
            kept.append(each)
        else:
            detail = f"asks or states what {known.row_id} does"
            again.append((each, Loss(reason=Reason.SAME_QUESTION, detail=detail)))
    return kept, again


def shipped_norms(files: Iterable[CultureNorms]) -> Iterator[Norm]:
    """Yield the norms of the files that ship."""
    for file in files:
        for each in file.norms:
            yield Norm(
                norm_id=each.norm_id,
                norm=each.norm,
                culture=file.culture,
                norm_type=each.norm_type.value,
                source=SHIPPED,
                licence=LICENCES[SHIPPED],
                origin=each.norm_id,
                region=file.region,
            )


def candidate_of(norm: Norm) -> Candidate:
    """Return a shipped norm as a row of its source."""
    return Candidate(
        row_id=norm.norm_id,
        source=norm.source,
        culture=norm.culture,
        norm_type=norm.norm_type,
        licence=norm.licence,
        origin=norm.origin,
        rule=norm.norm,
        region=norm.region,
    )
