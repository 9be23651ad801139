"""Candidates → norms: what states a rule by itself, what a model's norm is held to, and what says the same. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ccfw.checks.issue import Issue
from ccfw.checks.text import alike, content_words, count_words, normalise, sentences, turns, word_set
from ccfw.crisp.norms import LONGEST, NOT, Candidate, negations, slug
from ccfw.crisp.overlap import Overlaps
from ccfw.crisp.records import Loss, Norm, Reason
from ccfw.forms import TEXT, an_object, read_form

FORM = an_object({"norm": TEXT, "norm_type": TEXT})
NO_RULE = "no_rule"
"""The kind by which a model says that an item holds no rule of conduct."""
_AVOIDS = re.compile(
    NOT + r"|\bno\b|\brarely\b|\bseldom\b|\brather than\b|\binstead of\b|\brefrain\w*\b|\bwithout\b", re.IGNORECASE
)
_CLAUSE = 8
"""Words from which an answer may be a rule."""
_WHO = re.compile(
    r"(?:(?:a|an|all|each|every|both|most|younger|older|young|old|married|elderly) ){0,3}"
    r"(?:people|guests?|visitors?|hosts?|hostess(?:es)?|men|man|women|woman|child(?:ren)?|boys?|girls?|parents?|elders?"
    r"|relatives?|family members|friends?|neighbou?rs?|employees?|workers?|colleagues?|customers?|diners?|passengers?"
    r"|students?|couples?|drivers?|everyone|everybody|nobody|no one)\b",
    re.IGNORECASE,
)
"""Who does what a rule says, at its beginning: a pronoun would leave open of whom it speaks."""
_DOES = re.compile(
    r"\b(?:(?:is|are) (?:\w+ )?(?:expected|required|supposed|asked) to|should|must|may not|do not|does not"
    r"|don't|doesn't|avoid|pay|pour|give|take|eat|leave|wait|use|bow|bring|offer|refuse|greet|remove|sit|speak|kneel|accept|shake"
    r"|wear|say|keep|stand)s?\b",
    re.IGNORECASE,
)
_LOOSE = re.compile(r"\b(?:I|you|your|we|us|our|this|that's)\b|[?]", re.IGNORECASE)
"""What hangs on its question, or speaks to somebody."""
_NO_PRACTICE = re.compile(
    r"\bwhy\b|\bbelie(?:f|fs|ve|ves|ved|ving)\b|\bmyths?\b|\bsuperstition\w*|\bproverbs?\b|\bdiffer(?:s|ent|ence)?\b"
    r"|\bview(?:ed|s)?\b|\bpercei\w+|\bperception\b|\bsymboli\w+|\bmeans?\b|\bsign of\b|\bsignif(?:y|ies)\b"
    r"|\bindicates?\b|\bstatements?\b|\bscenario\b|\bstigma\w*|\bhistor\w+|\bcharacteristics?\b",
    re.IGNORECASE,
)
"""A question for something else than what is done."""
_ASKS_FOR_TRAITS = re.compile(
    r"\bstereotyp\w*|\brepresentation of people\b|\bbody (?:types?|shapes?)\b|\bwomen's bodies\b"
    r"|\bphysical (?:traits?|features?|appearance)\b|\bwhat do \w+ think (?:of|about)\b",
    re.IGNORECASE,
)
_TRAITS = re.compile(
    r"\bstereotyp\w*|\b(?:front|missing) teeth\b|\bless desirable\b"
    r"|\b(?:is|are) (?:(?:almost|nearly|always|usually|often|generally|mostly|very|all|known|considered|said|thought"
    r"|to be|as|for being) ){0,4}(?:lazy|lazier|stingy|stingier|violent|stupid|ignorant|uncivili[sz]ed|backward"
    r"|primitive|criminals?|thie(?:f|ves)|dishonest|liars?|ugly|fat|hairy|smelly|inferior|superior|promiscuous|untrustworthy"
    r"|alcoholics?|drunkards?|terrorists?|racists?)\b",
    re.IGNORECASE,
)
"""What people are, or are said to be, in place of what they do."""
_ASKED = frozenset({"culturalbench", "fork"})


def asks_for_traits(candidate: Candidate) -> bool:
    """Whether a question is for what people are like or said to be like, so that nobody could make a rule of it."""
    return _ASKS_FOR_TRAITS.search(candidate.question) is not None


def states_a_rule(candidate: Candidate) -> bool:
    """Whether an answer is a rule by itself: one sentence of eight words or more that says who does what.

    Its question is not negated and asks for what is done. An answer that begins with a pronoun, a yes, a no or a reason
    hangs on its question, so that no reader could follow it alone.
    """
    answer, question = candidate.answer, candidate.question
    who = _WHO.match(answer)
    if who is None or candidate.negated or asks_for_traits(candidate) or _NO_PRACTICE.search(question):
        return False
    alone = not _LOOSE.search(answer) and not _TRAITS.search(answer) and len(sentences(answer)) == 1
    return alone and count_words(answer) >= _CLAUSE and _DOES.search(answer, who.end()) is not None


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


def read_norm(candidate: Candidate, text: str) -> Norm | Loss | tuple[Issue, ...]:
    """Read a model's reply: a norm, that the item holds no rule, or what breaks the form.

    Raises ``Refusal`` when it is no JSON object.
    """
    content = read_form(text, FORM, lines=True)  # ``made`` puts the words on one line
    if isinstance(content, tuple):
        return content
    if slug(content["norm_type"]) == NO_RULE:
        return Loss(reason=Reason.NO_RULE, detail="the model finds no rule of conduct in it")
    return made(candidate, content["norm"], content["norm_type"])


def check_norm(candidate: Candidate, norm: Norm | Loss) -> tuple[Issue, ...]:
    """Return what is wrong with a norm that a model made of a question."""
    if isinstance(norm, Loss):
        return ()
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
    if trait := _TRAITS.search(norm.norm):
        says = f"what is done, and not what people are or are said to be; without a rule, norm_type {NO_RULE}"
        issues.append(Issue("trait", "norm", trait.group(), says))
    return tuple(issues)


def repeated(norms: Sequence[Norm], least: float) -> dict[str, str]:
    """Return the norms that say what an earlier one of their culture says, each with that one's id.

    Two say the same when their words are the same, or when ``least`` of their content words are (Jaccard) and they
    turn on the same words, as *before* and *after*. Within a source of questions two norms of different questions are
    only one when their words are the same: what was asked apart is told apart.
    """
    words = [word_set(norm.norm) for norm in norms]
    kinds = [(norm.culture, turns(norm.norm), negations(normalise(norm.norm))) for norm in norms]
    near, exact, found = Overlaps(words, kinds, least), dict[tuple[str, str], Norm](), dict[str, str]()
    for place, norm in enumerate(norms):
        key = norm.culture, normalise(norm.norm)
        known = exact.get(key) or _first(norm, (norms[other] for other in near.near(place)), least)
        if known is not None:
            found[norm.norm_id] = known.norm_id
            continue
        exact[key] = norm
        near.add(place)
    return found


def _first(norm: Norm, others: Iterable[Norm], least: float) -> Norm | None:
    """Return the first of the others that says the same; ``None`` if none does."""
    apart = (other for other in others if other.source != norm.source or norm.source not in _ASKED)
    return next((other for other in apart if alike(other.norm, norm.norm, least)), None)
