"""What the user tells from shard to shard: a little at first, something new each time, nothing twice."""

from __future__ import annotations

from typing import Any

import pytest

from tests.checks.conftest import GOOD, Findings

SHARDS = "Interaction_Sequence"
CUES = "User_Instruction.Required_Signifier_Usage"
GUIDANCE = "User_Instruction.Prompt_Guidance"
DUMP = [
    "Says her sister brings rambutans, paper lanterns and a borrowed folding table from Woodlands",
    "Says the neighbours upstairs complain about noise whenever trains stop running past midnight",
    "Says cousins lent sixty dollars, an oven glove and two blue umbrellas last Thursday",
    "Says the lift breaks on rainy evenings and the caretaker naps beside the letterboxes",
]


def test_most_facts_in_the_first_shard_are_a_dump(findings: Findings) -> None:
    (issue,) = findings("first_disclosure", {f"{SHARDS}[0].{CUES}": DUMP})
    assert issue.where == "Interaction_Sequence[0].User_Instruction"
    assert issue.says == "at most 50% in the first shard"


def test_many_cues_at_first_are_fine_when_the_others_tell_as_much(findings: Findings) -> None:
    moved = {f"{SHARDS}[0].{CUES}": DUMP[:2], f"{SHARDS}[1].{CUES}": DUMP[2:]}
    assert findings("first_disclosure", moved) == []


def test_a_later_shard_with_nothing_new_is_named(findings: Findings) -> None:
    first = GOOD["Interaction_Sequence"][0]["User_Instruction"]
    again = {f"{SHARDS}[2].{CUES}": first["Required_Signifier_Usage"], f"{SHARDS}[2].{GUIDANCE}": "Ask once more."}
    goal = {f"{SHARDS}[2].User_Instruction.Current_Surface_Goal": "Ask for tips on what to cook"}
    (issue,) = findings("later_disclosure", again | goal)
    assert (issue.where, issue.found) == ("Interaction_Sequence[2].User_Instruction", "nothing new")
    filler = {f"{SHARDS}[2].{GUIDANCE}": "Recall it all another time; mention that again briefly; ask as before."}
    assert len(findings("later_disclosure", again | filler | goal)) == 1
    told = {f"{SHARDS}[2].{GUIDANCE}": "Tell again that cousins bring rambutans and lanterns."}
    assert findings("later_disclosure", again | told | goal) == []
    assert findings("later_disclosure", {}) == []


@pytest.mark.parametrize(
    ("check", "path", "repeated", "fine"),
    [
        pytest.param(
            "signifier_repeats",
            f"{SHARDS}[2].{CUES}[1]",
            "Casually mentions a hometown",
            "Says the hometown has no airport and two markets",
            id="cue",
        ),
        pytest.param(
            "signifier_repeats", f"{SHARDS}[0].{CUES}[1]", "Mentions his hometown", "Says Encik rang", id="same-shard"
        ),
        pytest.param(
            "goal_repeats",
            f"{SHARDS}[2].User_Instruction.Current_Surface_Goal",
            "Request advice on what to cook for tomorrow",
            "Request advice on when to cook",
            id="goal",
        ),
        pytest.param("goal_repeats", f"{SHARDS}[1].Phase_Label", "phase 1", "Phase 11", id="label"),
        pytest.param(
            "directive_repeats",
            f"{SHARDS}[1].User_Instruction.Linguistic_Directive.Global_English",
            "short and  casual; one question.",
            "Short and casual; no question.",
            id="directive",
        ),
        pytest.param(
            "directive_repeats",
            f"{SHARDS}[1].User_Instruction.Linguistic_Directive.Native_Language",
            "简短口语，一次只问一个问题",
            "简短口语，一次只问两个问题",
            id="native-directive",
        ),
    ],
)
def test_what_was_there_before_is_named(findings: Findings, check: str, path: str, repeated: str, fine: str) -> None:
    assert [issue.found for issue in findings(check, {path: repeated})] == [repeated]
    assert findings(check, {path: fine}) == []


def test_what_differs_by_before_and_after_is_not_the_same(findings: Findings) -> None:
    changes: dict[str, Any] = {
        f"{SHARDS}[0].{CUES}[0]": "Says the oven is lit before sunset",
        f"{SHARDS}[1].{CUES}[0]": "Says the oven is lit after sunset",
    }
    assert findings("signifier_repeats", changes) == []
