"""The simulated user's styles: the same every time, varied within an episode, all of them used."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccfw.records import Region
from ccfw.styles import STYLES, Directive, Style, directive, speech_guidance
from tests.samples import ROOT

EPISODES = [f"SG_Chinese_Christian_F_18_34__TPL_CUL_DINE_{number:02d}__STANDARD::en" for number in range(500)]
DIMENSIONS = ("opener", "length", "punctuation", "hesitation", "follow_up", "emotion")
KNOWN = (
    "Open with a word of reaction, and keep it on the long side, a detail and a question. "
    "Sound curious, with a filler word now and then, in fragments with a stop between them. "
    "Then raise what somebody might object to."
)
ids = st.text(min_size=1, max_size=40)
turns = st.integers(min_value=0, max_value=60)


def sentences(text: str) -> list[str]:
    return [part for part in text.split(". ") if part]


def test_there_are_styles_enough_over_six_dimensions() -> None:
    assert len(STYLES) >= 24
    assert len({(style.dimension, style.name) for style in STYLES}) == len(STYLES)
    assert {style.dimension for style in STYLES} == set(DIMENSIONS)


@given(ids, turns)
def test_two_calls_give_the_same(episode: str, turn: int) -> None:
    assert directive(episode, turn) == directive(episode, turn)


def test_another_process_gives_the_same() -> None:
    source = "from ccfw.styles import directive; print([directive('some::episode', turn).text for turn in range(9)])"
    command = [sys.executable, "-c", source]
    texts = {
        subprocess.run(
            command, env={"PYTHONHASHSEED": seed}, cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.strip()
        for seed in ("1", "2")
    }
    assert texts == {str([directive("some::episode", turn).text for turn in range(9)])}


def test_known_directives_do_not_drift() -> None:
    """A changed choice changes every request of a resumed run, so it has to be meant."""
    assert directive("some::episode", 0).text == KNOWN


def test_every_style_occurs() -> None:
    seen: set[Style] = {style for episode in EPISODES for turn in range(5) for style in directive(episode, turn).styles}
    assert seen == set(STYLES)


@given(ids, turns)
def test_no_opener_comes_twice_running(episode: str, turn: int) -> None:
    assert directive(episode, turn).opener != directive(episode, turn + 1).opener


@given(ids, turns)
def test_the_follow_up_changes_and_the_voice_stays(episode: str, turn: int) -> None:
    now, then = directive(episode, turn), directive(episode, turn + 1)
    assert now.follow_up != then.follow_up
    assert (now.emotion, now.punctuation, now.hesitation) == (then.emotion, then.punctuation, then.hesitation)


@given(ids, turns)
def test_each_style_stands_in_its_own_dimension(episode: str, turn: int) -> None:
    found: Directive = directive(episode, turn)
    assert tuple(style.dimension for style in found.styles) == DIMENSIONS


@given(ids, turns)
def test_a_directive_is_three_short_sentences_without_banned_marks(episode: str, turn: int) -> None:
    text = directive(episode, turn).text
    assert len(sentences(text)) <= 3
    assert len(text.split()) <= 60
    assert set(text) & set("—–;") == set()


def test_episodes_differ() -> None:
    assert len({directive(episode, 0).text for episode in EPISODES}) > 300


def test_a_turn_before_the_first_is_refused() -> None:
    with pytest.raises(ValueError, match="from 0"):
        directive("some::episode", -1)


@pytest.mark.parametrize("region", list(Region))
def test_every_region_has_guidance_for_both_modes(region: Region) -> None:
    text = speech_guidance(region)
    assert 2 <= len(sentences(text)) <= 3
    assert "never in English" in text
    assert set(text) & set("—–;") == set()


def test_an_unknown_region_is_named() -> None:
    with pytest.raises(KeyError, match="'XX'"):
        speech_guidance("XX")
