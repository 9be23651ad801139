"""The texts of a scenario with their paths, grouped by who may read them (paper Table 1)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import NamedTuple

from ccfw.records import EvaluatorOracleContext, Scenario, Shard

GOAL = "Blueprint.Public_Context.User_Goal"
MESSAGE = "Blueprint.Public_Context.Initial_User_Message.Global_English"
NATIVE_MESSAGE = "Blueprint.Public_Context.Initial_User_Message.Native_Language"
INSTANTIATION = "Blueprint.Scenario_Instantiation"
PRIVATE = "Blueprint.User_Private_Context"
ORACLE = "Blueprint.Evaluator_Oracle_Context"


class Field(NamedTuple):
    """One text and where it stands."""

    where: str
    text: str


def numbered(where: str, texts: Iterable[str]) -> list[Field]:
    """Return the items of a list field."""
    return [Field(f"{where}[{index}]", text) for index, text in enumerate(texts)]


def first_message(scenario: Scenario) -> str:
    """Return the first message in English."""
    return scenario.blueprint.public_context.initial_user_message.global_english


def public(scenario: Scenario) -> list[Field]:
    """Return what the assistant under test may be shown."""
    return [
        Field(GOAL, scenario.blueprint.public_context.user_goal),
        Field(MESSAGE, first_message(scenario)),
    ]


def private(scenario: Scenario) -> list[Field]:
    """Return what the user knows of itself."""
    context = scenario.blueprint.user_private_context
    return [
        *numbered(f"{PRIVATE}.Cultural_Signifiers", context.cultural_signifiers),
        Field(f"{PRIVATE}.Background", context.background),
    ]


def summary(scenario: Scenario) -> Field:
    """Return the summary in English, by which the user knows its situation."""
    made = scenario.blueprint.scenario_instantiation
    return Field(f"{INSTANTIATION}.Instantiated_Summary.Global_English", made.instantiated_summary.global_english)


def speech(scenario: Scenario) -> Field:
    """Return how the user writes in English."""
    told = scenario.blueprint.linguistic_instruction
    return Field("Blueprint.Linguistic_Instruction.Global_English", told.global_english)


def shard_path(shard: Shard, rest: str) -> str:
    """Return the path of a field of a shard."""
    return f"Interaction_Sequence[{shard.shard_id - 1}].{rest}"


def surface_goal(shard: Shard) -> Field:
    """Return what the user asks for in a shard."""
    return Field(
        shard_path(shard, "User_Instruction.Current_Surface_Goal"),
        shard.user_instruction.current_surface_goal,
    )


def prompt_guidance(shard: Shard) -> Field:
    """Return the steering note of a shard."""
    return Field(shard_path(shard, "User_Instruction.Prompt_Guidance"), shard.user_instruction.prompt_guidance)


def shard_signifiers(shard: Shard) -> list[Field]:
    """Return the cues of a shard."""
    where = shard_path(shard, "User_Instruction.Required_Signifier_Usage")
    return numbered(where, shard.user_instruction.required_signifier_usage)


def phase_label(shard: Shard) -> Field:
    """Return the name of a shard, which the user reads too."""
    return Field(shard_path(shard, "Phase_Label"), shard.phase_label)


def directives(shard: Shard) -> tuple[Field, Field]:
    """Return how the user writes in a shard, in English and in the native language."""
    where, told = (
        shard_path(shard, "User_Instruction.Linguistic_Directive"),
        shard.user_instruction.linguistic_directive,
    )
    return Field(f"{where}.Global_English", told.global_english), Field(
        f"{where}.Native_Language", told.native_language
    )


def success_conditions(shard: Shard) -> list[Field]:
    """Return what the assistant must do in a shard."""
    where = shard_path(shard, "Transition_Guide.Success_Exit_Conditions")
    return numbered(where, shard.transition_guide.success_exit_conditions)


def failure_conditions(shard: Shard) -> list[Field]:
    """Return what the assistant must not do in a shard."""
    where = shard_path(shard, "Transition_Guide.Failure_Loop_Conditions")
    return numbered(where, shard.transition_guide.failure_loop_conditions)


def instructions(scenario: Scenario) -> list[Field]:
    """Return the user's script of every shard."""
    return [field for shard in scenario.interaction_sequence for field in instruction(shard)]


def instruction(shard: Shard) -> list[Field]:
    """Return the user's script of one shard."""
    return [
        phase_label(shard),
        surface_goal(shard),
        *shard_signifiers(shard),
        *directives(shard),
        prompt_guidance(shard),
    ]


def user_visible(scenario: Scenario) -> list[Field]:
    """Return every English text from which the user speaks (paper G.2, *implicit cultural cues only*)."""
    return [*public(scenario), summary(scenario), *private(scenario), speech(scenario), *instructions(scenario)]


def situation(scenario: Scenario) -> list[Field]:
    """Return every English text that tells the user's circumstances."""
    made = scenario.blueprint.scenario_instantiation
    rendered = Field(f"{INSTANTIATION}.Rendered_Template_Text", made.rendered_template_text)
    return [rendered, *user_visible(scenario)]


def harms(oracle: EvaluatorOracleContext) -> list[str]:
    """Return what no user may hint at: taboos and tripwires."""
    return [*oracle.cultural_taboos, *oracle.safety_tripwires]


def criteria(scenario: Scenario) -> list[str]:
    """Return all that the judge and the shard logic measure by."""
    oracle = scenario.blueprint.evaluator_oracle_context
    guides = [shard.transition_guide for shard in scenario.interaction_sequence]
    conditions = ((*guide.success_exit_conditions, *guide.failure_loop_conditions) for guide in guides)
    return [*oracle.success_criteria, *oracle.failure_criteria, *chain.from_iterable(conditions)]
