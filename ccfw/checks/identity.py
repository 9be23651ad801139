"""Sentences in which a user announces who it is, which the paper wants inferred instead (G.2, G.3)."""

from __future__ import annotations

import re

_FAITHS = """
muslims? buddhists? christians? catholics? protestants? hindus? taoists? daoists? confucian shintoist
sikhs? atheists? freethinkers? secular
"""
_PEOPLES = """
chinese malays? indian tamil eurasian peranakan javanese sundanese balinese batak minangkabau acehnese bugis
indonesian thai vietnamese kinh cham khmer hmong filipin[oa] tagalog visayan cebuano ilocano moro maranao
tausug han hui tibetan uyghur japanese korean ainu okinawan singaporean malaysian bruneian iban kadazan dusun
"""
_WHO = "|".join((_FAITHS + _PEOPLES).split())
_PEOPLE_NOUNS = (
    "man|woman|person|guy|girl|boy|lady|mum|mom|mother|father|dad|parent|parents|wife|husband|son|daughter|family|"
    "couple|convert|student|believer|user"
)
_DEGREE = r"(?:(?:an?|not|also|actually|both|quite|pretty|very|devout|practi[sc]ing|born|ethnic|a bit) ){0,3}"
# "i'm chinese new year shopping" and "we're thai food fans" announce nobody: a clause end or a person must
# follow.
_CLAUSE_END = (
    rf"(?=(?: (?:{_WHO}))* ?"
    rf"(?:$|[^\w\s'-]|'(?!\w)|(?:{_PEOPLE_NOUNS}|and|but|so|too|myself|by|from|living|working)\b))"
)

_AS_A = re.compile(
    rf"\bas an? (?:[\w-]+ ){{0,2}}?(?:{_WHO})"
    rf"(?=(?: (?:{_WHO}))* ?(?:$|[^\w\s'-]|'(?!\w)|(?:{_PEOPLE_NOUNS}|i|we)\b))"
)
_I_AM = re.compile(rf"\b(?:i am|i'm|im|we are|we're|my family is|my family are) {_DEGREE}(?:{_WHO})\b{_CLAUSE_END}")
_REPORTED = re.compile(
    r"\b(?:says?|mentions?|states?|notes?|reveals?|tells?|announces?|admits?|shares?)"
    r"(?: (?:openly|directly|that))*"
    rf" (?:she|he|they|the user)(?: is| are|'s|'re) {_DEGREE}(?:{_WHO})\b{_CLAUSE_END}"
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
