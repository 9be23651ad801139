"""The success conditions of the shards."""

from __future__ import annotations

import pytest

from .conftest import Findings

SUCCESS = "Interaction_Sequence[0].Transition_Guide.Success_Exit_Conditions"


@pytest.mark.parametrize(
    ("text", "faults"),
    [("User mentions the guest", 1), ("The user’s date is named", 1), ("Names the user's date", 0)],
)
def test_condition_actor(findings: Findings, text: str, faults: int) -> None:
    assert len(findings("condition_actor", {f"{SUCCESS}[0]": text})) == faults


@pytest.mark.parametrize(
    "text",
    [
        "Provides 3 options with costs AND rationales",
        "Provides 3 options with costs, timeline, and elder-friendly framing",
        "Acknowledges the Encik signal and infers a halal diet",
        "Names a dish, then explains the order",
        "Offers a date and names the temple",
        "Suggests a call and politely warns about the hour",
    ],
)
def test_compound_condition(findings: Findings, text: str) -> None:
    assert [issue.found for issue in findings("condition_atomic", {f"{SUCCESS}[1]": text})] == [text]


@pytest.mark.parametrize(
    "text",
    [
        "Acknowledges both parties' roles in the response",
        "Recommends consulting the elder family member first",
        "Avoids recommending any alcohol-related options",
        "Explains safeguards for the wok, knife, board, and utensils",
        "Suggests dishes with rice and eggs",
        "Suggests dishes with rice, eggs, and chives",
        "Suggests fruit and treats for the children",
        "Names swaps for belacan and fish",
        "Suggests a gift such as fruit, tea or biscuits",
        "Advises that the aunt and her states of mind matter",
        "Warns that the temple lists and the office differ",
    ],
)
def test_atomic_condition(findings: Findings, text: str) -> None:
    assert findings("condition_atomic", {f"{SUCCESS}[1]": text}) == []


def test_one_question_is_fine_and_the_second_is_not(findings: Findings) -> None:
    one = ["Asks about the hour", "Names a dish that the client asks for"]
    two = ["Asks about the hour", "Names a dish", "Gently asks about the seats"]
    assert findings("condition_questions", {SUCCESS: one}) == []
    assert [issue.where for issue in findings("condition_questions", {SUCCESS: two})] == [f"{SUCCESS}[2]"]
