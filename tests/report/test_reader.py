"""A reader sees what each role could see and nothing else under its name, whatever the texts hold."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ccfw.checks.script import LANGUAGES
from ccfw.records import LanguageMode, Scenario, SimulationMode, TerminationReason
from ccfw.report.reader import TAGS, Held, Texts, chunk
from tests.report.shelves import held
from tests.samples import SEED, canaries

UYGHUR = "CN_Uyghur_Muslim_F_55p__TPL_CUL_HOST_06__STANDARD"


def shown(conversation: Held) -> dict[str, Any]:
    """Return the one conversation of a chunk with its texts put in."""
    found = json.loads(chunk([conversation]))
    texts = found["texts"]

    def named(pairs: list[Any]) -> dict[str, Any]:
        return {texts[n]: [texts[each] for each in v] if isinstance(v, list) else texts[v] for n, v in pairs}

    episode: dict[str, Any] = found["episodes"][0]
    for seen in episode["seen"]:
        seen |= {role: named(seen[role]) for role in ("assistant", "simulator")}
    for saw in [*episode["judge_saw"], *episode["plan"]]:
        saw["fields"] = named(saw["fields"])
    for turn in episode["turns"]:
        turn |= {who: texts[turn[who]] for who in ("user", "assistant", "thinking")}
    for judged in episode["judged"]:
        judged |= {"reasoning": texts[judged["reasoning"]], "details": named(judged["details"])}
        judged |= {kind: [texts[each] for each in judged[kind]] for kind in ("tripwires", "taboos")}
        judged["failure"] = None if judged["failure"] is None else texts[judged["failure"]]
    return episode | {"id": texts[episode["id"]], "about": named(episode["about"])}


def test_the_assistant_under_test_sees_the_chat_to_its_own_turn_and_nothing_else() -> None:
    seen = shown(held(SEED))["seen"]
    assert [(each["lines"], each["assistant"]) for each in seen] == [(1, {}), (3, {})]


def test_the_gold_teacher_sees_what_table_1_grants_it() -> None:
    conversation = held(SEED, simulation_mode=SimulationMode.GOLD)
    oracle = conversation.scenario.blueprint.evaluator_oracle_context if conversation.scenario else None
    assert oracle is not None
    first = shown(conversation)["seen"][0]["assistant"]
    assert list(first) == [
        "persona summary",
        "target user goal",
        "success criteria",
        "failure criteria",
        "cultural taboos",
    ]
    assert first["success criteria"] == list(oracle.success_criteria)


def test_the_simulator_sees_its_own_intent_and_no_word_of_the_oracle(planted: Scenario) -> None:
    seen = shown(held("", scenario=planted))["seen"]
    assert seen[0]["simulator"]["intent: shard id"] == "1"
    assert seen[0]["simulator"]["next intent: shard id"] == "2"
    paths = canaries([each["simulator"] for each in seen])
    assert "Blueprint.User_Private_Context.Background" in paths
    assert {path for path in paths if "Oracle" in path or "Transition_Guide" in path} == set()


def test_each_judge_saw_the_fields_of_its_metric(planted: Scenario) -> None:
    saw = {each["metric"]: each for each in shown(held("", scenario=planted))["judge_saw"]}
    assert list(saw) == ["helpful", "honest", "harmless", "naturalness", "plausibility", "typicality"]
    assert all(each["conversation"] for each in saw.values())
    assert {metric: list(each["fields"]) for metric, each in saw.items() if metric in {"honest", "naturalness"}} == {
        "honest": ["persona summary"],
        "naturalness": [],
    }
    assert any("Safety_Tripwires" in path for path in canaries(saw["harmless"]["fields"]))
    assert {path for path in canaries(saw["helpful"]["fields"]) if "Tripwires" in path} == set()


def test_the_plan_tells_what_was_cleared_open_and_never_reached(scenario: Scenario) -> None:
    conversation = held(SEED)
    open_second = conversation.episode.model_copy(
        update={
            "shard_outcomes": (
                conversation.episode.shard_outcomes[0],
                conversation.episode.shard_outcomes[1].model_copy(update={"outcome": "OPEN", "turns": 2}),
            )
        }
    )
    plan = shown(conversation._replace(episode=open_second))["plan"]
    assert [(each["shard"], each["outcome"], each["turns"]) for each in plan] == [
        (1, "CLEARED", 1),
        (2, "OPEN", 2),
        (3, "NOT_REACHED", 0),
        (4, "NOT_REACHED", 0),
    ]
    guide = scenario.interaction_sequence[3].transition_guide
    assert plan[3]["fields"]["it ends when the assistant"] == list(guide.success_exit_conditions)


def test_a_judgement_without_a_score_says_why_and_holds_no_number() -> None:
    judged = shown(held(SEED, scores=(None, 4, 4, 4, 4, 4)))["judged"]
    assert (judged[0]["score"], judged[0]["failure"]) == (None, "unparsed: no JSON")
    assert (judged[1]["score"], judged[1]["failure"]) == (4, None)


def test_what_a_judge_named_is_shown_with_its_reasons() -> None:
    conversation = held(SEED, scores=(4, 4, 1, 4, 4, 4), tripwires=("Tells her to hide it",), reasoning="It says so.")
    harmless = next(each for each in shown(conversation)["judged"] if each["metric"] == "harmless")
    assert (harmless["tripwires"], harmless["reasoning"]) == (["Tells her to hide it"], "It says so.")


def test_a_scenario_that_the_dataset_lost_leaves_what_was_said() -> None:
    conversation = held(SEED)._replace(scenario=None)
    found = shown(conversation)
    assert (found["seen"], found["judge_saw"]) == ([], [])
    assert [turn["assistant"] for turn in found["turns"]] == ["Ask the eldest first.", "Then write it down."]
    assert [each["phase"] for each in found["plan"]] == [None] * 4


def test_a_dialogue_that_broke_before_a_word_was_said_is_still_a_conversation() -> None:
    broken = held(
        SEED,
        answers=(),
        shard_outcomes=(),
        termination_reason=TerminationReason.ASSISTANT_ERROR,
        error="no reply: 503",
    )
    found = shown(broken)
    assert (found["turns"], found["seen"]) == ([], [])
    assert found["about"]["What broke"] == "no reply: 503"


def test_control_and_direction_changing_characters_become_marks() -> None:
    found = shown(held(SEED, answers=("\x1b[31mred\u202eesrever\u2066 fine\nline", "b")))
    assert found["turns"][0]["assistant"] == "⟨U+001B⟩[31mred⟨U+202E⟩esrever⟨U+2066⟩ fine\nline"


def test_a_text_that_repeats_is_kept_once() -> None:
    texts = Texts()
    assert [texts.number(text) for text in ("a", "b", "a", "\x07", "\x07")] == [0, 1, 0, 2, 2]
    assert texts.listed == ["a", "b", "⟨U+0007⟩"]
    alone = json.loads(chunk([held(UYGHUR)]))["texts"]
    twice = json.loads(chunk([held(UYGHUR), held(UYGHUR)]))["texts"]
    assert twice == alone


def test_every_language_of_a_persona_has_a_tag() -> None:
    assert set(TAGS) == set(LANGUAGES)


@pytest.mark.parametrize(
    ("language", "tag"), [(LanguageMode.NATIVE, "ug"), (LanguageMode.ENGLISH, "en")], ids=["native", "English"]
)
def test_a_conversation_is_tagged_with_the_language_it_was_held_in(language: LanguageMode, tag: str) -> None:
    assert shown(held(UYGHUR, language=language))["lang"] == tag
