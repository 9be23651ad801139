"""Situations as a page to read: the way of each through refinement, its answers, and why they scored so. Pure.

Every text is a model's or a file's, and untrusted: the template escapes all of it, and the page lets only its own
script run and fetches nothing (``ccfw.report.page``). Without the script it can be read whole; the script only filters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ccfw.crisp.records import RefineRecord, ResponseRecord, ResponseScore, Situation, Triplet
from ccfw.report.page import asset, content_policy, template

_MEANS = {
    "A": "action appropriate",
    "E": "cues support it",
    "N": "norm found",
    "R": "reasoning supports it",
    "L": "norm given away",
}
"""The five values of a verdict (Table 10) in few words."""


class Answered(NamedTuple):
    """One answer with every judge's scores of it."""

    policy: str
    """As tables call it."""
    response: ResponseRecord
    scores: tuple[ResponseScore, ...]


class Told(NamedTuple):
    """A situation with all that is stored about it."""

    situation: Situation
    way: RefineRecord | None
    """Through refinement; ``None`` where it was not refined here."""
    answers: tuple[Answered, ...]
    triplet: Triplet | None

    @property
    def state(self) -> str:
        """What became of it, in a word or two."""
        if self.way is None:
            return self.situation.split
        return f"lost: {self.way.loss.reason}" if self.way.loss else f"kept, {self.situation.split}"

    @property
    def found(self) -> str:
        """What a search looks through, in lower case."""
        norm, draft = self.situation.norm, self.situation.draft
        parts = (self.situation.situation_id, norm.culture, norm.norm, draft.scenario, draft.question, self.state)
        return " ".join(parts).casefold()


def render(title: str, facts: Sequence[tuple[str, str]], situations: Sequence[Told], total: int) -> str:
    """Return the page; ``total`` is how many situations there are, of which these may be the first."""
    style, script = asset("page.css") + asset("situations.css"), asset("situations.js")
    page: str = template("situations.html.j2").render(
        title=title,
        facts=facts,
        situations=situations,
        total=total,
        means=_MEANS,
        cultures=sorted({each.situation.norm.culture for each in situations}),
        policy=content_policy(style, script, served=False),
        style=style,
        script=script,
    )
    return page
