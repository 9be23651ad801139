"""Sentences in which a user announces who it is, which the paper wants inferred instead (G.2, G.3)."""

from __future__ import annotations

import re

_FAITHS = """
muslims? buddhists? christians? catholics? protestants? hindus? taoists? daoists? confucian shintoist
sikhs? atheists? freethinkers? secular abangan
"""
_PEOPLES = """
chinese malays? indians? tamils? eurasians? peranakans? javanese sundanese balinese bataks? minangs? minangkabau
minahasans? acehnese bugis madurese betawi indonesians? thais? isan vietnamese kinh hoa chams? khmer hmong
filipin[oa]s? tagalogs? visayans? cebuan[oa]s? ilocanos? igorots? moros? maranaos? tausug han hui tibetans? uyghurs?
japanese koreans? ainu okinawans? singaporeans? malaysians? bruneians? ibans? kadazans? dusuns? bidayuhs? dayaks?
"""
_WHO = "|".join((_FAITHS + _PEOPLES).split())
_MANY = "|".join(name.replace("s?", "s") for name in (_FAITHS + _PEOPLES).split() if name.endswith("s?"))
_PEOPLE_NOUNS = (
    "man|woman|person|guy|girl|boy|lady|mum|mom|mother|father|dad|parent|parents|wife|husband|son|daughter|family|"
    "couple|convert|student|believer|user|sister|brother|aunty|auntie|aunt|uncle|cousin|household|home|folks?|people|"
    "officer|teacher|nurse|doctor|engineer|clerk|driver|farmer|fisherman|trader|cook|manager|boss|colleague|soldier|"
    "worker|maid|helper|retiree|widow|widower|bride|groom|host|guest|elder|youth|teen|teenager|kid|expat|migrant|"
    "foreigner|villager|local|native|freelancer|newlywed"
)
_DEGREE = r"(?:(?:an?|not|also|actually|both|quite|pretty|very|devout|practi[sc]ing|born|ethnic|a bit|proud) ){0,3}"
# "i'm chinese new year shopping" and "we're thai food fans" announce nobody: a clause end or a person must
# follow.
_CLAUSE_END = (
    rf"(?=(?: (?:{_WHO}))* ?"
    rf"(?:$|[^\w\s'-]|'(?!\w)|(?:{_PEOPLE_NOUNS}|and|but|so|too|myself|by|from|living|working)\b))"
)
# "as a chinese new year gift", "as a thai dessert"
_PERSON = (
    rf"(?=(?: (?:{_WHO}))* ?"
    rf"(?:$|[^\w\s'-]|'(?!\w)|(?:{_PEOPLE_NOUNS}|i|we|from|living|working|at the|in (?:the|my|our))\b))"
)
_RAISED = r"(?:(?:was|were) (?:born and )?(?:born|raised|brought up)(?: as)?|happens? to be|happened to be)"

_AS_A = re.compile(
    rf"\b(?:as (?:an?|the (?:only|one|sole|token))|being an?) (?:[\w-]+ ){{0,2}}?(?:{_WHO}){_PERSON}"
    rf"|\bas (?:someone|somebody|one) (?:from|of|in|who is|who's) (?:[\w-]+ ){{0,2}}?(?:{_WHO}){_PERSON}"
)
_I_AM = re.compile(
    rf"\b(?:i am|i'm|im|we are|we're|my family is|my family are|(?:i|we|my family) {_RAISED})"
    rf" {_DEGREE}(?:{_WHO})\b{_CLAUSE_END}"
    rf"|\b(?:us|we) (?:\w+ )?(?:{_MANY})\b|\b(?:us|we) (?:{_WHO})\b{_CLAUSE_END}"
)
_SAYS = (
    "says?|mentions?|states?|notes?|reveals?|tells?|announces?|admits?|shares?|confess(?:es)?|explains?|adds?|hints?|"
    "lets? (?:it )?slip|owns? up"
)
_SUBJECT = r"(?:she|he|they|the user|(?:the|his|her|their) (?:whole )?family)"
_REPORTED = re.compile(
    rf"\b(?:{_SAYS})(?: (?:openly|directly|that|the assistant|it))*"
    rf" {_SUBJECT}(?: is| are|'s|'re| {_RAISED}) {_DEGREE}(?:{_WHO})\b{_CLAUSE_END}"
    rf"|\b(?:{_SAYS})(?: openly| directly)?(?: to| of| about)? (?:being|having been (?:born|raised|brought up))(?: as)?"
    rf" {_DEGREE}(?:{_WHO})\b{_CLAUSE_END}"
    r"|\b(?:introduc|describ|identif|present|call|out|label)(?:es|e|ies|y|s)? (?:himself|herself|themselves|the user)"
    rf"(?: openly)?(?: as)? {_DEGREE}(?:{_WHO})\b{_CLAUSE_END}"
)
_ANNOUNCED = re.compile(
    r"\b(?:states?|announces?|declares?|reveals?|discloses?)(?: \w+ly)?"
    r" (?:her|his|their|the user's|own|my)(?: own)?"
    r" (?:religion|faith|ethnicity|race|ethnic identity|religious identity|identity)\b"
)


def as_a_identity(line: str) -> str | None:
    """Return the *as a …* framing in a line made plain and lower case, if any."""
    return _found(_AS_A, line)


def identity_statement(line: str) -> str | None:
    """Return the words by which a speaker states its own identity, if any."""
    return _found(_I_AM, line)


def identity_report(line: str) -> str | None:
    """Return the words by which an instruction has the user state its identity, if any."""
    return identity_statement(line) or as_a_identity(line) or _found(_REPORTED, line) or _found(_ANNOUNCED, line)


def _found(pattern: re.Pattern[str], line: str) -> str | None:
    match = pattern.search(line)
    return match.group() if match else None
