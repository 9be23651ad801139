"""Two prompts of one judge beside each other, worked out by hand."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping

import pytest

from ccfw.llm.types import Usage
from ccfw.records import Metric
from ccfw.report.wordings import (
    ALL,
    Agreement,
    Cost,
    Key,
    Wording,
    agreements,
    agreements_csv,
    cost,
    costs_csv,
    markdown,
)
from tests.samples import reply

HELPFUL, HONEST = Metric.HELPFUL, Metric.HONEST
UNKNOWN = Cost(3, None, None, None, None, None)
FIRST: dict[Key, int | None] = {
    ("e1", HELPFUL): 4,
    ("e1", HONEST): 3,
    ("e2", HELPFUL): 2,
    ("e2", HONEST): None,
    ("e3", HELPFUL): 5,
}
SECOND: dict[Key, int | None] = {
    ("e1", HELPFUL): 5,
    ("e1", HONEST): 1,
    ("e2", HELPFUL): 2,
    ("e2", HONEST): 3,
    ("e3", HELPFUL): None,
    ("e4", HELPFUL): 1,
}


def wording(style: str, scores: Mapping[Key, int | None], judge: str = "j", spent: Cost = UNKNOWN) -> Wording:
    return Wording(judge, style, scores, spent)


def compared(*wordings: Wording, resamples: int = 200) -> list[Agreement]:
    return agreements(wordings, seed=0, resamples=resamples, level=0.95)


def by_metric(found: list[Agreement]) -> dict[str, Agreement]:
    return {row.metric: row for row in found}


def test_each_metric_and_all_of_them_are_counted_over_what_both_hold() -> None:
    """Helpful differs by +1 and 0, honest by -2; e3 has no second score, e4 no first judgement."""
    found = by_metric(compared(wording("a", FIRST), wording("b", SECOND)))
    assert list(found) == [*(metric.value for metric in Metric), ALL]
    counts = {
        name: (row.judged, row.both, row.exact, row.within_one, row.distance, row.unread)
        for name, row in found.items()
        if row.judged
    }
    assert counts == {
        "helpful": (3, 2, 1, 2, 1, (0, 1)),
        "honest": (2, 1, 0, 0, 2, (1, 0)),
        ALL: (5, 3, 1, 2, 3, (1, 1)),
    }


def test_in_all_an_episode_counts_once_however_many_of_its_scores_are_there() -> None:
    """By episode the differences are (1 - 2) / 2 and 0, so the mean is -0.25; over judgements it would be -1/3."""
    found = by_metric(compared(wording("a", FIRST), wording("b", SECOND)))
    means = {name: (row.difference.mean, row.difference.n) for name, row in found.items() if row.both}
    assert means == {"helpful": (0.5, 2), "honest": (-2.0, 1), ALL: (-0.25, 2)}


def test_scores_of_one_episode_are_resampled_together() -> None:
    """Of ten episodes five moved by 2 in every metric: binomial(10, ½) has its 2.5 and 97.5 % points at 2 and 8."""
    episodes = [f"e{number}" for number in range(10)]
    first: dict[Key, int | None] = {(episode, metric): 3 for episode in episodes for metric in Metric}
    second = {key: 5 if key[0] < "e5" else 3 for key in first}
    interval = by_metric(compared(wording("a", first), wording("b", second)))[ALL].difference
    assert (interval.mean, interval.n) == (1.0, 10)
    assert interval.low == pytest.approx(0.4, abs=0.2)
    assert interval.high == pytest.approx(1.6, abs=0.2)


def test_over_fewer_than_ten_scenarios_there_is_no_interval_however_many_episodes() -> None:
    keys = [f"s{number}__{language}" for number in range(9) for language in ("EN", "NATIVE")]
    scores: dict[Key, int | None] = {(key, HELPFUL): 3 for key in keys}
    assert by_metric(compared(wording("a", scores), wording("b", scores)))["helpful"].difference == (0, None, None, 18)


def test_styles_are_paired_within_a_judge_in_the_order_given() -> None:
    three = [wording(style, FIRST) for style in "abc"]
    found = compared(*three, wording("a", FIRST, judge="other"), wording("b", FIRST, judge="other"))
    pairs = list(dict.fromkeys((row.judge, row.first, row.second) for row in found))
    assert pairs == [("j", "a", "b"), ("j", "a", "c"), ("j", "b", "c"), ("other", "a", "b")]


def test_styles_without_a_judgement_in_common_are_no_pair() -> None:
    assert compared(wording("a", {("e1", HELPFUL): 4}), wording("b", {("e2", HELPFUL): 4})) == []


# ---- cost


def test_a_cost_is_the_sum_over_calls() -> None:
    calls = [reply(usage=Usage(100, 20, 64), cost=0.5), reply(usage=Usage(11, 2, 0), cost=0.25)]
    assert cost(4, calls) == Cost(4, 2, 111, 64, 22, 0.75)


@pytest.mark.parametrize(
    ("usage", "price", "spent"),
    [
        pytest.param(Usage(10, 5, None), 0.25, Cost(1, 2, 20, None, 10, 0.5), id="cached-tokens"),
        pytest.param(Usage(None, 5, 0), 0.25, Cost(1, 2, None, 0, 10, 0.5), id="prompt-tokens"),
        pytest.param(Usage(10, None, 0), 0.25, Cost(1, 2, 20, 0, None, 0.5), id="reply-tokens"),
        pytest.param(Usage(10, 5, 0), None, Cost(1, 2, 20, 0, 10, None), id="price"),
        pytest.param(Usage(10, 5, 0), 0.0, Cost(1, 2, 20, 0, 10, 0.25), id="free-is-known"),
    ],
)
def test_one_unknown_makes_a_sum_unknown_and_no_other(usage: Usage, price: float | None, spent: Cost) -> None:
    known = reply(usage=Usage(10, 5, None if usage.cached_tokens is None else 0), cost=0.25)
    assert cost(1, [known, reply(usage=usage, cost=price)]) == spent


def test_without_the_replies_nothing_is_known() -> None:
    assert cost(3, None) == UNKNOWN


# ---- the page and the files


PRICED = Cost(3, 18, 3000, None, 600, 0.0375)


def test_the_page_shows_both_tables() -> None:
    both = [wording("v1/a", FIRST, spent=PRICED), wording("v1/b", SECOND)]
    same = {key: score for key, score in FIRST.items() if key[0] == "e1"}
    lines = markdown(both, compared(wording("v1/a", same), wording("v1/b", same)), 0.95)
    assert lines[:4] == [
        "| Judge | First | Second | Metric | Both scored | Equal % | Within 1 % | Mean distance | Second minus first "
        "| No score, first % | No score, second % |",
        "| --- | --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| j | v1/a | v1/b | helpful | 1 | 100 | 100 | 0.00 | +0.00 | 0 | 0 |",
        "| j | v1/a | v1/b | honest | 1 | 100 | 100 | 0.00 | +0.00 | 0 | 0 |",
    ]
    assert lines[4] == "| j | v1/a | v1/b | harmless | 0 | – | – | – | – | – | – |"
    assert lines[9:] == [
        "",
        "The same episodes, judged by the same model under two styles of prompts. Differences with 95% bootstrap "
        "intervals over episodes; in all, an episode counts once, with the mean of its differences. No score: of the "
        "judgements that both hold.",
        "",
        "**Fewer than 10 scenarios: a mean over so few says little, and has no interval.**",
        "",
        "What judging one episode took, retries included:",
        "",
        "| Judge | Prompts | Episodes | Calls | Prompt tokens | Of those cached | Reply tokens | USD |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| j | v1/a | 3 | 6.0 | 1000 | unknown | 200 | 0.012500 |",
        "| j | v1/b | 3 | unknown | unknown | unknown | unknown | unknown |",
    ]


def test_over_enough_dialogues_nobody_is_warned() -> None:
    scores: dict[Key, int | None] = {(f"e{number}", HELPFUL): 3 for number in range(10)}
    both = [wording(style, scores, spent=Cost(10, None, None, None, None, None)) for style in "ab"]
    assert "Fewer" not in "".join(markdown(both, compared(*both), 0.95))


def test_with_one_style_the_page_says_what_would_fill_it() -> None:
    assert markdown([], [], 0.95) == ["- nothing to compare: judge the same episodes once more with another prompt=…"]


def test_the_csv_is_read_back_and_leaves_empty_what_is_not_known() -> None:
    found = compared(wording("a", FIRST), wording("b", SECOND))
    rows = {row["metric"]: row for row in csv.DictReader(io.StringIO(agreements_csv(found)))}
    assert list(rows["helpful"].values())[:9] == [
        "j",
        "a",
        "b",
        "helpful",
        "3",
        "2",
        "0.500000",
        "1.000000",
        "0.500000",
    ]
    assert float(rows["helpful"]["difference"]) == 0.5
    assert (rows["helpful"]["no_score_first"], rows["helpful"]["no_score_second"]) == ("0.000000", "0.333333")
    assert list(rows["harmless"].values())[4:] == ["0", "0", *[""] * 8]


def test_the_costs_are_read_back_and_leave_empty_what_is_not_known() -> None:
    text = costs_csv([wording("a", FIRST, spent=PRICED), wording("b", SECOND)])
    assert text.splitlines() == [
        "judge,prompts,episodes,calls,prompt_tokens,cached_tokens,reply_tokens,usd,usd_per_episode",
        "j,a,3,18,3000,,600,0.03750000,0.01250000",
        "j,b,3,,,,,,",
    ]
