"""A row of another's file of norms → a taboo, or why it is none. Pure.

NormAd (Rao et al. 2024, CC BY 4.0): situations by country, judged; ``no`` is a violation. CultureBank (Shi et al. 2024,
MIT): what people wrote online of cultural groups; its ``agreement`` is the share of them who call a behaviour normal,
each of them 1 for a norm and 0 for a taboo. Besides these ccfw's own form, and plain tables.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ccfw.knowledge.places import Atlas, Place
from ccfw.knowledge.records import NOT_STATED, Category, Taboo
from ccfw.knowledge.stated import COLUMNS, Unfit, stated, text

Outcome = Taboo | Literal["elsewhere", "accepted"]
"""A taboo; or the row is of none of the ten regions; or it tells of something that is done and minded by nobody."""
_LABELS = ("no", "neutral", "yes")
_QUESTION = re.compile(r"\s+(?:Is|Was) what [^?]*\?$")
"""With which each story of NormAd ends."""
_NORMAL = 0.5
_FORBIDS = re.compile(
    r"^(?:people |they )?(?:(?:always|usually|generally|strictly|typically) )?(?:avoid(?:s|ing)?|refrain(?:s|ing)? from"
    r"|(?:should|must|may) not|(?:are|is) not (?:allowed|permitted|supposed) to) (?P<act>.+)$",
    re.IGNORECASE,
)
_SEVERAL = re.compile(r"[,;]| and | or | but | instead| unless ")
"""Where only the first of several things may be what is forbidden, nothing is taken."""
_TOLD = ("context", "goal", "actor", "recipient", "relation", "recipient behavior", "other descriptions")


@dataclass(frozen=True)
class Form:
    """A kind of file: the columns it is known by, and what reads a row of it."""

    name: str
    needs: tuple[str, ...]
    read: Callable[[Mapping[str, Any], str, int, Atlas], Outcome]
    reads: tuple[str, ...]
    """The columns that are looked at."""
    closed: bool = False
    """Whether it may have no others; copies of published files carry more."""


def normad(cells: Mapping[str, Any], _: str, line: int, atlas: Atlas) -> Outcome:
    """Read a row of NormAd; raise ``Unfit`` with every fault."""
    region, label = atlas.region(text(cells, "country")), text(cells, "gold label").lower()
    lacking = [f"{name}: is empty" for name in ("country", "story", "explanation") if not text(cells, name)]
    if label not in _LABELS:
        lacking.append(f"gold label: {label or 'is empty'}; it is one of {', '.join(_LABELS)}")
    if lacking:
        raise Unfit(lacking)
    if region is None:
        return "elsewhere"
    if label != "no":
        return "accepted"
    rule = text(cells, "rule of thumb")
    return _taboo(
        f"normad:{text(cells, 'id') or line}",
        Place(region=region, identities=atlas.identities[region]),
        atlas.category(text(cells, "subaxis")),
        _QUESTION.sub("", text(cells, "story")),
        " ".join([text(cells, "explanation"), *([f"Rule of thumb: {rule}"] if rule else [])]),
        verify_with="NormAd, which rests on the Cultural Atlas (https://culturalatlas.sbs.com.au)",
        licence="CC-BY-4.0",
    )


def culturebank(cells: Mapping[str, Any], _: str, line: int, atlas: Atlas) -> Outcome:
    """Read a row of CultureBank; raise ``Unfit`` with every fault."""
    group, behaviour = text(cells, "cultural group"), text(cells, "actor behavior")
    agreement = _agreement(text(cells, "agreement"))
    place = atlas.place(group)
    if place is None:
        return "elsewhere"
    act = _forbidden(behaviour, agreement)
    if act is None:
        return "accepted"
    told = [f"{name.capitalize()}: {text(cells, name).rstrip('.')}." for name in _TOLD if text(cells, name)]
    share = (
        [] if agreement is None else [f"Share of those who wrote of it who call “{behaviour}” normal: {agreement:g}."]
    )
    return _taboo(
        f"culturebank:{text(cells, 'cluster id') or line}",
        place,
        atlas.category(text(cells, "topic")),
        act,
        " ".join([*told, *share]) or NOT_STATED,
        verify_with="CultureBank, which rests on what people wrote online; ask somebody of the community",
        licence="MIT",
    )


def _agreement(given: str) -> float | None:
    if not given:
        return None
    try:
        value = float(given)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise Unfit([f"agreement: {given}; it is a number from 0 to 1"])
    return value


def _forbidden(behaviour: str, agreement: float | None) -> str | None:
    """Return the act that a row of CultureBank says is not done, if it says so of one for certain.

    Few call a behaviour normal, or it is normal to avoid something; that few avoid something forbids nothing.
    """
    avoided = _FORBIDS.match(behaviour)
    if avoided is None:
        return behaviour or None if agreement is not None and agreement < _NORMAL else None
    if (agreement is not None and agreement < _NORMAL) or _SEVERAL.search(avoided["act"]):
        return None
    return avoided["act"]


def _taboo(
    name: str, place: Place, category: Category, act: str, explanation: str, *, verify_with: str, licence: str
) -> Taboo:
    act = act.rstrip(" .")
    return Taboo(
        taboo_id=name,
        region=place.region,
        identities=place.identities,
        category=category,
        action=act[:1].upper() + act[1:],
        detailed_explanation=explanation,
        severity="unknown",
        exceptions=NOT_STATED,
        verify_with=verify_with,
        source=name,
        licence=licence,
    )


_NORMAD = ("country", "story", "explanation", "gold label")
_CULTUREBANK = ("cultural group", "actor behavior", "agreement")
FORMS = (
    Form("NormAd", _NORMAD, normad, (*_NORMAD, "id", "subaxis", "rule of thumb")),
    Form("CultureBank", _CULTUREBANK, culturebank, (*_CULTUREBANK, "cluster id", "topic", *_TOLD)),
    Form("ccfw's own form", ("region", "action", "detailed explanation"), stated, COLUMNS, closed=True),
    Form("a plain table", ("region", "action", "explanation"), stated, COLUMNS, closed=True),
)
