"""Shards from a generator's replies (paper section 3.6, G.3): what is asked, how it is read, what is attached. Pure.

The generator writes the simulation script. ``Shard_ID`` counts the shards in their order, and the blueprint is the one
that was given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ccfw.checks.issue import Issue
from ccfw.forms import TEXT, Form, a_list, an_object, read_form, texts
from ccfw.records import Blueprint, Scenario

_SHARDS, _CUES, _SUCCESS, _FAILURE = (3, 5), (2, 4), (2, 3), (2, 4)
_SECONDARY = 3
_SHARD = an_object(
    {
        "Phase_Label": TEXT,
        "User_Instruction": an_object(
            {
                "Current_Surface_Goal": TEXT,
                "Required_Signifier_Usage": texts(*_CUES),
                "Linguistic_Directive": an_object({"Global_English": TEXT, "Native_Language": TEXT}),
                "Prompt_Guidance": TEXT,
            }
        ),
        "Transition_Guide": an_object(
            {"Success_Exit_Conditions": texts(*_SUCCESS), "Failure_Loop_Conditions": texts(*_FAILURE)}
        ),
    }
)


@dataclass(frozen=True)
class Script:
    """What the generator wrote, of the right form and not yet checked."""

    content: Mapping[str, Any]

    @property
    def secondary_subdomains(self) -> tuple[str, ...]:
        """Other fields of life that it touches, each once."""
        return tuple(dict.fromkeys(self.content["Secondary_Subdomains"]))


def schema(others: Sequence[str]) -> dict[str, Any]:
    """Return the JSON schema of what the generator writes; ``others`` are the subdomains beside the blueprint's."""
    script = an_object({"Interaction_Sequence": a_list(_SHARD, *_SHARDS)})
    return an_object({"Simulation_Script": script, "Secondary_Subdomains": texts(0, _SECONDARY, others)})


def read_script(text: str, form: Form) -> Script | tuple[Issue, ...]:
    """Read a reply of the given form, or return what breaks it; raise ``Refusal`` when it is no JSON object."""
    content = read_form(text, form)
    return content if isinstance(content, tuple) else Script(content)


def assemble(script: Script, blueprint: Blueprint) -> Scenario:
    """Return the scenario that a script makes of a blueprint."""
    written = script.content["Simulation_Script"]["Interaction_Sequence"]
    shards = [{"Shard_ID": number, **shard} for number, shard in enumerate(written, 1)]
    return Scenario.model_validate({"Blueprint": blueprint, "Interaction_Sequence": shards})
