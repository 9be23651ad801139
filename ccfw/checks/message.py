"""The first message in English: casual, Latin, one concern, nothing announced (paper G.2, rule 10)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ccfw.checks.fields import MESSAGE, first_message
from ccfw.checks.identity import as_a_identity, identity_statement
from ccfw.checks.issue import Check, Finding
from ccfw.checks.script import script_of
from ccfw.checks.text import count_words, sentences, straighten
from ccfw.records import Scenario

WORDS = (25, 50)
_OPENER = re.compile(
    r"\W*(?:ok(?:ay)?,? so|so|need|hi|hello|hey|hiya|dear|greetings"
    r"|good (?:day|morning|afternoon|evening))\b(?!-)"
)
_LIST = re.compile(r"^\s*(?:[-*•·▪]|\d+[.)])\s|(?:^|\s)\(?1[.)]\s.*\s\(?2[.)]\s", re.MULTILINE | re.DOTALL)
_FOODS = (
    r"(?:alcohol|booze|wine|beer|liquor|pork|lard|beef|meat|seafood|shellfish|eggs?|garlic|onions?"
    r"|gelatine?|dairy|fish|shrimps?|prawns?|peanuts?)"
)
_EASY = r"(?:easy|simple|cheap|quiet|calm|happy|sure|fun|small|clear|ready|normal|fast|helpful)\b"
_NEGATIVE = re.compile(
    r"\bnothing (?:with|containing|associated with|related to|that (?:has|contains))\b"
    rf"|\b(?:no|without(?: any)?) {_FOODS}\b(?! (?:shops?|stalls?|sellers?|left|today|yet|till|until|this)\b)"
    rf"|\bnon-?alcoholic\b|\b{_FOODS}-free\b"
    r"|\bavoid(?:ing|s)? (?:any|anything|all|everything)\b"
    r"|\bmake sure (?:that )?(?:(?:there's|theres|there is|there are|it's|its|it has|they have) )?"
    r"(?:no|nothing|none)\b"
    r"|\bsteer(?:ing)? (?:well |far )?(?:clear of|away from)\b"
    r"|(?<!n't )(?<!cannot )\b(?:stay|keep|kept) (?:well |far )?(?:away from|clear of|off the)\b"
    r"|\b(?:is|are|be|'s|'re|stays?|goes) (?:completely |strictly |all )?off the (?:table|menu|list|card)\b"
    rf"|\b(?:{_FOODS}|anything [\w ]{{1,20}}) (?:is|are) out\b"
    rf"|\b(?:anything|everything|any \w+) but (?!{_EASY})"
    r"|(?<!'m )(?<!'s )(?<!\bis )(?<!\bam )(?<!\bare )(?<!\bwas )\b(?:just|only|please|preferably|ideally) not "
    r"(?:an?|on|near|at|with|any|during)\b(?! (?:all|time)\b)"
    r"|(?:\bnot|n't) (?:\w+ ){0,4}?anywhere (?:near|close to)\b(?! (?:enough|done|ready|finished|as)\b)"
    r"|\bnowhere near (?:the|a|an|my|our)\b"
    r"|\bplease (?:skip|leave out)\b|\bskip(?:ping)? (?:any|anything|everything)\b"
    r"|\b(?:doesn't|don't|won't|can't|never) touch(?:es)? (?:any|anything)\b"
)
_LACK = re.compile(
    r"(?<!must )(?<!should )(?<!to )\b"
    r"(?:got|have|has|had|sells?|sold|stocks?|found|saw|see|there (?:is|are|was|were)|there'?s)"
    r"(?: really| literally| just| also| still)?"
    r"(?: no [^,.;?]* (?:and|or))? $"
)
"""What stands before a *no* that tells what is not there and asks for nothing."""
_FORMAL = re.compile(
    r"\bi (?:need|require)(?: your| some)? (?:help|assistance) "
    r"(?:with )?(?:organi[sz]|plann|prepar|arrang)\w*"
    r"|\bi (?:require|would appreciate|am seeking|am writing to (?:ask|request|enquire|inquire))\b"
    r"|\bcould you please (?:provide|advise)\b"
)
_DELIVERABLE = re.compile(
    r"\b(?:wording|plan|schedule|budget|menu|timeline|checklist|list|messages?|script|template|seating|notice|"
    r"invit(?:e|es|ation|ations)|outfits?|venue|decor(?:ations)?|transport|logistics|etiquette|itinerary|"
    r"dress code|"
    r"costs?|steps|speech|draft|final pay|paperwork|cancellation|packing|catering)\b"
)
_ITEM = r"(?:(?!and\b|plus\b)[\w'-]+ ){0,3}(?!and\b|plus\b)[\w'-]+"
"""At most four words: longer ones are clauses of a story."""
_ENUMERATION = re.compile(rf"{_ITEM}(?:, {_ITEM})+,? (?:and|&|plus) {_ITEM}")
_SEPARATOR = re.compile(r",(?: (?:and|&|plus))? | (?:and|&|plus) ")
_SUB_QUESTION = re.compile(
    r"\b(?:what|how|when|where|who|whom|whether|which)(?: [\w']+){0,2}? "
    r"(?:to|(?:do|should|shud|can) (?:i|we))\b"
)


def _line(scenario: Scenario) -> str:
    return straighten(first_message(scenario)).casefold()


def _matching(pattern: re.Pattern[str], scenario: Scenario, says: str) -> Iterator[Finding]:
    if match := pattern.search(_line(scenario)):
        yield Finding(MESSAGE, match.group().strip(), says)


def message_length(scenario: Scenario) -> Iterator[Finding]:
    """25–50 words."""
    count = count_words(first_message(scenario))
    if not WORDS[0] <= count <= WORDS[1]:
        yield Finding(MESSAGE, first_message(scenario), f"{WORDS[0]}–{WORDS[1]} words, not {count}")


def message_opener(scenario: Scenario) -> Iterator[Finding]:
    """No greeting, and none of the worn openers *need*, *so*, *ok so*."""
    if match := _OPENER.match(_line(scenario)):
        yield Finding(MESSAGE, match.group(), "an opener other than a greeting, need, so or ok so")


def message_punctuation(scenario: Scenario) -> Iterator[Finding]:
    """No dash but the hyphen and no semicolon (also G.4, *style rules*): people do not text these."""
    if found := sorted(set(first_message(scenario)) & set("—–―;；")):
        yield Finding(MESSAGE, " ".join(found), "no em dash, en dash or semicolon")


def message_list(scenario: Scenario) -> Iterator[Finding]:
    """No numbered or bulleted list."""
    yield from _matching(_LIST, scenario, "no numbered or bulleted list")


def message_script(scenario: Scenario) -> Iterator[Finding]:
    """Latin script only (*Global English rule*)."""
    foreign = [char for char in first_message(scenario) if script_of(char) not in {None, "Latin"}]
    if foreign:
        yield Finding(MESSAGE, "".join(foreign), "Latin letters only")


def message_as_a(scenario: Scenario) -> Iterator[Finding]:
    """No *as a [identity]* framing."""
    if found := as_a_identity(_line(scenario)):
        yield Finding(MESSAGE, found, "no 'as a …' identity framing")


def message_identity(scenario: Scenario) -> Iterator[Finding]:
    """No direct statement of faith or ethnicity (*too explicit*)."""
    if found := identity_statement(_line(scenario)):
        yield Finding(MESSAGE, found, "no direct statement of identity")


def message_deliverables(scenario: Scenario) -> Iterator[Finding]:
    """No enumeration of three or more deliverables or questions: a real person has one main concern.

    Facts in a row ("mum, dad and my sister") are no brief, so two items must be things an assistant makes.
    """
    line = _line(scenario)
    for found in _ENUMERATION.findall(line):
        if sum(bool(_DELIVERABLE.search(item)) for item in _SEPARATOR.split(found)) >= 2:
            yield Finding(MESSAGE, found.strip(), "one main concern, not a list of deliverables")
    questions = [match.group() for match in _SUB_QUESTION.finditer(line)]
    if len(questions) >= 3:
        yield Finding(MESSAGE, ", ".join(questions), "one main concern, not three questions")


def message_negative(scenario: Scenario) -> Iterator[Finding]:
    """No negative constraint, which would tell what the assistant must infer (*v24b*)."""
    line = _line(scenario)
    for match in _NEGATIVE.finditer(line):
        if not (match.group().startswith(("no ", "nothing ")) and _LACK.search(line[: match.start()])):
            yield Finding(MESSAGE, match.group().strip(), "no negative constraint")
            return


def message_formal(scenario: Scenario) -> Iterator[Finding]:
    """No formal sentence, and not every phrase capitalised and closed (*no perfect punctuation*)."""
    yield from _matching(_FORMAL, scenario, "casual wording")
    text = straighten(first_message(scenario)).strip()
    parts = sentences(text)
    if len(parts) >= 2 and "..." not in text and text[-1] in ".!?" and all(part[0].isupper() for part in parts):
        yield Finding(MESSAGE, text, "casual punctuation, not every sentence capitalised and closed")


CHECKS: tuple[Check, ...] = (
    message_length,
    message_opener,
    message_punctuation,
    message_list,
    message_script,
    message_as_a,
    message_identity,
    message_deliverables,
    message_negative,
    message_formal,
)
