"""Accuracy and calibration of margins, what wording alone gives, and norms held out."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccfw.align.alignment import ALL, Terms
from ccfw.crisp.records import PairKind, Preference
from ccfw.training import supervising
from ccfw.training.pairs import LENGTH_GAPS, Margin, accuracies, calibration, fault_of, gap_of
from ccfw.training.splitting import sorted_out, split_by_norm, split_faults
from ccfw.training.wording import wording_margins

TERMS = Terms(seed=0, resamples=100, level=0.95)


def pair(number: int, chosen: str = "a b", rejected: str = "c d", **changes: object) -> Preference:
    fields: dict[str, object] = {
        "pair_id": f"p{number}",
        "situation_id": f"s{number}",
        "norm_id": f"n{number}",
        "culture": "Japan",
        "split": "train",
        "kind": PairKind.APPROPRIATE_OPPOSITE,
        "scenario": "Somebody comes in.",
        "question": "What now?",
        "chosen": chosen,
        "rejected": rejected,
        "chosen_from": "appropriate",
        "rejected_from": "opposite",
        "gap": None,
    }
    return Preference.model_validate(fields | changes)


def test_the_examples_of_files_in_the_documentation_are_what_training_takes() -> None:
    page = (Path(__file__).parents[2] / "docs" / "training.md").read_text("utf-8")
    preference, grade = re.findall(r"^```json\n(.+)\n```$", page, re.MULTILINE)
    assert fault_of(Preference.model_validate_json(preference)) is None
    assert supervising.fault_of(supervising.Grade.model_validate_json(grade)) is None
    section = page.partition("### Pairs of one's own\n")[2].partition("\nLong texts")[0].replace(preference, "")
    named = set(re.findall(r"`(\w+)`", section))
    assert named >= set(json.loads(preference))


def test_accuracy_counts_a_tie_half_and_has_every_slice() -> None:
    long = "w " * 12
    found = [
        Margin(pair(1), 2.0),
        Margin(pair(2, culture="Italy"), -1.0),
        Margin(pair(3, kind=PairKind.GENERIC_OPPOSITE), 0.0),
        Margin(pair(4, long, "w"), 0.1),
    ]
    figures, counts = accuracies(found, TERMS)
    assert (figures[ALL].value, counts[ALL]) == (0.625, 4)
    assert figures["culture", "Italy"].value == 0.0
    assert figures["kind", "generic_opposite"].value == 0.5
    assert counts["length_gap", "chosen longer by 10 words or more"] == 1
    assert counts["length_gap", "equally long"] == 3


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ((1, 12), "chosen shorter by 10 words or more"),
        ((1, 11), "chosen shorter by 10 words or more"),
        ((1, 10), "shorter by 1–9"),
        ((5, 5), "equally long"),
        ((10, 1), "longer by 1–9"),
        ((11, 1), "chosen longer by 10 words or more"),
    ],
)
def test_every_difference_in_length_has_a_class(words: tuple[int, int], name: str) -> None:
    assert gap_of(pair(1, "w " * words[0], "w " * words[1])) == name


def test_groups_of_length_stand_in_the_order_of_length_and_the_others_by_name() -> None:
    words = [(12, 1), (1, 1), (1, 12), (2, 1), (1, 2)]
    found = [
        Margin(pair(i, "w " * chosen, "v " * rejected, culture=culture), 1.0)
        for i, ((chosen, rejected), culture) in enumerate(
            zip(words, ("Peru", "Italy", "Japan", "Italy", "Chad"), strict=True)
        )
    ]
    figures, counts = accuracies(found, TERMS)
    assert [name for partition, name in figures if partition == "length_gap"] == [name for *_, name in LENGTH_GAPS]
    assert [name for partition, name in figures if partition == "culture"] == ["Chad", "Italy", "Japan", "Peru"]
    assert list(counts) == list(figures)
    assert next(iter(figures)) == ALL


@pytest.mark.parametrize(
    ("chosen", "rejected", "fault"),
    [
        ("Bow first.", "Wave first.", None),
        ("", "Wave.", "no chosen answer"),
        ("Bow.", " \n\u200b", "no rejected answer"),
        ("", "", "no answers"),
        ("Bow first.", "Bow first.", "both answers the same"),
        ("Bow first.", "bow,  first!", "both answers the same"),
        ("まず お辞儀。", "まず 手を振る。", None),
        ("👍", "👎", None),
        ("👍", "👍 ", "both answers the same"),
    ],
)
def test_a_pair_teaches_something_if_both_answers_say_something_and_not_the_same(
    chosen: str, rejected: str, fault: str | None
) -> None:
    assert fault_of(pair(1, chosen, rejected)) == fault


def test_what_is_sorted_out_is_counted_by_reason_and_the_rest_keeps_its_order() -> None:
    pairs = [pair(1), pair(2, "a", "a"), pair(3), pair(4, "", "a"), pair(5, "b", "b")]
    found = sorted_out(pairs, fault_of)
    assert [each.pair_id for each in found.sound] == ["p1", "p3"]
    assert found.faulty == {"both answers the same": 2, "no chosen answer": 1}


def test_calibration_by_hand() -> None:
    sure = math.log(3)  # states 0.75
    found = calibration([sure, sure, sure, -sure])
    assert found is not None
    assert found.bins[0] == pytest.approx((0.8, 0.75, 0.75, 4))
    assert found.error == pytest.approx(0.0)
    assert found.brier == pytest.approx((3 * 0.0625 + 0.5625) / 4)
    assert found.loss == pytest.approx((3 * math.log(4 / 3) + math.log(4)) / 4)


def test_margins_of_nothing_know_nothing() -> None:
    found = calibration([0.0, 0.0])
    assert found is not None
    assert (found.loss, found.brier, found.error) == pytest.approx((math.log(2), 0.0, 0.0))
    assert calibration([]) is None


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30))
def test_calibration_is_finite_and_counts_every_margin(margins: list[float]) -> None:
    found = calibration(margins)
    assert found is not None
    assert sum(count for *_, count in found.bins) == len(margins)
    assert 0.0 <= found.error <= 1.0
    assert math.isfinite(found.loss)


# ---- wording


def test_words_that_tell_the_better_answer_are_found_and_others_are_not() -> None:
    train = [pair(i, f"gently w{i} x", f"firmly w{i} x") for i in range(12)]
    held_out = [
        pair(20, "new words gently", "new words firmly"),
        pair(21, "firmly yes", "gently yes"),
        pair(22, "q", "r"),
    ]
    told = wording_margins(train, held_out)
    assert told[0] > 0.1
    assert told[1] < -0.1
    assert told[2] == 0.0


def test_order_and_question_make_no_difference_to_the_control() -> None:
    train = [pair(i, f"gently w{i}", f"firmly w{i}") for i in range(6)]
    one = wording_margins(train, [pair(9, "gently so", "firmly so")])
    other = wording_margins(train, [pair(9, "so gently", "so firmly", question="Why?", scenario="Elsewhere.")])
    assert one == pytest.approx(other)


# ---- split


def many() -> list[Preference]:
    return [
        pair(3 * norm + k, norm_id=f"{culture}_{norm}", culture=culture)
        for culture in ("Italy", "Japan", "Brunei")
        for norm in range(8)
        for k in range(3)
    ]


@given(st.integers(0, 50), st.sampled_from([0.125, 0.25, 0.5]))
def test_no_norm_is_on_both_sides_and_every_culture_is_held_out_in_proportion(seed: int, share: float) -> None:
    pairs = many()
    split = split_by_norm(pairs, share, seed)
    assert len(split.train) + len(split.held_out) == len(pairs)
    assert not {each.norm_id for each in split.train} & {each.norm_id for each in split.held_out}
    for culture in ("Italy", "Japan", "Brunei"):
        held = {each.norm_id for each in split.held_out if each.culture == culture}
        assert len(held) == 8 * share


def test_another_seed_holds_out_other_norms_and_the_same_the_same() -> None:
    held = [{each.norm_id for each in split_by_norm(many(), 0.25, seed).held_out} for seed in (0, 0, 1)]
    assert held[0] == held[1] != held[2]


def test_without_a_share_the_pairs_own_split_decides() -> None:
    pairs = [pair(1, split="train"), pair(2, split="validation"), pair(3, split="test")]
    split = split_by_norm(pairs, None, 0)
    assert [[each.pair_id for each in part] for part in split] == [["p1"], ["p3"]]
    assert split_faults(split, "reward.held_out", None, "pair") == []


def test_a_norm_in_both_parts_of_the_own_split_is_a_fault() -> None:
    pairs = [pair(number, split="train" if number % 2 else "test", norm_id=f"n{number // 2}") for number in range(10)]
    assert split_faults(split_by_norm(pairs, None, 0), "reward.held_out", None, "pair") == [
        "reward.held_out=null: norms both trained on and held out: n0, n1, n2 and 2 more; give a share, as 0.25"
    ]
    assert split_faults(split_by_norm(pairs, 0.4, 0), "reward.held_out", 0.4, "pair") == []
