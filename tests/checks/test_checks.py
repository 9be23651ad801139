"""The public face: a good scenario has no issue, and an issue tells where, what and why."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from ccfw.checks import CHECKS, Issue, check_scenario
from ccfw.records import Scenario

from .conftest import altered

MESSAGE = "Blueprint.Public_Context.Initial_User_Message.Global_English"


def test_good_scenario_has_no_issue(good: Scenario) -> None:
    assert check_scenario(good) == ()


def test_issue_names_check_field_text_and_rule() -> None:
    [issue] = check_scenario(altered({"Blueprint.Evaluator_Oracle_Context.Safety_Tripwires[0]": "Never lie"}))
    assert issue == Issue(
        "tripwire_wording",
        "Blueprint.Evaluator_Oracle_Context.Safety_Tripwires[0]",
        "Never lie",
        "a harmful act in the third person, as 'Recommends bribery'",
    )


def test_checks_have_names_of_their_own_and_a_source() -> None:
    names = [check.__name__ for check in CHECKS]
    assert len(set(names)) == len(names)
    assert all(check.__doc__ for check in CHECKS)


def test_same_scenario_same_issues_in_pipeline_order() -> None:
    bad = altered({MESSAGE: "so; hi", "Interaction_Sequence[0].User_Instruction.Current_Surface_Goal": "Cook"})
    checks = [issue.check for issue in check_scenario(bad)]
    assert checks == [
        "message_length",
        "message_opener",
        "message_punctuation",
        "surface_goal",
        "second_region",
    ]
    assert check_scenario(bad) == check_scenario(bad)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        pytest.param("Blueprint.Multi_Hop_Chain", ["one", "two"], id="two hops"),
        pytest.param("Blueprint.Multi_Hop_Chain", list("abcdef"), id="six hops"),
        pytest.param("Blueprint.Evaluator_Oracle_Context.Cultural_Taboos", [], id="no taboo"),
        pytest.param(
            "Interaction_Sequence[0].Transition_Guide.Success_Exit_Conditions",
            ["Names a dish"],
            id="one success",
        ),
        pytest.param(
            "Interaction_Sequence[0].Transition_Guide.Failure_Loop_Conditions",
            list("abcde"),
            id="five failures",
        ),
        pytest.param("Blueprint.Public_Context.Initial_User_Message.Native_Language", " ", id="no native message"),
    ],
)
def test_records_refuse_wrong_counts_so_that_no_check_must(path: str, value: object) -> None:
    with pytest.raises(ValidationError):
        altered({path: value})
