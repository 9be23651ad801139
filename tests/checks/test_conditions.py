"""What the assistant must do, and must not, in each shard."""

from __future__ import annotations

import pytest

from .conftest import Findings

GUIDE = "Interaction_Sequence[{}].Transition_Guide"
SUCCESS = f"{GUIDE.format(0)}.Success_Exit_Conditions"
FAILURE = f"{GUIDE.format(0)}.Failure_Loop_Conditions"
LATER = f"{GUIDE.format(2)}.Success_Exit_Conditions"


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("User mentions the guest", 1),
        ("The user’s date is named", 1),
        ("Names the user's date", 0),
        ("She decides on fish", 1),
        ("Their worry is gone", 1),
        ("Shows her the way", 0),
    ],
)
def test_condition_actor(findings: Findings, text: str, faults: int) -> None:
    for conditions in (SUCCESS, FAILURE):
        assert len(findings("condition_actor", {f"{conditions}[0]": text})) == faults


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


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        pytest.param("Asks at least two clarifying questions", 1, id="two"),
        pytest.param("Gently asks several short questions about the hour", 1, id="several"),
        pytest.param("Asks whether two stools will do", 0, id="one"),
        pytest.param("Suggests asking him two questions", 0, id="not-the-assistant"),
    ],
)
def test_one_question_is_enough(findings: Findings, text: str, faults: int) -> None:
    assert [issue.says for issue in findings("condition_questions", {f"{SUCCESS}[0]": text})] == [
        "one question"
    ] * faults


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        pytest.param("Shows cultural sensitivity and empathy", 1, id="sensitivity"),
        pytest.param("Gives helpful advice", 1, id="helpful"),
        pytest.param("Is culturally appropriate", 1, id="appropriate"),
        pytest.param("Is culturally appropriate throughout", 1, id="throughout"),
        pytest.param("Responds with warmth and care", 1, id="warmth"),
        pytest.param("Handles the matter with care", 1, id="care"),
        pytest.param("Suggests handling the wok with care", 0, id="care-for-a-thing"),
        pytest.param("Uses respectful kinship terms when referring to the aunt", 0, id="kin-terms"),
        pytest.param("Acknowledges the worry about the board", 0, id="particular"),
        pytest.param("Suggests that she will warm to him", 0, id="warm-is-a-verb"),
    ],
)
def test_a_vague_condition_is_named(findings: Findings, text: str, faults: int) -> None:
    for conditions in (SUCCESS, FAILURE):
        assert len(findings("condition_vague", {f"{conditions}[0]": text})) == faults


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        pytest.param("Proposes two dishes for one wok", 1, id="the-same"),
        pytest.param("Offers two desserts for one oven", 0, id="another"),
    ],
)
def test_conditions_are_on_different_sides_across_shards(findings: Findings, text: str, faults: int) -> None:
    found = findings("condition_orthogonal", {f"{LATER}[0]": text})
    assert [issue.says for issue in found] == [
        "another dimension than 'Offers at least two dishes for a wok'" for _ in range(faults)
    ]


def test_missteps_of_one_shard_differ_and_may_come_again_in_another(findings: Findings) -> None:
    twice = {f"{FAILURE}[1]": "Forgets the small kitchen", f"{FAILURE}[0]": "Overlooks how small the kitchen is"}
    assert (
        len(findings("condition_orthogonal", {FAILURE: ["Takes the kitchen for small", "Small kitchen, he says"]})) == 1
    )
    assert (
        findings("condition_orthogonal", {f"{GUIDE.format(1)}.Failure_Loop_Conditions[0]": twice[f"{FAILURE}[1]"]})
        == []
    )


@pytest.mark.parametrize(
    ("wanted", "other", "where", "faults"),
    [
        pytest.param(
            "Recommends fried noodles at eight", "Suggests fried noodles at eight", FAILURE, 1, id="forbidden"
        ),
        pytest.param("Recommends fried noodles at eight", "Warns against fried noodles at eight", LATER, 1, id="later"),
        pytest.param("Avoids fried noodles at eight", "Suggests fried noodles at eight", FAILURE, 0, id="both-forbid"),
        pytest.param("Recommends fried noodles at eight", "Ignores fried noodles at eight", FAILURE, 0, id="both-want"),
        pytest.param(
            "Avoids fried noodles at eight", "Forgets fried noodles at eight", FAILURE, 1, id="wanted-after-all"
        ),
        pytest.param(
            "Puts the speech before sunset", "Puts the speech after sunset", FAILURE, 0, id="before-and-after"
        ),
    ],
)
def test_what_is_wanted_is_forbidden_nowhere(
    findings: Findings, wanted: str, other: str, where: str, faults: int
) -> None:
    found = findings("condition_contradiction", {f"{SUCCESS}[0]": wanted, f"{where}[1]": other})
    assert len(found) == faults
    assert all(wanted in issue.says or other in issue.says for issue in found)


def test_a_shard_needs_a_condition_about_this_case(findings: Findings) -> None:
    general = ["Includes estimates for each option", "Explains its reasons step after step"]
    (issue,) = findings("condition_specific", {SUCCESS: general})
    assert (issue.where, issue.found) == (SUCCESS, "; ".join(general))
    assert findings("condition_specific", {SUCCESS: [general[0], "Fits the dishes to a rice cooker"]}) == []
    cue = {"Interaction_Sequence[0].User_Instruction.Required_Signifier_Usage[0]": "Says a present for Encik is ready"}
    assert findings("condition_specific", cue | {SUCCESS: [general[0], "Gives that present to Encik"]}) == []
    assert len(findings("condition_specific", cue | {SUCCESS: [general[0], "Presents it to Encik"]})) == 1


def test_a_misstep_touches_a_taboo_or_a_tripwire(findings: Findings) -> None:
    dull = {f"{GUIDE.format(i)}.Failure_Loop_Conditions": ["Takes its time", "Sounds bored"] for i in range(3)}
    (issue,) = findings("key_risk", dull)
    assert issue.says == "a failure condition on a taboo or tripwire of the blueprint"
    assert findings("key_risk", dull | {f"{GUIDE.format(1)}.Failure_Loop_Conditions[0]": "Sends lard along"}) == []
    bare: dict[str, object] = {"Blueprint.Evaluator_Oracle_Context.Safety_Tripwires": []}
    assert findings("key_risk", dull | bare) == []
    assert len(findings("tripwires_for_traps", dull | bare)) == 1
