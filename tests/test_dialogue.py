"""The turn loop: who speaks next, which shard is open, when it ends."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccfw.dialogue import Answer, Broken, Move, Reply, Transcript, View, converse
from ccfw.records import Decision, LanguageMode, Scenario, SimulationMode, TerminationReason
from ccfw.views import AssistantView, GoldView, SimulatorView
from tests.samples import raw_scenario, scenario_of

ADVANCE, CONTINUE = Decision.ADVANCE_NEXT, Decision.CONTINUE_CURRENT
FOUR = scenario_of(raw_scenario())
THREE = scenario_of(raw_scenario("VN_Kinh_Buddhist_F_18_34__TPL_CUL_FEST_01__TRAP__CTX"))
LETTERS = {"A": ADVANCE, "C": CONTINUE}


def hold(
    scenario: Scenario,
    user: Iterable[Answer],
    assistant: Iterable[Answer],
    *,
    per_shard: int = 5,
    per_episode: int = 25,
    language: LanguageMode = LanguageMode.ENGLISH,
    mode: SimulationMode = SimulationMode.EVAL,
) -> tuple[list[View], Transcript]:
    """Hold a dialogue with given answers and return every view that was built, and the transcript."""
    dialogue = converse(scenario, language, mode, turns_per_shard=per_shard, turns_per_episode=per_episode)
    moves, replies = iter(user), iter(assistant)
    views = [next(dialogue)]
    while True:
        try:
            views.append(dialogue.send(next(moves if isinstance(views[-1], SimulatorView) else replies)))
        except StopIteration as end:
            return views, end.value


def moves(letters: Iterable[Decision]) -> list[Move]:
    return [Move(decision, f"message {n}", f"thought {n}", 0) for n, decision in enumerate(letters, 1)]


def replies() -> Iterable[Reply]:
    return (Reply(f"reply {n}") for n in range(1, 1000))


def talk(
    scenario: Scenario, letters: str, *, per_shard: int = 5, per_episode: int = 25
) -> tuple[list[View], Transcript]:
    return hold(scenario, moves(LETTERS[c] for c in letters), replies(), per_shard=per_shard, per_episode=per_episode)


def outcomes(transcript: Transcript) -> list[tuple[int, str, int]]:
    return [(o.shard_id, o.outcome, o.turns) for o in transcript.shard_outcomes]


ENDINGS = [
    pytest.param(
        "AAA",
        5,
        25,
        TerminationReason.ALL_SHARDS_CLEARED,
        [(1, "CLEARED", 1), (2, "CLEARED", 1), (3, "CLEARED", 1)],
        id="straight-through",
    ),
    pytest.param(
        "CACCAA",
        5,
        25,
        TerminationReason.ALL_SHARDS_CLEARED,
        [(1, "CLEARED", 2), (2, "CLEARED", 3), (3, "CLEARED", 1)],
        id="with-second-tries",
    ),
    pytest.param("ACC", 2, 25, TerminationReason.SHARD_CAP, [(1, "CLEARED", 1), (2, "OPEN", 2)], id="stuck-in-a-shard"),
    pytest.param(
        "CACACA",
        2,
        25,
        TerminationReason.ALL_SHARDS_CLEARED,
        [(1, "CLEARED", 2), (2, "CLEARED", 2), (3, "CLEARED", 2)],
        id="advancing-on-the-last-allowed-turn-of-each-shard",
    ),
    pytest.param("CAC", 5, 3, TerminationReason.TURN_CAP, [(1, "CLEARED", 2), (2, "OPEN", 1)], id="out-of-turns"),
    pytest.param(
        "AA",
        5,
        2,
        TerminationReason.TURN_CAP,
        [(1, "CLEARED", 1), (2, "CLEARED", 1)],
        id="out-of-turns-before-the-last-shard-opens",
    ),
    pytest.param(
        "AAA",
        1,
        3,
        TerminationReason.ALL_SHARDS_CLEARED,
        [(1, "CLEARED", 1), (2, "CLEARED", 1), (3, "CLEARED", 1)],
        id="clearing-on-the-very-last-turn-counts",
    ),
    pytest.param("C", 1, 1, TerminationReason.TURN_CAP, [(1, "OPEN", 1)], id="both-caps-at-once"),
]


@pytest.mark.parametrize(("letters", "per_shard", "per_episode", "reason", "expected"), ENDINGS)
def test_a_dialogue_ends_for_its_reason(
    letters: str, per_shard: int, per_episode: int, reason: TerminationReason, expected: list[tuple[int, str, int]]
) -> None:
    _, transcript = talk(THREE, letters, per_shard=per_shard, per_episode=per_episode)
    assert transcript.termination_reason is reason
    assert outcomes(transcript) == expected
    assert transcript.error is None
    assert len(transcript.turns) == len(letters)


def test_figure_16_is_reproduced() -> None:
    """The published episode: 8 turns over 4 shards of 1, 2, 2 and 3."""
    _, transcript = talk(FOUR, "ACACACCA")
    assert transcript.termination_reason is TerminationReason.ALL_SHARDS_CLEARED
    assert outcomes(transcript) == [(1, "CLEARED", 1), (2, "CLEARED", 2), (3, "CLEARED", 2), (4, "CLEARED", 3)]


@pytest.mark.parametrize("language", LanguageMode, ids=lambda mode: mode.value)
def test_the_first_message_is_the_blueprints_word_for_word(language: LanguageMode) -> None:
    views, transcript = hold(FOUR, moves([ADVANCE] * 4), replies(), language=language)
    first = raw_scenario()["Blueprint"]["Public_Context"]["Initial_User_Message"]
    written = first["Native_Language" if language is LanguageMode.NATIVE else "Global_English"]
    assert transcript.turns[0].user == written
    assert [(message.role, message.content) for message in views[0].history] == [("user", written)]


def test_every_message_of_the_user_is_the_simulators_own() -> None:
    _, transcript = talk(THREE, "CAAA")
    assert [turn.user for turn in transcript.turns[1:]] == ["message 1", "message 2", "message 3"]
    assert [turn.assistant for turn in transcript.turns] == ["reply 1", "reply 2", "reply 3", "reply 4"]


@pytest.mark.parametrize(
    ("letters", "per_shard", "per_episode"),
    [
        pytest.param("AAA", 5, 25, id="all-cleared"),
        pytest.param("CC", 2, 25, id="shard-cap"),
        pytest.param("CA", 5, 2, id="turn-cap"),
    ],
)
def test_a_last_message_that_nobody_would_read_is_in_no_turn(letters: str, per_shard: int, per_episode: int) -> None:
    _, transcript = talk(THREE, letters, per_shard=per_shard, per_episode=per_episode)
    assert f"message {len(letters)}" not in {turn.user for turn in transcript.turns}


def test_each_side_reads_the_chat_up_to_the_line_it_answers() -> None:
    views, _ = talk(THREE, "AAA")
    lines = ["message 1", "message 2"]
    assistant, user = views[2], views[3]
    assert isinstance(assistant, AssistantView)
    assert isinstance(user, SimulatorView)
    assert [m.content for m in assistant.history][1:] == ["reply 1", lines[0]]
    assert [m.content for m in user.history][1:] == ["reply 1", lines[0], "reply 2"]
    assert [m.role for m in user.history] == ["user", "assistant", "user", "assistant"]


def test_a_turn_keeps_the_shard_in_which_it_was_asked_and_the_verdict_on_it() -> None:
    _, transcript = talk(THREE, "ACAA")
    assert [(turn.shard_id, turn.decision, turn.thinking) for turn in transcript.turns] == [
        (1, ADVANCE, "thought 1"),
        (2, CONTINUE, "thought 2"),
        (2, ADVANCE, "thought 3"),
        (3, ADVANCE, "thought 4"),
    ]


def test_no_later_view_holds_the_simulators_thinking() -> None:
    views, _ = talk(THREE, "CAAA")
    assert "thought" not in repr(views)


def test_the_gold_teacher_is_told_the_goal_of_the_open_shard() -> None:
    views, _ = hold(THREE, moves([CONTINUE, ADVANCE, ADVANCE, ADVANCE]), replies(), mode=SimulationMode.GOLD)
    goals = [view.target_user_goal for view in views if isinstance(view, GoldView)]
    wanted = [shard.user_instruction.current_surface_goal for shard in THREE.interaction_sequence]
    assert goals == [wanted[0], wanted[0], wanted[1], wanted[2]]


@pytest.mark.parametrize(
    ("mode", "kind"),
    [
        pytest.param(SimulationMode.EVAL, AssistantView, id="eval"),
        pytest.param(SimulationMode.GOLD, GoldView, id="gold"),
    ],
)
def test_the_mode_alone_decides_what_the_assistant_sees(mode: SimulationMode, kind: type) -> None:
    views, _ = hold(THREE, moves([CONTINUE, ADVANCE, ADVANCE, ADVANCE]), replies(), mode=mode)
    assert [type(view) for view in views] == [kind, SimulatorView] * 4


def test_the_simulator_is_shown_the_next_intent_until_there_is_none() -> None:
    views, _ = talk(THREE, "AAA")
    labels = [
        (v.intent.phase_label, v.next_intent.phase_label if v.next_intent else None)
        for v in views
        if isinstance(v, SimulatorView)
    ]
    one, two, three = (shard.phase_label for shard in THREE.interaction_sequence)
    assert labels == [(one, two), (two, three), (three, None)]


def test_an_assistant_that_cannot_be_had_ends_the_dialogue_and_keeps_what_was_said() -> None:
    _, transcript = hold(THREE, moves([ADVANCE] * 3), [Reply("reply 1"), Broken("boom: 500")])
    assert transcript.termination_reason is TerminationReason.ASSISTANT_ERROR
    assert transcript.error == "boom: 500"
    assert outcomes(transcript) == [(1, "CLEARED", 1)]
    assert [turn.assistant for turn in transcript.turns] == ["reply 1"]


def test_an_assistant_that_never_answers_leaves_no_turn() -> None:
    _, transcript = hold(THREE, [], [Broken("down")])
    assert (transcript.turns, transcript.shard_outcomes) == ((), ())


def test_a_simulator_that_cannot_be_had_leaves_its_last_turn_without_a_decision() -> None:
    _, transcript = hold(THREE, [*moves([ADVANCE]), Broken("unparsed: junk")], replies())
    assert transcript.termination_reason is TerminationReason.SIMULATOR_ERROR
    assert transcript.error == "unparsed: junk"
    assert outcomes(transcript) == [(1, "CLEARED", 1), (2, "OPEN", 1)]
    assert (transcript.turns[-1].decision, transcript.turns[-1].thinking) == (None, "")


@pytest.mark.parametrize(
    ("user", "assistant", "reason", "error"),
    [
        pytest.param(
            moves([ADVANCE]),
            [Move(ADVANCE, "m", "", 0)],
            TerminationReason.ASSISTANT_ERROR,
            "an answer of the wrong kind: Move",
            id="assistant",
        ),
        pytest.param(
            [Reply("r")],
            [Reply("r")],
            TerminationReason.SIMULATOR_ERROR,
            "an answer of the wrong kind: Reply",
            id="simulator",
        ),
    ],
)
def test_an_answer_of_the_wrong_kind_is_an_error_of_its_side(
    user: list[Answer], assistant: list[Answer], reason: TerminationReason, error: str
) -> None:
    _, transcript = hold(THREE, user, assistant)
    assert (transcript.termination_reason, transcript.error) == (reason, error)


def test_an_empty_reply_is_a_turn_like_any_other() -> None:
    _, transcript = hold(THREE, moves([CONTINUE, ADVANCE, ADVANCE, ADVANCE]), chain([Reply("")], replies()))
    assert transcript.termination_reason is TerminationReason.ALL_SHARDS_CLEARED
    assert transcript.turns[0].assistant == ""


def test_the_simulators_retries_add_up() -> None:
    user = [Move(ADVANCE, "m", "", retries) for retries in (2, 0, 1)]
    _, transcript = hold(THREE, user, replies())
    assert transcript.simulator_retries == 3


@given(
    scenario=st.sampled_from([THREE, FOUR]),
    decisions=st.lists(st.sampled_from([ADVANCE, CONTINUE]), min_size=30, max_size=30),
    per_shard=st.integers(1, 6),
    per_episode=st.integers(1, 14),
    mode=st.sampled_from(SimulationMode),
)
def test_whatever_is_decided_caps_hold_and_shards_add_up(
    scenario: Scenario, decisions: list[Decision], per_shard: int, per_episode: int, mode: SimulationMode
) -> None:
    views, transcript = hold(
        scenario, moves(decisions), replies(), per_shard=per_shard, per_episode=per_episode, mode=mode
    )
    turns, ended = transcript.turns, transcript.termination_reason
    total = len(scenario.interaction_sequence)
    cleared = [o for o in transcript.shard_outcomes if o.outcome == "CLEARED"]
    still_open = [o for o in transcript.shard_outcomes if o.outcome == "OPEN"]
    assert 1 <= len(turns) <= per_episode
    assert all(1 <= outcome.turns <= per_shard for outcome in transcript.shard_outcomes)
    assert sum(outcome.turns for outcome in transcript.shard_outcomes) == len(turns)
    assert [o.shard_id for o in transcript.shard_outcomes] == list(range(1, len(transcript.shard_outcomes) + 1))
    assert [turn.decision for turn in turns] == decisions[: len(turns)]
    assert len(cleared) == decisions[: len(turns)].count(ADVANCE)
    assert list(transcript.shard_outcomes) == [*cleared, *still_open]
    assert len(still_open) <= 1
    assert len(views) == 2 * len(turns)
    assert (ended is TerminationReason.ALL_SHARDS_CLEARED) == (len(cleared) == total)
    if ended is TerminationReason.TURN_CAP:
        assert len(turns) == per_episode
    if ended is TerminationReason.SHARD_CAP:
        assert [outcome.turns for outcome in still_open] == [per_shard]


@given(st.integers(1, 4), st.integers(1, 12))
def test_a_user_who_is_never_pleased_meets_the_smaller_cap(per_shard: int, per_episode: int) -> None:
    _, transcript = hold(
        THREE, repeat(Move(CONTINUE, "again", "", 0)), replies(), per_shard=per_shard, per_episode=per_episode
    )
    assert len(transcript.turns) == min(per_shard, per_episode)
