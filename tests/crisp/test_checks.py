"""Checks of scenarios, guidance and triplets: each has something to say to its fault, and nothing to a good text."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ccfw.checks.text import sentences
from ccfw.crisp.checks import (
    check_draft,
    check_guidance,
    check_scene,
    check_triplet,
    leaks,
    tone,
    word_tells,
)
from ccfw.crisp.chronotopes import DIMENSIONS, Declared, check_chronotope, differing, form, read_chronotope
from ccfw.crisp.reading import read_situations, shipped_folder
from ccfw.crisp.records import Chronotope, Draft, Norm, Triplet
from tests.crisp.situated import body

NORM = Norm(
    norm_id="n",
    norm="Visitors to a workshop usually leave muddy boots on the rack outside and wait until the foreman waves.",
    culture="Norway",
    norm_type="workplace",
    source="own",
    licence="CC0-1.0",
    origin="n",
)
DRAFT = Draft(
    scenario=body(1, 1),
    question="What could Marit do once the latch clicks?",
    hidden_expected_answer="She stays where she is until somebody in charge gives her a sign.",
)
GOOD = Triplet(
    appropriate="Marit can put her boots beside the others, wait by the door and come in when he lifts a hand.",
    generic="Marit can look at the hooks for a while, think of her cousin and decide what to do in time.",
    opposite="Marit can walk straight in with her boots on, nod to everybody and go over to the green lamp.",
)


def found(draft: Draft) -> set[tuple[str, str]]:
    return {(issue.check, issue.where) for issue in check_draft(NORM, draft)}


def with_(**changes: str) -> Draft:
    return DRAFT.model_copy(update=changes)


def test_a_good_draft_has_no_fault() -> None:
    assert check_draft(NORM, DRAFT) == ()


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        pytest.param({"scenario": f"{body(1, 1)} {NORM.norm}"}, ("leak", "scenario"), id="verbatim"),
        pytest.param(
            {"scenario": f"{body(1, 1)} Here visitors leave their muddy boots outside and wait; the foreman waves."},
            ("leak", "scenario"),
            id="paraphrase",
        ),
        pytest.param({"question": "Should she leave muddy boots outside?"}, ("leak", "question"), id="in-question"),
        pytest.param(
            {"scenario": f"{body(1, 1)} She stays where she is until somebody in charge gives her a sign."},
            ("leak", "scenario"),
            id="hidden-answer",
        ),
        pytest.param(
            {"scenario": f"{body(1, 1)} In this culture people take their time."}, ("explained", "scenario"), id="told"
        ),
        pytest.param({"scenario": "Too short."}, ("length", "scenario"), id="short"),
        pytest.param({"question": "Tell what Marit does."}, ("question", "question"), id="no-question"),
        pytest.param({"question": "What now? And then?"}, ("question", "question"), id="two-questions"),
        pytest.param({"question": "Shouldn't Marit wait?"}, ("neutral", "question"), id="suggests"),
        pytest.param({"question": "Which custom applies here?"}, ("neutral", "question"), id="asks-for-the-rule"),
    ],
)
def test_each_fault_of_a_draft_is_named(changes: dict[str, str], fault: tuple[str, str]) -> None:
    assert fault in found(with_(**changes))


def test_words_of_the_scenario_are_free_in_the_question() -> None:
    told = "Boots stand on the rack outside, and the foreman waves from behind the pane."
    assert "leak" not in {
        issue.check for issue in leaks(NORM, with_(scenario=f"{body(1, 1)} {told}")) if issue.where == "question"
    }


@pytest.mark.parametrize(
    ("guidance", "gives_away"),
    [
        ("Look at what lies on the bench before you decide.", False),
        (f"Remember: {NORM.norm}", True),
        ("Say that visitors leave boots on the rack outside and wait until the foreman waves.", True),
        ("She stays where she is until somebody in charge gives her a sign.", True),
    ],
)
def test_guidance_must_not_carry_what_the_reasoner_may_not_see(guidance: str, gives_away: bool) -> None:
    assert bool(check_guidance(NORM, DRAFT, guidance)) is gives_away


SHIPPED = read_situations(shipped_folder())
HIDERS: dict[str, Callable[[str], str]] = {
    "joiner": lambda text: " ".join(f"{word[:1]}\u200d{word[1:]}" for word in text.split()),
    "soft hyphen": lambda text: "\u00ad".join(text),
    "selector": lambda text: "\ufe0f".join(text),
    "look-alikes": lambda text: text.translate(str.maketrans("aeocpx", "аеосрх")),
    "one look-alike": lambda text: text.replace("e", "е"),
    "full width": lambda text: text.translate({code: code + 0xFEE0 for code in range(0x21, 0x7F)}),
    "spaced": lambda text: " ".join(text),
    "dotted": lambda text: ". ".join(text),
    "reversed": lambda text: text[::-1],
    "underscores": lambda text: "_".join(text.split()),
    "pieces": lambda text: ". ".join(" ".join(text.split()[i : i + 3]) for i in range(0, len(text.split()), 3)),
}


@pytest.mark.parametrize("hide", HIDERS.values(), ids=HIDERS)
def test_no_disguise_brings_norm_or_answer_to_the_reasoner(hide: Callable[[str], str]) -> None:
    for each in SHIPPED:
        for hidden in (each.norm.norm, each.draft.hidden_expected_answer):
            assert check_guidance(each.norm, each.draft, hide(hidden)), (each.situation_id, hide(hidden))


def test_a_disguised_norm_is_a_leak_of_a_scenario_too() -> None:
    for name in ("joiner", "soft hyphen", "look-alikes", "full width"):
        scene = f"{body(1, 1)} {HIDERS[name](NORM.norm)}"
        assert ("leak", "scenario") in found(with_(scenario=scene)), name
    assert ("explained", "scenario") in found(with_(scenario=f"{body(1, 1)} In this сulture people wait."))


@pytest.mark.parametrize(
    "guidance",
    [
        "Wait for a sign of somebody in charge.",
        "Marit should change.",
        "She has to think of the door.",
        "Somebody in charge gives her a sign, remember.",
    ],
)
def test_a_clause_of_the_answer_and_an_order_to_somebody_of_the_scene_are_leaks(guidance: str) -> None:
    assert check_guidance(NORM, DRAFT, guidance)


def test_guidance_may_say_what_is_missing_and_quote_the_scene() -> None:
    hints = (
        "Your reason leans on the culture's name. Point to the two details in the scene that made you choose this act.",
        "The order in which people act was passed over; the last step of your reason, why it matters now, is missing.",
    )
    for each in SHIPPED:
        quoted = [f"Look again at this and say what it shows: {part}." for part in sentences(each.draft.scenario)]
        refused = [hint for hint in (*hints, *quoted) if check_guidance(each.norm, each.draft, hint)]
        assert refused == [], each.situation_id


def test_a_scene_told_again_is_found_and_another_is_not() -> None:
    other = with_(scenario=SHIPPED[0].draft.scenario)
    again = with_(scenario=body(1, 1).replace("Marit", "Berit").replace("umbrella", "raincoat"))
    assert check_scene(DRAFT, [other]) == ()
    assert [issue.where for issue in check_scene(again, [other, DRAFT])] == ["scenario"]
    assert check_scene(again, [other, DRAFT])[0].found == "accepted scene 2"


# ---- triplets


def triplet_faults(**changes: str) -> set[tuple[str, str]]:
    return {(i.check, i.where) for i in check_triplet(NORM, GOOD.model_copy(update=changes))}


def test_a_good_triplet_has_no_fault() -> None:
    assert check_triplet(NORM, GOOD) == ()


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        pytest.param({"generic": "Marit waits."}, ("length", "generic"), id="short"),
        pytest.param({"opposite": GOOD.opposite + " And so on" * 4}, ("length", "opposite"), id="long"),
        pytest.param({"generic": GOOD.appropriate}, ("same", "generic"), id="copy"),
        pytest.param({"opposite": f"This violates it: {GOOD.opposite}"}, ("label", "opposite"), id="label"),
        pytest.param({"opposite": "Being insensitive, " + GOOD.opposite}, ("label", "opposite"), id="insensitive"),
        pytest.param({"appropriate": NORM.norm}, ("label", "appropriate"), id="the-norm"),
        pytest.param(
            {"generic": "Perhaps Marit might possibly, maybe look around and could decide what seems best now."},
            ("tone", "hedges"),
            id="hedged",
        ),
        pytest.param(
            {"opposite": GOOD.opposite.replace(",", "!").replace(".", "!!!")}, ("tone", "exclamations"), id="loud"
        ),
    ],
)
def test_each_fault_of_a_triplet_is_named(changes: dict[str, str], fault: tuple[str, str]) -> None:
    assert fault in triplet_faults(**changes)


def test_words_may_differ_by_fifteen_per_cent_and_no_more() -> None:
    base = " ".join(["word"] * 20)
    for words, fine in ((17, True), (23, True), (16, False), (24, False)):
        other = " ".join(["text"] * words)
        issues = check_triplet(NORM, Triplet(appropriate=base, generic=other, opposite=f"{base[:-4]}last"))
        assert ("length" not in {issue.check for issue in issues}) is fine, words


def test_lengths_are_held_to_where_words_are_not_parted() -> None:
    long = "请她先把雨伞挂在门边的钩子上,然后等一分钟,再慢慢推开门进去。"
    issues = check_triplet(NORM, Triplet(appropriate=long, generic="直接进去坐下。", opposite="不要进去。"))
    lengths = {(issue.where, issue.found) for issue in issues if issue.check == "length"}
    assert lengths == {("generic", "3 words"), ("opposite", "2 words")}  # two characters a word


def test_tone_is_counted_by_hand() -> None:
    assert tone("Please, perhaps! Could she wait? Perhaps not.") == {
        "hedges": 3,
        "politeness": 1,
        "exclamations": 1,
        "questions": 1,
    }


def test_a_word_that_tells_a_role_is_found() -> None:
    made = [
        Triplet(appropriate=f"take seat {i}", generic=f"look calmly {i}", opposite=f"run off {i}") for i in range(8)
    ]
    tells = {(tell.word, tell.role, tell.times, tell.others) for tell in word_tells(made)}
    assert ("calmly", "generic", 8, 0) in tells
    assert ("seat", "appropriate", 8, 0) in tells
    assert word_tells(made[:7]) == []


# ---- chronotopes

FIRST = next(each for each in SHIPPED if each.situation_id == "china_s01")


def changed(**fields: str) -> Chronotope:
    return FIRST.chronotope.model_copy(update=fields)


def test_surface_changes_are_no_difference_in_structure() -> None:
    assert differing(FIRST.chronotope, FIRST.chronotope) == ()
    assert differing(FIRST.chronotope, changed(privacy_or_formality_level="quite public")) == ()


def test_each_dimension_is_told_by_its_fields() -> None:
    for name, fields in DIMENSIONS.items():
        other = changed(**dict.fromkeys(fields, "quite another thing altogether"))
        assert differing(FIRST.chronotope, other) == (name,)


def test_one_dimension_is_not_enough_and_two_are() -> None:
    accepted = [FIRST.chronotope]
    one = Declared(changed(time="during a lunch break"), ("temporal_regime", "occasion_or_activity"))
    assert [issue.check for issue in check_chronotope(FIRST.norm, one, accepted)] == ["structure", "declaration"]
    both = changed(time="during a lunch break", occasion="repairing a bicycle")
    fine = Declared(both, ("temporal_regime", "occasion_or_activity"))
    assert check_chronotope(FIRST.norm, fine, accepted) == ()


def test_a_declaration_that_the_fields_do_not_bear_out_is_refused() -> None:
    both = changed(time="during a lunch break", occasion="repairing a bicycle")
    said = Declared(both, ("relationship_configuration", "potential_tension"))
    (issue,) = check_chronotope(FIRST.norm, said, [FIRST.chronotope])
    assert (issue.check, issue.where, issue.says) == (
        "declaration",
        "accepted 1",
        "differences that the fields really show",
    )


def test_a_norm_in_a_field_is_a_leak() -> None:
    (issue,) = check_chronotope(FIRST.norm, Declared(changed(occasion=FIRST.norm.norm), ()), ())
    assert (issue.check, issue.where, issue.says) == ("leak", "occasion", "nothing of the norm")


def test_the_first_of_a_norm_declares_nothing_and_a_later_one_two_dimensions_each_once() -> None:
    first = FIRST.chronotope.model_dump_json()
    assert "differs_in" not in form(0)["properties"]
    assert read_chronotope(first, 0) == Declared(FIRST.chronotope, ())
    missing = read_chronotope(first, 1)
    assert isinstance(missing, tuple)
    assert [issue.where for issue in missing] == ["differs_in"]
    twice = first[:-1] + ',"differs_in":["temporal_regime","temporal_regime"]}'
    again = read_chronotope(twice, 1)
    assert isinstance(again, tuple)
    assert again[0].says == "each dimension once"
