"""What is held against a norm, a scenario, an answer's guidance or a triplet, without a model. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from ccfw.checks.issue import Issue
from ccfw.checks.leakage import holds, paraphrases, shares_trigram
from ccfw.checks.script import script_counts
from ccfw.checks.text import alike, content_words, count_words, sentences, straighten, tokens, unmasked, word_set
from ccfw.crisp.records import Draft, Norm, Triplet

_EXPLAINED = re.compile(
    r"\bin (?:this|that|the|their|his|her|local) (?:\w+ )?(?:culture|custom|tradition|society)\b"
    r"|\b(?:custom|culture|tradition|etiquette) (?:requires?|demands?|dictates?|calls for|expects?)\b"
    r"|\bcultural(?:ly)? (?:norms?|appropriate|sensitiv\w+|expect\w+)\b|\bthe norm\b"
    r"|\b(?:it is|it's) (?:customary|considered (?:rude|polite|impolite))\b"
)
_SUGGESTS = re.compile(
    r"\bshould(?:n't)?\b[^?]*\bor (?:not|should)\b|\b(?:isn't|shouldn't|wouldn't|don't you)\b|\bnorms?\b|\bcultur\w+\b"
    r"|\bcustoms?\b|\betiquette\b"
)
_LABELS = re.compile(
    r"\b(?:appropriate|generic|opposite) (?:answer|response|version|advice|option)\b|\bnorms?\b|\bculturally\b"
    r"|\bcultural (?:custom|expect|context|difference|rule|sensi|value|taboo|tradition)\w*"
    r"|\b(?:this|that|the|their|his|her|local|your) (?:\w+ )?cultures?\b"
    r"|\bcustom requires\b|\bviolat\w+\b|\brewrit\w+\b|\b(?:dis)?respectful (?:answer|advice|option|version)\b"
    r"|\binsensitiv\w+\b"
)
_JOINT = re.compile(
    r"[.;:,!?–—]|\b(?:because|since|so|and|but|or|rather than|instead of|which|who|before|after|when|while|until)\b"
)
_MUST = re.compile(r"\b(\w+) (?:should|must|has to|have to|needs to|ought to|had better)\b")
_PRONOUNS = frozenset({"he", "she", "they"})
_LEAST_WORDS = 2
"""Content words of a clause that is looked for by itself."""
_IN_A_ROW = 24
"""Letters that nobody writes alike by chance, some four or five words."""
_HEDGES = frozenset({"perhaps", "maybe", "might", "possibly", "probably", "likely", "could", "seems", "somewhat"})
_MANNERS = frozenset(
    {"please", "kindly", "sorry", "thank", "thanks", "grateful", "gracious", "politely", "polite", "warmly", "gently"}
)

SCENARIO_WORDS = (60, 220)
"""What a scenario may have; those that ship have 90–160."""
TRIPLET_RATIO = 0.15
"""By how much of the appropriate answer's words another may be longer or shorter."""
TONE = 3
"""Marks of one kind that two answers of a triplet may differ by."""


class Hidden(NamedTuple):
    """A text that must not be given away, as a message names it."""

    name: str
    text: str


def hidden_in(norm: Norm, draft: Draft) -> tuple[Hidden, ...]:
    """Return what scenario and question must not give away."""
    return Hidden("norm", norm.norm), Hidden("hidden expected answer", draft.hidden_expected_answer)


def given_away(text: str, hidden: Iterable[Hidden], public: str = "") -> Iterator[tuple[Hidden, str]]:
    """Yield each hidden text that a text gives away, with where: word for word, in three words in a row, or by sense.

    The rules are those that blueprints are held to (``ccfw.checks.leakage``); content words of ``public`` are free.
    """
    free = frozenset(content_words(public))
    for each in hidden:
        found = text if holds(text, each.text) or shares_trigram(text, each.text, free) else None
        found = found or next((part for part in sentences(text) if paraphrases(part, each.text, free)), None)
        if found:
            yield each, found


def leaks(norm: Norm, draft: Draft) -> tuple[Issue, ...]:
    """Return where scenario or question give the norm or the hidden answer away, or explain a culture.

    The hidden answer names the things of the scenario, so of it only what the scenario does not say is hidden from the
    question, and only whole phrases are hidden from the scenario.
    """
    issues = []
    for where, text, public in (("scenario", draft.scenario, ""), ("question", draft.question, draft.scenario)):
        for each, found in given_away(text, hidden_in(norm, draft), public):
            if each.name == "norm" or where == "question" or _said_outright(text, each.text):
                issues.append(Issue("leak", where, found, f"nothing of the {each.name}"))
        told = (match.group() for match in _EXPLAINED.finditer(unmasked(text)))
        issues += [Issue("explained", where, each, "cues, and no talk about a culture or its norms") for each in told]
    return tuple(issues)


SAME_SCENE = 0.5
"""Share of content words in common from which two scenes of a norm are one told again."""


def check_scene(draft: Draft, accepted: Iterable[Draft]) -> tuple[Issue, ...]:
    """Return which accepted scene of the norm a scene tells again."""
    own = word_set(draft.scenario)
    return tuple(
        Issue("repeated", "scenario", f"accepted scene {number}", "another scene, and not the same in other words")
        for number, other in enumerate(accepted, 1)
        if _overlap(own, word_set(other.scenario)) >= SAME_SCENE
    )


def _overlap(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / max(1, len(one | other))


def _said_outright(text: str, hidden: str) -> bool:
    return holds(text, hidden) or shares_trigram(text, hidden, frozenset())


def check_draft(norm: Norm, draft: Draft) -> tuple[Issue, ...]:
    """Return what is wrong with a scenario, its question and its hidden answer."""
    issues = [*leaks(norm, draft)]
    words, (least, most) = count_words(draft.scenario), SCENARIO_WORDS
    if not least <= words <= most:
        issues.append(Issue("length", "scenario", f"{words} words", f"{least} to {most} words"))
    if not draft.question.rstrip().endswith("?") or draft.question.count("?") != 1:
        issues.append(Issue("question", "question", draft.question, "one question"))
    if match := _SUGGESTS.search(unmasked(draft.question)):
        issues.append(Issue("neutral", "question", match.group(), "an open question that suggests no answer"))
    if alike(draft.question, draft.hidden_expected_answer, 0.8):
        issues.append(Issue("question", "hidden_expected_answer", draft.hidden_expected_answer, "an answer"))
    return tuple(issues)


def check_guidance(norm: Norm, draft: Draft, guidance: str) -> tuple[Issue, ...]:
    """Return what an advisor's guidance gives away: the reasoner reads it and may see neither norm nor answer.

    Beyond what a scenario is held to, it may hold no clause of either and none of their letters in a row, spaced out or
    backwards, no word on what somebody of the scene should do, and no letters of an alphabet that is not the scene's,
    which may pass for others.
    """
    where, public, hidden = "answer_guidance", f"{draft.scenario} {draft.question}", hidden_in(norm, draft)
    found = [*given_away(guidance, hidden, public), *_parts_given_away(guidance, hidden, public)]
    issues = [Issue("leak", where, text, f"nothing of the {each.name}") for each, text in found]
    issues += [Issue("act", where, each, "where to look, and not what to do") for each in _told_to_act(guidance, draft)]
    if strange := set(script_counts(straighten(guidance))) - set(script_counts(straighten(public))):
        issues.append(Issue("script", where, ", ".join(sorted(strange)), "the letters of the scene"))
    return tuple(issues)


def _parts_given_away(text: str, hidden: Iterable[Hidden], public: str) -> Iterator[tuple[Hidden, str]]:
    free = frozenset(content_words(public))
    for each in hidden:
        told = (
            part for part in sentences(text) for clause in _clauses(each.text) if _tells(part, clause, public, free)
        )
        if found := next(told, None) or _spelt_out(text, each.text, public):
            yield each, found


def _told_to_act(guidance: str, draft: Draft) -> Iterator[str]:
    """Yield where somebody of the scene is told what to do: the hint is for the reader, who is *you*."""
    for match in _MUST.finditer(straighten(guidance)):
        somebody = match[1].casefold() in _PRONOUNS or (match[1][0].isupper() and match[1] in draft.scenario)
        if somebody and match.group() not in straighten(draft.scenario):
            yield match.group()


def _clauses(text: str) -> list[str]:
    return [part for part in _JOINT.split(text) if len(content_words(part)) >= _LEAST_WORDS]


def _tells(sentence: str, clause: str, public: str, free: frozenset[str]) -> bool:
    """Whether a sentence says a clause: its words that are not public, or the clause itself where all of them are."""
    if set(content_words(clause)) - free:
        return paraphrases(sentence, clause, free)
    return holds(sentence, clause) and not holds(public, clause)


def _spelt_out(text: str, hidden: str, public: str) -> str | None:
    """Return a stretch of the hidden text that another holds letter by letter, either way round, and the public not."""
    told, free, letters = (_letters(each) for each in (text, public, hidden))
    for begin in range(len(letters) - _IN_A_ROW + 1):
        run = letters[begin : begin + _IN_A_ROW]
        if (run in told or run[::-1] in told) and run not in free:
            return run
    return None


def _letters(text: str) -> str:
    return "".join(char for char in unmasked(text) if char.isalnum())


def check_triplet(norm: Norm, triplet: Triplet) -> tuple[Issue, ...]:
    """Return what would tell the answers of a triplet apart but the decisive act: length, tone, labels, copies."""
    texts: dict[str, str] = triplet.model_dump()
    issues = [*_lengths(texts), *_tones(texts)]
    for name, text in texts.items():
        issues += check_advice(norm, name, text)
    for one, other in (("appropriate", "generic"), ("appropriate", "opposite"), ("generic", "opposite")):
        if tokens(texts[one]) == tokens(texts[other]):
            issues.append(Issue("same", other, texts[other], f"another decisive act than {one}"))
    return tuple(issues)


def check_advice(norm: Norm, where: str, text: str) -> tuple[Issue, ...]:
    """Return what in an answer itself would give away its place in a triplet: labels, the norm word for word."""
    labels = (match.group() for match in _LABELS.finditer(unmasked(text)))
    issues = [Issue("label", where, each, "advice, and no word on what kind of advice it is") for each in labels]
    if holds(text, norm.norm):
        issues.append(Issue("label", where, text, "not the norm word for word"))
    return tuple(issues)


def _lengths(texts: Mapping[str, str]) -> Iterator[Issue]:
    base = count_words(texts["appropriate"])
    for name in ("generic", "opposite"):
        words = count_words(texts[name])
        if abs(words - base) > TRIPLET_RATIO * base:
            low, high = round(base * (1 - TRIPLET_RATIO)), round(base * (1 + TRIPLET_RATIO))
            yield Issue(
                "length", name, f"{words} words", f"{low} to {high} words, as the appropriate answer has {base}"
            )


def _tones(texts: Mapping[str, str]) -> Iterator[Issue]:
    marks = {name: tone(text) for name, text in texts.items()}
    for kind in marks["appropriate"]:
        values = {name: counts[kind] for name, counts in marks.items()}
        if max(values.values()) - min(values.values()) > TONE:
            told = ", ".join(f"{name} {count}" for name, count in values.items())
            yield Issue("tone", kind, told, f"much the same number in all three, at most {TONE} apart")


def tone(text: str) -> dict[str, int]:
    """Count what sets a tone: hedges, words of politeness, exclamation and question marks."""
    words = tokens(text)
    return {
        "hedges": sum(word in _HEDGES for word in words),
        "politeness": sum(word in _MANNERS for word in words),
        "exclamations": text.count("!"),
        "questions": text.count("?"),
    }


class Tell(NamedTuple):
    """A word that stands much more often in one role of the triplets than in each of the others."""

    word: str
    role: str
    times: int
    others: int
    """The greater of its counts in the two other roles."""


def word_tells(triplets: Iterable[Triplet], *, least: int = 8, ratio: float = 3.0) -> list[Tell]:
    """Return the content words by which a reader could tell the roles apart: used ``least`` times in one role and more
    than ``ratio`` times as often as in any other. A word counts once an answer.
    """
    counts: dict[str, Counter[str]] = {name: Counter() for name in Triplet.model_fields}
    for triplet in triplets:
        for name, text in triplet.model_dump().items():
            counts[name].update(set(content_words(text)))
    found = []
    for role, own in counts.items():
        others = [counts[name] for name in counts if name != role]
        for word, times in own.items():
            greatest = max(other[word] for other in others)
            if times >= least and times > ratio * greatest:
                found.append(Tell(word, role, times, greatest))
    return sorted(found, key=lambda tell: (-tell.times, tell.word))
