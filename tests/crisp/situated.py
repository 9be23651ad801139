"""A provider that plays every role of paper 2's stages, and errs where it is told to.

What it does follows from the norm that a request shows, by the norm's place in a list; the roles that do not see the
norm find that number in the scenario ("locker 17"). So no order of calls matters, and a scripted mistake is made each
time that its request is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ccfw.crisp.routing import TABLE
from tests.fakes.faults import SERVER_ERROR, Fault
from tests.fakes.wire import FakeRequest

KEYS = (
    "action_correctness",
    "norm_evidence_support",
    "inferred_norm_match",
    "reason_supports_action",
    "norm_leakage",
)
GOOD = (1, 1, 1, 1, 0)
ROUTES = tuple(TABLE)
"""Verdicts of the first rounds, by the norm's number."""
AFTER = len(ROUTES)
ALWAYS_WRONG, ALWAYS_THIN, MUTE_REASONER, MUTE_VERIFIER, TELLTALE_ADVISOR, MUTE_PLANNER, IDLE_REVISER = range(
    AFTER, AFTER + 7
)
BROKEN_REASONER, FLAT_CHRONOTOPE, BLURTING_SCENARIO, BLURTING_REVISION = range(AFTER + 7, AFTER + 11)
SITUATIONS = AFTER + 11
"""Norms that the scripts above need."""

_LOCKER = re.compile(r"locker (\d+), page (\d+)")
_ANSWER = re.compile(r"mark (\d)")
_PLACES = ("bakery", "ferry terminal", "seed shop", "chess club")
_TIMES = ("before sunrise in autumn", "halfway through a lunch break", "late on a rainy Sunday", "during stocktaking")
_PEOPLE = (
    "two retired carpenters",
    "a trainee with her instructor",
    "neighbours across a yard",
    "a buyer and a porter",
)
_DOINGS = ("returning a borrowed ladder", "signing for a parcel", "sharing out apples", "waiting for repairs")
_TENSIONS = ("hurrying ahead", "laughing it off", "paying twice", "keeping silent")


def body(number: int, page: int) -> str:
    """A scene of some eighty words in which nothing of any norm is said."""
    return (
        f"Under a tin roof stands locker {number}, page {page} of a torn calendar on its door. Marit Oduya leans a "
        "wet umbrella against it, counts the hooks, and listens to a kettle that somebody forgot. Yesterday an engine "
        "coughed outside; today only gulls. On the bench lie a ruler, four buttons and half an envelope. Her cousin "
        "wrote that the lift works again after Wednesday, although the janitor shook his head. A green lamp blinks "
        "twice, the latch clicks, and somebody behind the frosted pane seems about to enter. She has perhaps a minute."
    )


def other_body(number: int, place: int) -> str:
    """Another such scene, with words of its own for each place of a chronotope."""
    own = [f"{_PLACES[place].split()[-1]}{word}" for word in _FILLERS.split()]
    return f"Beside locker {number}, page 1, Marit listens: {' '.join(own)}."


_FILLERS = " ".join(a + b for a in "bdfgklmnpr" for b in ("ara", "eno", "ilu", "oma", "uti", "ady", "esk"))


def flags(marks: Sequence[int]) -> dict[str, Any]:
    """A verifier's reply."""
    return {key: {"reason": f"mark {mark}", "score": mark} for key, mark in zip(KEYS, marks, strict=True)}


@dataclass
class Situated:
    """All roles; ``norms`` are the texts of the norms by number."""

    norms: Sequence[str] = ()
    canaries: bool = False
    """Whether hidden texts of the generator's carry a canary."""
    seen: set[str] = field(default_factory=set)

    def __call__(self, request: FakeRequest) -> Fault | str:
        name = (request.schema_name or "assistant").removeprefix("crisp_")
        if name.startswith("norm_") and name != "norm_match":
            return self._norm(request)
        made: Fault | str = getattr(self, f"_{name}")("\n".join(request.said("user")), request)
        return made

    def _number(self, text: str) -> int:
        line = re.search(r"^(?:The rule|Target norm|Target norm, for your eyes): (.*)$", text, re.MULTILINE)
        if line and (norm := json.loads(line[1])) in self.norms:
            return self.norms.index(norm)
        place = _LOCKER.search(text)
        asked = re.search(r"^Question: (.*)$", text, re.MULTILINE)
        return int(place[1]) if place else sum(asked[1].encode()) if asked else 0

    @staticmethod
    def _page(text: str) -> int:
        return int(match[2]) if (match := _LOCKER.search(text)) else 1

    def _norm(self, request: FakeRequest) -> str:
        text = "\n".join(request.said("user"))
        question, answer = (
            json.loads(re.search(rf"^{key}: (.*)$", text, re.MULTILINE)[1])  # type: ignore[index]
            for key in ("Question", "Correct answer")
        )
        asked = re.sub(r"[^\w\s]+", " ", question).split()[:30]
        avoided = "avoided" if "This question asks for what is" in request.said("system")[0] else "usual"
        norm = f"{re.sub(r'[.?!]+', ' ', answer)} is {avoided}, as asked: {' '.join(asked)}"
        return json.dumps({"norm": " ".join(norm.split()[:58]), "norm_type": "dining_etiquette"})

    def _chronotope(self, text: str, request: FakeRequest) -> str:
        number, accepted = self._number(text), len(re.findall(r"^\d+\. \{", text, re.MULTILINE))
        place = 0 if number == FLAT_CHRONOTOPE else accepted % 4
        made: dict[str, Any] = {
            "time": _TIMES[place],
            "place": f"a {_PLACES[place]}",
            "social_space": f"the {_PLACES[place]} counter",
            "occasion": _DOINGS[place],
            "relationship_context": _PEOPLE[place],
            "privacy_or_formality_level": "half public",
            "norm_activation_condition": self._canary("condition") or "a detail on the wall",
            "potential_tension": _TENSIONS[place],
            "difference_from_previous": "another hour, another errand",
        }
        if number == FLAT_CHRONOTOPE and not accepted:
            made["time"] = self.norms[number]  # it gives the norm away
        if accepted:
            made["differs_in"] = ["temporal_regime", "occasion_or_activity"]
        return json.dumps(made)

    def _scenario(self, text: str, request: FakeRequest) -> str:
        number = self._number(text)
        place = next((index for index, name in enumerate(_PLACES) if f"a {name}" in text), 0)
        scene = other_body(number, place) if place else body(number, 1)
        if number == BLURTING_SCENARIO:
            scene += f" {self.norms[number]}"
        return self._draft(scene)

    def _draft(self, scene: str) -> str:
        hidden = f"Marit hangs the key on hook five. {self._canary('hidden') or ''}".strip()
        question = "What could Marit do once the latch clicks?"
        return json.dumps({"scenario": scene, "question": question, "hidden_expected_answer": hidden})

    def _canary(self, name: str) -> str | None:
        return f"zq{name}qz" if self.canaries else None

    def _answer(self, text: str, request: FakeRequest) -> Fault | str:
        number = self._number(text)
        if number == BROKEN_REASONER:
            return SERVER_ERROR
        if number == MUTE_REASONER:
            return "She waits."
        again = "on second thought, " if "Mind this" in text else ""
        norms = [{"norm": "keys hang in the open", "evidence": "the counted hooks"}]
        return json.dumps({"action": f"{again}hang it up", "reason": "so that it is found", "inferred_norms": norms})

    def _verdict(self, text: str, request: FakeRequest) -> str:
        number = self._number(text)
        if number == MUTE_VERIFIER:
            return json.dumps({key: {"reason": "well", "score": 2} for key in KEYS})
        later = self._page(text) > 1 or "on second thought" in text
        marks = GOOD
        if number == ALWAYS_WRONG or (number in (MUTE_PLANNER, IDLE_REVISER, BLURTING_REVISION) and not later):
            marks = (0, 1, 1, 1, 0)
        elif number == ALWAYS_THIN or (number == TELLTALE_ADVISOR and not later):
            marks = (1, 0, 1, 1, 0)
        elif number < len(ROUTES) and self.norms and not later:
            marks = ROUTES[number]
        return json.dumps(flags(marks))

    def _advice(self, text: str, request: FakeRequest) -> str:
        guidance = "Look again at what lies on the bench."
        if self._number(text) == TELLTALE_ADVISOR:
            guidance = f"Say that {self.norms[TELLTALE_ADVISOR]}"
        return json.dumps({"diagnosis": "too thin", "answer_guidance": guidance})

    def _plan(self, text: str, request: FakeRequest) -> str:
        if self._number(text) == MUTE_PLANNER:
            return json.dumps({"diagnosis": "wrong"})
        return json.dumps({"diagnosis": "wrong", "revision_goal": "clearer", "revision_guidance": "turn the page"})

    def _revision(self, text: str, request: FakeRequest) -> str:
        number, page = self._number(text), self._page(text)
        if number == IDLE_REVISER:
            return self._draft(body(number, page))
        scene = body(number, page + 1)
        if number == BLURTING_REVISION and page == 1:
            scene += f" {self.norms[number]}"
        return self._draft(scene)

    def _response(self, text: str, request: FakeRequest) -> str:
        """Give marks 1 to 5 in turn by place and take, and now and then what is no answer."""
        turn = self._number(text) + 3 * int(request.body.get("seed", 0)) + len(request.model)
        if turn % 7 == 6:
            return "Just wait."
        filler = " and then one more word" * (turn % 3)
        return json.dumps({"answer": f"Follow mark {1 + turn % 5}{filler}.", "reasoning": f"It says mark {turn % 3}."})

    def _outcome(self, text: str, request: FakeRequest) -> str:
        mark = int(_ANSWER.findall(text)[-1])
        wrong = self._number(text) % 11 == 10
        return json.dumps({"evidence": "follow", "reason": "so", "score": 9 if wrong else mark})

    def _norm_match(self, text: str, request: FakeRequest) -> str:
        return json.dumps({"evidence": "it says", "reason": "so", "score": int(_ANSWER.findall(text)[0])})

    def _triplet(self, text: str, request: FakeRequest) -> str:
        number = self._number(text)
        words = ["left", "right", "nowhere"] if number % 9 != 4 else ["left", "a generic answer", "nowhere"]
        texts = [f"Marit can take the umbrella, count to ten and turn {word} at the gate." for word in words]
        return json.dumps(dict(zip(("appropriate", "generic", "opposite"), texts, strict=True)))

    def _rewrite(self, text: str, request: FakeRequest) -> str:
        given = json.loads(re.search(r"^The advice: (.*)$", text, re.MULTILINE)[1])  # type: ignore[index]
        return json.dumps({"generic": given.replace("Follow", "Consider"), "opposite": given.replace("Follow", "Skip")})
