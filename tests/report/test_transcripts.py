"""Episodes as text for people: nothing lost, nothing forged, nothing that a terminal obeys."""

from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccfw.records import Failure, FailureKind, Metric, Scenario, ShardOutcome, TerminationReason
from ccfw.report.transcripts import transcript
from ccfw.terminal import printable
from tests.samples import SEED, episode_of, judgement_of, raw_scenario, scenario_of, turn

SCENARIO = scenario_of(raw_scenario())
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


def said(user: str, assistant: str) -> list[str]:
    """Return the lines of the dialogue in a transcript of one turn."""
    lines = transcript(episode_of(SCENARIO, (turn(user, assistant),)), []).split("\n")
    return lines[lines.index("") + 1 : -2]


def test_a_transcript_reads_from_who_asks_to_how_it_was_judged(scenario: Scenario) -> None:
    outcomes = (
        ShardOutcome(shard_id=1, outcome="CLEARED", turns=1),
        ShardOutcome(shard_id=2, outcome="OPEN", turns=1),
    )
    held = episode_of(
        scenario,
        (turn("what is thr", "A bonus.\n\nPaid before Lebaran."), turn("ok", "", 2)),
        shard_outcomes=outcomes,
        termination_reason=TerminationReason.TURN_CAP,
    )
    judgements = [
        judgement_of(Metric.HELPFUL, 4),
        judgement_of(
            Metric.HARMLESS, 1, tripwires_triggered=("Keeps the passport",), taboos_violated=("Mocks the fast",)
        ),
        judgement_of(Metric.HONEST, None, failure=Failure(kind=FailureKind.EMPTY, detail="no text")),
    ]
    assert transcript(held, judgements) == (
        f"{SEED}__EN\n"
        "Female, age 35-54, Singapore, Tamil Hindu community "
        "(a typical, moderate member: belonging says nothing about strictness)\n"
        f"{held.domain} / {held.subdomain}, Standard_Implicit\n"
        "assistant assistant, user user, global_english, eval mode\n"
        "ended TURN_CAP: 2 turns, 1 of 4 shards cleared\n"
        "\n"
        "U1   what is thr\n"
        "A1   A bonus.\n"
        "\n"
        "     Paid before Lebaran.\n"
        "\n"
        "U2   ok\n"
        "A2   (nothing)\n"
        "\n"
        "helpful                4  because [judge]\n"
        "harmless               1  because Broken: Keeps the passport; Mocks the fast. [judge]\n"
        "honest                 –  (empty: no text) [judge]\n"
    )


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        pytest.param("\x1b[2Jgone", "⟨U+001B⟩[2Jgone", id="escape-sequence"),
        pytest.param("a\rb", "a⟨U+000D⟩b", id="carriage-return"),
        pytest.param("a\u202eb", "a⟨U+202E⟩b", id="right-to-left-override"),
        pytest.param("a\u2066b", "a⟨U+2066⟩b", id="isolate"),
        pytest.param("a\u200bb\ufeff", "a⟨U+200B⟩b⟨U+FEFF⟩", id="zero-width-space-and-mark"),
        pytest.param("a\x9bb", "a⟨U+009B⟩b", id="c1-control"),
        pytest.param("a\u2028b", "a⟨U+2028⟩b", id="line-separator"),
        pytest.param("a\x00", "a⟨U+0000⟩", id="nul"),
        pytest.param("\ud83d", "⟨U+D83D⟩", id="half-a-character"),
        pytest.param("a\ufffe\uffff\U0010ffff\ufdd0", "a⟨U+FFFE⟩⟨U+FFFF⟩⟨U+10FFFF⟩⟨U+FDD0⟩", id="noncharacters"),
        pytest.param("a\U0001fae9\u0378", "a\U0001fae9\u0378", id="letters-to-come-stay"),
        pytest.param("a\n\tb", "a\n\tb", id="break-and-tab-stay"),
        pytest.param("க்\u200cஷ ක්\u200dර", "க்\u200cஷ ක්\u200dර", id="joiners-of-scripts-stay"),
        pytest.param("👩\u200d🍳 日本語 café", "👩\u200d🍳 日本語 café", id="emoji-and-letters-stay"),
    ],
)
def test_what_a_terminal_would_obey_is_shown_as_a_mark(text: str, safe: str) -> None:
    assert printable(text) == safe


@given(st.text())
def test_no_control_character_is_left(text: str) -> None:
    kept = set(printable(text)) - set("\n\t\u200c\u200d")
    assert not {unicodedata.category(character) for character in kept} & {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}


@given(TEXT, TEXT)
def test_every_visible_character_of_a_dialogue_is_there(user: str, assistant: str) -> None:
    written = "".join(transcript(episode_of(SCENARIO, (turn(user, assistant),)), []).split())
    for text in (user, assistant):
        for word in text.split():
            assert printable(word) in written


@given(
    st.lists(st.sampled_from(["U2   ", "A1   ", "\n", "\r", "\v", "\u2028", "\x85", " ", "fake", "helpful  5"])).map(
        "".join
    )
)
def test_no_reply_can_pose_as_another_turn_or_a_judgement(hostile: str) -> None:
    opened = [line for line in said("hi", hostile) if line and not line.startswith(" ")]
    assert [line[:2] for line in opened] == ["U1", "A1"]


def test_no_judges_reason_can_pose_as_another_judgement() -> None:
    forged = "fine\nhonest                 5  flawless [gpt5mini]\nU2   thanks"
    text = transcript(episode_of(SCENARIO), [judgement_of(Metric.HELPFUL, 2, reasoning=forged)])
    _, judged = text.rsplit("\n\n", 1)
    assert [line.split()[0] for line in judged.splitlines() if not line.startswith(" ")] == ["helpful"]


def test_long_lines_are_wrapped_beside_their_speaker() -> None:
    lines = said("hi", "word " * 60)
    assert max(map(len, lines)) <= 96
    assert [line[:5] for line in lines[1:]] == ["A1   "] + ["     "] * (len(lines) - 2)
    assert " ".join(line[5:] for line in lines[1:]) == ("word " * 60).strip()


def seconds(text: str) -> float:
    """Return the processor time of a transcript, which a busy machine does not lengthen."""
    held, start = episode_of(SCENARIO, (turn("hi", text),)), time.process_time()
    transcript(held, [])
    return time.process_time() - start


@pytest.mark.parametrize(
    "unit",
    ["a", "字", "word ", "a-", "...", " ", "a line of text\n"],
    ids=["letters", "han", "words", "hyphens", "dots", "spaces", "lines"],
)
def test_a_transcripts_time_grows_with_its_length_and_not_with_the_square(unit: str) -> None:
    """Twenty times the text takes about twenty times as long; by the square it would take 400 times."""
    short, long = (unit * (size // len(unit)) for size in (250_000, 5_000_000))
    assert seconds(long) < 45 * max(0.005, min(seconds(short) for _ in range(3)))


def test_the_indent_of_a_line_is_kept_and_spaces_at_a_break_are_not() -> None:
    code = "if so:\n    " + "x" * 80 + "     then\n\treturn"
    assert said("hi", code)[1:] == [
        "A1   if so:",
        "         " + "x" * 80,
        "     then",
        "             return",
    ]


def test_a_text_without_spaces_is_wrapped_too() -> None:
    lines = said("hi", "字" * 200)
    assert "".join(line[5:] for line in lines[1:]) == "字" * 200
    assert max(map(len, lines)) <= 96
