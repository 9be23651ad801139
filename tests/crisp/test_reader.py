"""The page of situations: everything that is stored stands on it, and nothing of it can be more than text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from ccfw.crisp.reading import read_situations, shipped_folder
from ccfw.crisp.records import (
    Answer,
    Decision,
    Draft,
    InferredNorm,
    Loss,
    Reason,
    Reasons,
    RefineRecord,
    ResponseRecord,
    ResponseScore,
    Round,
    Scale,
    Situation,
    Triplet,
    Verdict,
)
from ccfw.records import Failure, FailureKind
from ccfw.report.situations import Answered, Told, render
from tests.crisp.situated import Situated
from tests.crisp.test_stages import STARTER, out
from tests.e2e.running import ccfw, scripted
from tests.fakes.provider import FakeProvider

EVIL = "</script></style><script>alert(1)</script><img src=x onerror=alert(2)>\"'><a href='javascript:0'>\u202e\x1b[2J"


class Reader(HTMLParser):
    """What a browser makes of a page: its elements with their attributes, and its text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.said: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.said.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.said).split())


def told(text: str, situation: Situation | None = None) -> Told:
    """A situation of which every text of a model holds another."""
    found = situation or read_situations(shipped_folder())[0]
    draft = Draft(scenario=f"scene {text}", question=f"question {text}", hidden_expected_answer=f"hidden {text}")
    norm = found.norm.model_copy(update={"norm": f"norm {text}", "culture": f"culture {text}"})
    found = found.model_copy(update={"draft": draft, "norm": norm, "situation_id": f"id {text}"})
    made = Round(
        version=1,
        run=2,
        draft=draft.model_copy(update={"question": f"older {text}"}),
        answer=Answer(
            action=f"action {text}",
            reason=f"reason {text}",
            inferred_norms=(InferredNorm(norm=f"inferred {text}", evidence=f"cue {text}"),),
        ),
        verdict=Verdict(A=1, E=0, N=1, R=1, L=0),
        reasons=Reasons(**{name: f"why {name} {text}" for name in "AENRL"}),
        leaks=(f"leak {text}",),
        decision=Decision.RERUN_ANSWER,
        guidance=f"guidance {text}",
    )
    way = RefineRecord(
        situation_id=found.situation_id,
        situation=None,
        norm_id="n",
        culture="c",
        rounds=(made,),
        loss=Loss(reason=Reason.RERUNS_SPENT, detail=f"loss {text}"),
        failure=None,
        attempt=0,
    )
    shared = {"response_id": "r", "situation_id": found.situation_id, "norm_id": "n", "policy": "p"}
    response = ResponseRecord(
        **shared, culture="c", number=1, answer=f"answer {text}", reasoning=f"reasoning {text}", failure=None
    )
    mute = response.model_copy(
        update={"answer": "", "failure": Failure(kind=FailureKind.UNPARSED, detail=f"mute {text}"), "number": 2}
    )
    score = ResponseScore(
        **shared,
        score_id="s",
        judge=f"judge {text}",
        scale=Scale.OUTCOME,
        score=4,
        failure=None,
        evidence=f"evidence {text}",
        reason=f"remark {text}",
    )
    triplet = Triplet(appropriate=f"right {text}", generic=f"vague {text}", opposite=f"wrong {text}")
    answers = (Answered(f"policy {text}", response, (score,)), Answered("other", mute, ()))
    return Told(found, way, answers, triplet)


SHOWN = (
    *("id", "culture", "norm", "scene", "question", "older", "hidden", "action", "reason", "inferred", "leak"),
    *(f"why {name}" for name in "AENRL"),
    *("guidance", "loss", "answer", "reasoning", "mute", "judge", "remark", "policy", "right", "vague", "wrong"),
)


@pytest.mark.parametrize("what", SHOWN)
def test_everything_that_is_stored_stands_on_the_page(what: str) -> None:
    assert f"{what} plain" in Reader(render("Situations", [], [told("plain")], 1)).text


def test_no_text_becomes_an_element_or_a_control_character() -> None:
    page = render(EVIL, [(EVIL, EVIL)], [told(EVIL)], 1)
    harmless = render("x", [("x", "x")], [told("x")], 1)
    assert [tag for tag, _ in Reader(page).elements] == [tag for tag, _ in Reader(harmless).elements]
    assert {name for _, attributes in Reader(page).elements for name in attributes if name.startswith("on")} == set()
    assert "\u202e" not in page
    assert "\x1b" not in page
    assert "⟨U+202E⟩" in page


def test_the_page_lets_its_own_script_run_and_fetches_nothing() -> None:
    page = Reader(render("x", [], [told("x")], 1))
    (policy,) = (a["content"] for tag, a in page.elements if tag == "meta" and "http-equiv" in a)
    assert policy is not None
    assert "default-src 'none'" in policy
    assert "connect-src 'none'" in policy
    assert re.search(r"script-src 'sha256-[\w+/=]+'", policy)
    assert not [a for _, a in page.elements if str(a.get("src") or a.get("href") or "data:").split(":")[0] != "data"]


def test_it_says_how_many_it_leaves_out() -> None:
    assert "The first 1 of 9 situations" in Reader(render("x", [], [told("x")], 9)).text


# ---- through the door


@pytest.fixture(scope="module")
def provider() -> Iterator[FakeProvider]:
    with FakeProvider(Situated()) as provider:
        yield provider


def test_the_stages_write_it_with_answers_and_judges_remarks(tmp_path: Path, provider: FakeProvider) -> None:
    line = [each for each in scripted(provider) if not each.startswith("report.page")]
    more = ("limit=6", "crisp.responses.k=2", "report.episodes=8", "stage.runs=[responses,preferences]")
    done = ccfw(tmp_path, *line, *STARTER, *more, provider=provider)
    assert done.code == 0, done.err
    for stage in ("responses", "preferences"):
        page = Reader((out(done, stage) / "situations.html").read_text("utf-8"))
        shown = [a["id"] for tag, a in page.elements if tag == "details" and a.get("class") == "situation"]
        assert len(shown) == 2  # with two answers each; a third would be more than eight texts
        assert "The first 2 of 6 situations" in page.text
        assert "Follow mark" in page.text
        assert "scripted on outcome so · evidence: follow" in page.text
    triplet = next(each.triplet for each in read_situations(shipped_folder()) if each.situation_id == shown[0])
    assert triplet is not None
    assert " ".join(triplet.opposite.split()) in page.text
