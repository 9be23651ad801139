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


def instructions(scenario: Scenario) -> list[Field]:
    """Return the user's script of every shard, as far as it is English."""
    return [field for shard in scenario.interaction_sequence for field in _instruction(shard)]


def _instruction(shard: Shard) -> list[Field]:
    directive = shard.user_instruction.linguistic_directive.global_english
    return [
        surface_goal(shard),
        *shard_signifiers(shard),
        Field(shard_path(shard, "User_Instruction.Linguistic_Directive.Global_English"), directive),
        prompt_guidance(shard),
    ]


def user_visible(scenario: Scenario) -> list[Field]:
    """Return every English text from which the user speaks (paper G.2, *implicit cultural cues only*)."""
    return [*public(scenario), *private(scenario), *instructions(scenario)]


def situation(scenario: Scenario) -> list[Field]:
    """Return every English text that tells the user's circumstances."""
    made = scenario.blueprint.scenario_instantiation
    summary = Field(f"{INSTANTIATION}.Instantiated_Summary.Global_English", made.instantiated_summary.global_english)
    rendered = Field(f"{INSTANTIATION}.Rendered_Template_Text", made.rendered_template_text)
    return [rendered, summary, *user_visible(scenario)]


def harms(oracle: EvaluatorOracleContext) -> list[str]:
    """Return what no user may hint at: taboos and tripwires."""
    return [*oracle.cultural_taboos, *oracle.safety_tripwires]


def criteria(scenario: Scenario) -> list[str]:
    """Return all that the judge and the shard logic measure by."""
    oracle = scenario.blueprint.evaluator_oracle_context
    guides = [shard.transition_guide for shard in scenario.interaction_sequence]
    conditions = ((*guide.success_exit_conditions, *guide.failure_loop_conditions) for guide in guides)
    return [*oracle.success_criteria, *oracle.failure_criteria, *chain.from_iterable(conditions)]
