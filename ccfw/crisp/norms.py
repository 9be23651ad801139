"""Sources of norms → candidates → norms: how each published file is read, and what needs no model. Pure.

A candidate is a row that asks a question with options, or one that states a rule. CulturalBench and FORK ask, so a
model makes a norm of question and answer; NormAd and files of one's own state a rule, which is taken as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ccfw.checks.issue import Issue
from ccfw.checks.text import alike, content_words, count_words, normalise, sentences, tokens, turns, word_set
from ccfw.crisp.records import CultureNorms, Loss, Norm, Reason
from ccfw.forms import TEXT, an_object, read_form
from ccfw.records import Region

Cells = Mapping[str, Any]
SHIPPED = "starter"
LICENCES = {"culturalbench": "CC-BY-4.0", "fork": "CC-BY-4.0", "normad": "CC-BY-4.0", SHIPPED: "Apache-2.0"}
FORM = an_object({"norm": TEXT, "norm_type": TEXT})
LONGEST = 60
"""Words of a norm."""
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
}
_SMALL = frozenset({"and", "of", "the"})
_NOT = (
    r"n't\b|\bnot\b|\bnever\b|\bunusual\b|\buncommon\b|\binappropriate\b|\bunacceptable\b|\bexcept\b|\bimpolite\b"
    r"|\brude\b|\boffensive\b|\bdisrespectful\b|\btaboos?\b|\bfrowned\b|\bavoid\w*\b|\bforbidden\b|\bprohibited\b"
)
_NEGATION = re.compile(_NOT, re.IGNORECASE)
_AVOIDS = re.compile(
    _NOT + r"|\bno\b|\brarely\b|\bseldom\b|\brather than\b|\binstead of\b|\brefrain\w*\b|\bwithout\b", re.IGNORECASE
)
_FINITE = re.compile(
    r"\b(?:is|are|should|must|may|can|do|does|don't|doesn't|have|has|will|avoid|pays?|goes|go|gives?|takes?|eats?"
    r"|leaves?|waits?|uses?|bows?|stays?|brings?|offers?|refuses?|pours?|greets?|removes?|sits?|speaks?)\b",
    re.IGNORECASE,
)
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
        """What makes two rows one: the question, or the rule of a culture, in the same words."""
        return ("", normalise(self.question)) if self.question else (self.culture, normalise(self.rule or ""))

    @property
    def negated(self) -> bool:
        """Whether the answer is what is *not* done: an odd number of negations, so that "not uncommon" is none."""
        return len(_NEGATION.findall(self.question.split("\n")[0])) % 2 == 1


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


def culture_name(name: str) -> str:
    """Return a culture's name as this project writes it: ``south_korea`` → South Korea, ``USA`` → United States."""
    plain = " ".join(name.replace("_", " ").replace("-", " ").split())
    if plain.casefold() in _NAMES:
        return _NAMES[plain.casefold()]
    if plain != plain.lower():
        return plain
    return " ".join(word if word in _SMALL else word.capitalize() for word in plain.split())


def slug(text: str) -> str:
    """Return a kind of norm as an identifier: ``General Culture/Custom`` → ``general_culture_custom``."""
    made = _SLUG.sub("_", text.casefold()).strip("_")
    return made if made[:1].isalpha() else f"kind_{made}".strip("_")


def _text(cells: Cells, column: str) -> str:
    value = cells.get(column)
    text = " ".join(str(value).split()) if value is not None else ""
    if not text:
        raise ValueError(f"nothing under {column}")
    return text


def _question(source: str, letters: Mapping[str, str], question: str, answer: str) -> Callable[[Cells, str], Candidate]:
    def read(cells: Cells, row: str) -> Candidate:
        options = {letter: _text(cells, column) for letter, column in letters.items()}
        key = _text(cells, answer).upper()
        if key not in options:
            raise ValueError(f"the answer is {key!r}; options: {', '.join(options)}")
        kind = slug(str(cells.get("dimension") or "other"))
        asked = str(cells.get(question) or "").strip()
        if not asked:
            raise ValueError(f"nothing under {question}")
        return Candidate(
            row_id=f"{source}:{row}",
            source=source,
            culture=culture_name(_text(cells, "country")),
            norm_type=kind,
            licence=LICENCES[source],
            origin=row,
            rule=None,
            question=asked,
            options=tuple(options.values()),
            answer=options[key],
        )

    return read


def _rule(cells: Cells, row: str) -> Candidate:
    return Candidate(
        row_id=f"normad:{row}",
        source="normad",
        culture=culture_name(_text(cells, "country")),
        norm_type=slug(str(cells.get("subaxis") or cells.get("axis") or "other")),
        licence=LICENCES["normad"],
        origin=row,
        rule=_text(cells, "rule of thumb"),
    )


def _own(cells: Cells, row: str) -> Candidate:
    source = slug(str(cells.get("source") or "own"))
    return Candidate(
        row_id=f"{source}:{row}",
        source=source,
        culture=culture_name(_text(cells, "culture")),
        norm_type=slug(str(cells.get("norm type") or cells.get("type") or "other")),
        licence=" ".join(str(cells.get("licence") or cells.get("license") or "unstated").split()),
        origin=row,
        rule=_text(cells, "norm"),
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
        given = next((str(cells[name]).strip() for name in _IDS if str(cells.get(name) or "").strip()), "")
        row = given if given and f"{given}" not in seen else f"line_{line}"
        seen.add(row)
        try:
            found.append(layout.read(cells, row))
        except ValueError as error:
            losses.append((f"{layout.source}:{row}", Loss(reason=Reason.BAD_ROW, detail=f"line {line}: {error}")))
    return Rows(layout.source, tuple(organised(found)), tuple(losses))


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


def states_a_rule(candidate: Candidate) -> bool:
    """Whether an answer is a rule by itself: a clause of six words or more, to a question that is not negated."""
    answer = candidate.answer
    return not candidate.negated and count_words(answer) >= 6 and _FINITE.search(answer) is not None


def without_a_model(candidate: Candidate) -> Norm | Loss:
    """Return the norm that a row states by itself, or that it states none."""
    rule = candidate.rule or (candidate.answer if states_a_rule(candidate) else None)
    if rule is None:
        return Loss(reason=Reason.NO_RULE, detail="the answer states no rule by itself; a model can make one of it")
    return made(candidate, rule, candidate.norm_type)


def made(candidate: Candidate, norm: str, norm_type: str) -> Norm:
    """Return a candidate's norm."""
    sentence = " ".join(norm.split())
    return Norm(
        norm_id=candidate.row_id,
        norm=sentence if sentence.endswith((".", "!", "?")) else f"{sentence}.",
        culture=candidate.culture,
        norm_type=slug(norm_type),
        source=candidate.source,
        licence=candidate.licence,
        origin=candidate.origin,
        region=candidate.region,
    )


def read_norm(candidate: Candidate, text: str) -> Norm | tuple[Issue, ...]:
    """Read a model's reply, or return what breaks its form; raise ``Refusal`` when it is no JSON object."""
    content = read_form(text, FORM, lines=True)  # ``made`` puts the words on one line
    return content if isinstance(content, tuple) else made(candidate, content["norm"], content["norm_type"])


def check_norm(candidate: Candidate, norm: Norm) -> tuple[Issue, ...]:
    """Return what is wrong with a norm that a model made of a question."""
    issues = []
    if len(sentences(norm.norm)) != 1 or "?" in norm.norm:
        issues.append(Issue("one_sentence", "norm", norm.norm, "one sentence that states a rule"))
    if (words := count_words(norm.norm)) > LONGEST:
        issues.append(Issue("length", "norm", f"{words} words", f"at most {LONGEST} words"))
    if candidate.negated and not _AVOIDS.search(norm.norm):
        issues.append(Issue("avoidance", "norm", norm.norm, "what is avoided: the question asks for what is not done"))
    correct = word_set(candidate.answer)
    if len(correct) > 1 and correct.isdisjoint(content_words(norm.norm)):
        issues.append(Issue("answer", "norm", norm.norm, f"the rule of the correct answer: {candidate.answer}"))
    return tuple(issues)


def repeated(norms: Sequence[Norm], least: float) -> dict[str, str]:
    """Return the norms that say what an earlier one of their culture says, each with that one's id.

    Two say the same when their words are the same, or when ``least`` of their content words are (Jaccard) and they
    turn on the same words, as *before* and *after*. Within a source of questions two norms of different questions are
    only one when their words are the same: what was asked apart is told apart.
    """
    exact, by_word = dict[tuple[str, str], Norm](), dict[tuple[str, str], list[Norm]]()
    found: dict[str, str] = {}
    for norm in norms:
        key = norm.culture, normalise(norm.norm)
        known = exact.get(key) or _near(norm, by_word, least)
        if known is not None:
            found[norm.norm_id] = known.norm_id
            continue
        exact[key] = norm
        for word in word_set(norm.norm):
            by_word.setdefault((norm.culture, word), []).append(norm)
    return found


def _near(norm: Norm, by_word: Mapping[tuple[str, str], Sequence[Norm]], least: float) -> Norm | None:
    others = {
        id(other): other
        for word in word_set(norm.norm)
        for other in by_word.get((norm.culture, word), ())
        if other.source != norm.source or norm.source not in _ASKED
    }
    same = (
        other
        for other in others.values()
        if turns(other.norm) == turns(norm.norm) and _negations(other.norm) == _negations(norm.norm)
    )
    return next((other for other in same if alike(other.norm, norm.norm, least)), None)


_ASKED = frozenset({"culturalbench", "fork"})


def _negations(text: str) -> int:
    return len(_NEGATION.findall(" ".join(tokens(text))))


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
