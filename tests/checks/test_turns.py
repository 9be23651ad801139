"""The checks of simulated user turns, over the labelled corpus and at their edges."""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.checks import CHECKS, PAGE, Labelled, corpus, found, page, tallies
from ccfw.checks.script import LANGUAGES
from ccfw.checks.turn_plan import own_words
from ccfw.checks.turns import RETRY, RULES, TurnIssue, check_turn, severity
from ccfw.records import Message
from tests.checks.test_starter import FILES, load

CORPUS = corpus()
OPENING = "boss gave me the department dinner on 3 march, forty five people, where do i even begin with the food"
ANSWER = "Ask two caterers for a buffet of rice, one chicken dish and one vegetable, and book by Friday."
GOOD = "hmm the first one wants 36 a head tho, do i drop the chicken or the vegetable"


def chat(*lines: str) -> list[Message]:
    return [Message(role="assistant" if place % 2 else "user", content=line) for place, line in enumerate(lines)]


def names(message: str, *lines: str, language: str = "English") -> list[str]:
    return [issue.check for issue in check_turn(message, chat(*lines), language=language)]


def test_the_corpus_is_what_the_page_says() -> None:
    assert len(CORPUS) >= 160
    assert len({turn.id for turn in CORPUS}) == len(CORPUS)
    assert len({turn.message for turn in CORPUS}) == len(CORPUS)
    assert {turn.language for turn in CORPUS} == set(LANGUAGES)
    assert {check for turn in CORPUS for check in turn.expected} == set(CHECKS)
    assert sum(not turn.expected for turn in CORPUS) >= 0.3 * len(CORPUS)


def test_every_check_has_three_positives() -> None:
    counts = Counter(check for turn in CORPUS for check in turn.expected)
    assert {check for check in CHECKS if counts[check] < 3} == set()


def test_what_sends_a_message_back_is_precise() -> None:
    counts = tallies(CORPUS)
    assert {check: counts[check].precision for check in RETRY if (counts[check].precision or 0) < 0.9} == {}
    unseen = tallies(turn for turn in CORPUS if turn.unseen)
    assert {check: unseen[check].precision for check in RETRY if (unseen[check].precision or 0) < 0.9} == {}


def test_no_check_finds_less_than_it_did() -> None:
    assert {check: tally for check, tally in tallies(CORPUS).items() if (tally.recall or 0) < 0.75} == {}
    assert {check: tally for check, tally in tallies(CORPUS).items() if (tally.precision or 0) < 0.9} == {}


@pytest.mark.parametrize("turn", [turn for turn in CORPUS if not turn.expected], ids=lambda turn: turn.id)
def test_a_good_turn_passes(turn: Labelled) -> None:
    assert found(turn) == frozenset()


def test_the_page_is_current() -> None:
    assert PAGE.read_text("utf-8").startswith(page(CORPUS)), "run: python -m benchmarks.checks"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_an_opening_of_the_starter_scenarios_is_no_fault_but_long(path: Path) -> None:
    scenario = load(path)
    goals = [shard.user_instruction.current_surface_goal for shard in scenario.interaction_sequence]
    message = scenario.blueprint.public_context.initial_user_message
    for text, language in (
        (message.global_english, "English"),
        (message.native_language, scenario.seed.persona.native_language),
    ):
        assert {issue.check for issue in check_turn(text, goals=goals, language=language)} <= {"length"}


def test_severity_is_retry_for_role_and_language_alone() -> None:
    assert {check for check in CHECKS if severity(check) == "retry"} == {"role_flip", "wrong_language"} == RETRY
    assert len(CHECKS) == len(set(CHECKS)) == len(RULES)


def test_an_issue_names_its_check_and_shows_what_it_found() -> None:
    assert check_turn("I can help you with the caterer, the rows and the rest", chat(OPENING, ANSWER)) == (
        TurnIssue(
            "role_flip",
            "Message",
            "i can help you",
            "the one who asks for help, not the one who gives it",
            "retry",
        ),
    )


def test_a_good_turn_has_no_issue() -> None:
    assert names(GOOD, OPENING, ANSWER) == []


def test_an_empty_message_is_too_short_even_after_a_question() -> None:
    assert names("", OPENING, "How many people?") == ["length"]
    assert names("!!", OPENING, "How many people?") == ["length"]


def test_a_short_answer_to_a_question_is_no_fault() -> None:
    assert names("around 60 ppl", OPENING, "How many people?") == []
    assert names("around 60 ppl", OPENING, ANSWER) == ["length"]


def test_asking_again_after_a_broken_answer_is_what_a_person_does() -> None:
    question = "so what do i order for forty five people on this budget, rice or noodles"
    assert names(question, OPENING, ANSWER, question, "...") == []
    assert names(question, OPENING, ANSWER, question, ANSWER) == ["repeated_question"]


def test_a_shard_that_is_not_in_the_plan_is_refused() -> None:
    with pytest.raises(ValueError, match="there are 2 goals"):
        check_turn(GOOD, goals=["Ask a.", "Ask b."], shard=2)


def test_own_words_of_a_goal_leave_out_what_goals_share() -> None:
    goals = ("Ask how to seat the director.", "Ask which food suits the director.")
    assert own_words(goals, 0) == {"seat"}
    assert own_words(goals, 1) == {"food", "suit"}


@pytest.mark.parametrize(
    "piece", ["what should i do about the menu, ", "首先您可以", "? word ", "1. ", "a", "name: x, "]
)
def test_a_runaway_message_does_not_hold_up_the_batch(piece: str) -> None:
    text = piece * (50_000 // len(piece))
    start = time.process_time()
    issues = check_turn(text, chat(*[text] * 12), language="Simplified Chinese")
    assert time.process_time() - start < 5
    assert "length" in {issue.check for issue in issues}
    assert any(str(len(text.strip())) in issue.says for issue in issues)


lines = st.text(max_size=120)


@settings(max_examples=60)
@given(lines, st.lists(lines, max_size=5), st.sampled_from(sorted(LANGUAGES)))
def test_reads_any_turn_and_says_the_same_twice(message: str, history: list[str], language: str) -> None:
    first = check_turn(message, chat(*history), goals=history, language=language)
    assert first == check_turn(message, chat(*history), goals=history, language=language)
    assert all(issue.severity == severity(issue.check) for issue in first)
