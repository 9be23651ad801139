"""How far a run can be trusted, counted by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest

from ccfw.records import Episode, Scenario, TerminationReason, Turn
from ccfw.report.audit import Audit, Tally, audit, markdown, opener
from tests.samples import episode_of, turn

HEADINGS = [
    "Assistant",
    "Messages",
    "With a fault",
    "Sent back",
    "Saying something hidden",
    "Openers",
    "Commonest",
    "Length",
]
NOTHING = Audit(
    episodes=0,
    messages=0,
    faults={},
    faulty=0,
    retries=0,
    leaks=0,
    endings={},
    openers=0,
    commonest=(),
    length_mean=0.0,
    length_sd=0.0,
)


def said(user: str, *faults: str) -> Turn:
    return turn(user).model_copy(update={"faults": faults})


@pytest.fixture
def held(scenario: Scenario) -> list[Episode]:
    """Four dialogues, of which the simulator wrote five messages: 10, 20, 12, 20 and 8 characters long."""
    first = said("the frozen first message, which nobody wrote", "length", "greeting")
    cleared, capped = TerminationReason.ALL_SHARDS_CLEARED, TerminationReason.TURN_CAP
    return [
        episode_of(
            scenario,
            (first, said("ok so what", "length"), said("OK, and what of that")),
            simulator_retries=2,
            termination_reason=cleared,
        ),
        episode_of(
            scenario,
            (first, said("hm which one", "length", "skips_ahead"), said("ok! but why a monday", "skips_ahead")),
            simulator_retries=1,
            termination_reason=capped,
        ),
        episode_of(scenario, (first, said("how much", "length")), termination_reason=cleared),
        episode_of(scenario, (first,), termination_reason=cleared),
    ]


def test_counts_are_those_of_the_messages_that_the_simulator_wrote(held: list[Episode]) -> None:
    """The mean is (10 + 20 + 12 + 20 + 8) / 5 = 14, the variance (16 + 36 + 4 + 36 + 36) / 5 = 25.6."""
    found = audit(held, leaks=7)
    assert (found.episodes, found.messages, found.faulty, found.retries, found.leaks) == (4, 5, 4, 3, 7)
    assert list(found.faults.items()) == [("length", 3), ("skips_ahead", 2)]
    assert list(found.endings.items()) == [("ALL_SHARDS_CLEARED", 3), ("TURN_CAP", 1)]
    assert (found.openers, found.commonest) == (3, (("ok", 3), ("hm", 1), ("how", 1)))
    assert found.length_mean == 14.0
    assert found.length_sd == pytest.approx(math.sqrt(25.6))


def test_only_the_three_commonest_openers_are_named(scenario: Scenario) -> None:
    words = ["first", "a", "b", "c", "d", "d"]
    found = audit([episode_of(scenario, tuple(said(word) for word in words))], leaks=0)
    assert (found.openers, found.commonest) == (4, (("d", 2), ("a", 1), ("b", 1)))


def test_no_dialogue_is_nothing_and_no_division() -> None:
    assert audit([], leaks=0) == NOTHING


def test_a_first_message_alone_is_no_message_of_the_simulators(scenario: Scenario) -> None:
    found = audit([episode_of(scenario, (said("only the frozen one", "length"),))], leaks=0)
    assert (found.episodes, found.messages, found.faults, found.openers) == (1, 0, {}, 0)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        pytest.param("Ok so what now", "ok", id="lower-case"),
        pytest.param("hmm, and the fish", "hmm", id="comma"),
        pytest.param("wait... what", "wait", id="dots"),
        pytest.param("wait… what", "wait", id="ellipsis"),
        pytest.param("can't we just", "can't", id="apostrophe-within"),
        pytest.param("明天晚上有客户要来家里吃饭", "明天晚上", id="chinese"),
        pytest.param("そうですか、では予算は", "そうです", id="japanese"),
        pytest.param("แล้วงบประมาณล่ะ", "แล้ว", id="thai"),
        pytest.param("嗯，那预算呢", "嗯，那预", id="mark-within-a-script-without-spaces"),
        pytest.param("好！", "好", id="fullwidth-mark"),
        pytest.param("\n  so  ", "so", id="space-around"),
        pytest.param("", "", id="empty"),
        pytest.param(" \n", "", id="blank"),
        pytest.param("...", "", id="marks-alone"),
    ],
)
def test_an_opener_is_the_first_word_or_the_first_letters(text: str, word: str) -> None:
    assert opener(text) == word


def test_two_chinese_messages_that_begin_alike_share_an_opener() -> None:
    assert opener("那我应该买几个水果") == opener("那我应该带什么衣服") == "那我应该"


def page(audits: dict[str, Audit], stops: dict[str, Any] | None = None, attacks: Sequence[tuple[str, str]] = ()) -> str:
    return markdown(audits, stops or {}, attacks, ["- two prompts agree"])


def test_the_page_shows_counts_with_their_share_of_the_messages(held: list[Episode]) -> None:
    stop = {"n": 200, "planned": 300, "saved": 100, "reached": True, "widths": {"english helpful": 0.1}}
    late = {"n": 300, "planned": 300, "saved": 0, "reached": False, "widths": {}}
    assert page({"M": audit(held, leaks=1)}, {"j": stop, "k": late}, [("j", "2 of 9 scores rose")]) == "\n".join(
        [
            "# Audit",
            "",
            "## The simulated user",
            "",
            f"| {' | '.join(HEADINGS)} |",
            "| --- | ---: | ---: | ---: | ---: | ---: | --- | ---: |",
            "| M | 5 | 4 (80%) | 3 | 1 | 3 | ok 3, hm 1, how 1 | 14 ± 5 |",
            "",
            "Faults by check, as a share of the messages:",
            "",
            "- M: length 3 (60%), skips ahead 2 (40%)",
            "",
            "## How dialogues ended",
            "",
            "- M: all shards cleared 3, turn cap 1",
            "",
            "## Stopping early",
            "",
            "- j: precision reached after 200 of 300 dialogues, 100 saved",
            "- k: precision not reached after 300 of 300 dialogues, 0 saved",
            "",
            "## Attacks on the judge",
            "",
            "- j: 2 of 9 scores rose",
            "",
            "## The judge's prompts compared",
            "",
            "- two prompts agree",
            "",
        ]
    )


def test_zero_messages_are_shown_as_zero() -> None:
    lines = page({"M": NOTHING}).split("\n")
    assert lines[6] == "| M | 0 | 0 | 0 | 0 | 0 |  | 0 ± 0 |"
    assert lines[10] == "- M: none"


def test_what_was_not_asked_for_is_said_to_be_missing() -> None:
    lines = page({"M": NOTHING}).split("\n")
    assert lines[-13:-4] == [
        "",
        "## Stopping early",
        "",
        "- not asked for (precision=null)",
        "",
        "## Attacks on the judge",
        "",
        "- not measured; stage=attack does",
        "",
    ]


@pytest.mark.parametrize(
    ("message", "cell"),
    [
        pytest.param("a|b|c", "a\\|b\\|c 1", id="bar"),
        pytest.param("<i>a</i>", "\\<i\\>a\\</i\\> 1", id="tags"),
        pytest.param("<b>|", "\\<b\\>\\| 1", id="both"),
        pytest.param("[win](javascript:alert(1))", "[win\\](javascript:alert(1)) 1", id="link"),
        pytest.param("![p](http://evil/x.png)", "[p\\](http://evil/x.png) 1", id="picture"),
        pytest.param("\x1b]0;owned\x07", "⟨U+001B⟩]0;owned⟨U+0007⟩ 1", id="terminal"),
        pytest.param("\u202egnp", "⟨U+202E⟩gnp 1", id="direction"),
        pytest.param("a" * 61, f"{'a' * 60}… 1", id="long"),
    ],
)
def test_no_opener_breaks_the_table_or_the_page(scenario: Scenario, message: str, cell: str) -> None:
    found = audit([episode_of(scenario, (said("first"), said(message)))], leaks=0)
    row = page({"M": found}).split("\n")[6]
    assert row == f"| M | 1 | 0 (0%) | 0 | 0 | 1 | {cell} | {len(message)} ± 0 |"
    assert row.replace("\\|", "").count("|") == 9


@pytest.mark.parametrize(
    ("leaks", "searched", "cell"),
    [
        pytest.param(3, 20, "3", id="all-messages"),
        pytest.param(3, 10, "3 of 10 searched", id="those-of-a-sample"),
        pytest.param(None, 0, "–", id="none-can-be-read"),
    ],
)
def test_what_was_not_searched_is_not_counted_as_free_of_leaks(leaks: int | None, searched: int, cell: str) -> None:
    page = markdown({"A": Tally(messages=20).audit(leaks, searched)}, {}, [], [])
    (row,) = [line for line in page.splitlines() if line.startswith("| A |")]
    assert row.split(" | ")[4] == cell


def test_names_of_checks_and_assistants_are_text(scenario: Scenario) -> None:
    found = audit([episode_of(scenario, (said("first"), said("so", "[x](y)\x1b<b>")))], leaks=0)
    text = markdown({"A\x1b|[l](m)": found}, {"[j](k)": STOP}, [("<j>", "none rose")], [])
    assert "- A⟨U+001B⟩\\|[l\\](m): [x\\](y)⟨U+001B⟩\\<b\\> 1 (100%)\n" in text
    assert "- A⟨U+001B⟩\\|[l\\](m): shard cap 1\n" in text
    assert "- [j\\](k): precision reached after 2 of 3 dialogues, 1 saved\n" in text
    assert "- \\<j\\>: none rose\n" in text


STOP = {"n": 2, "planned": 3, "saved": 1, "reached": True}
