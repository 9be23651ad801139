"""Sheets for people: blind, shuffled, safe to open, never written over; and from there to the figures of align."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import krippendorff
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr  # type: ignore[import-untyped]

from ccfw.crisp.rating import Rated, blind, drawn, filled, key, sheet
from ccfw.crisp.reading import read_situations, shipped_folder
from ccfw.crisp.records import ResponseRecord, Scale, Situation
from ccfw.records import Failure, FailureKind
from tests.crisp.situated import Situated
from tests.crisp.test_stages import STARTER, out
from tests.e2e.running import Run, ccfw, own_options, scripted
from tests.fakes.provider import FakeProvider
from tests.samples import ROOT

SITUATIONS = read_situations(shipped_folder())


def answered(situation: Situation, policy: str, number: int = 1, answer: str = "Wait.", reason: str = "So.") -> Rated:
    return Rated(
        situation,
        ResponseRecord(
            response_id=f"{situation.situation_id}::{policy}::{number}",
            situation_id=situation.situation_id,
            norm_id=situation.norm.norm_id,
            culture=situation.norm.culture,
            policy=policy,
            number=number,
            answer=answer,
            reasoning=reason,
            failure=None,
        ),
    )


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.removeprefix("\ufeff").splitlines(keepends=True)))


MANY = [answered(each, policy) for each in SITUATIONS[:40] for policy in ("gpt5mini", "haiku45")]


def test_a_sheet_says_nothing_of_the_policy_and_no_two_raters_have_one_order() -> None:
    sheets = {rater: sheet(MANY, rater, Scale.OUTCOME, 7) for rater in ("ann", "bo")}
    orders = {rater: [row["item"] for row in rows(text)] for rater, text in sheets.items()}
    assert orders["ann"] != orders["bo"]
    assert sorted(orders["ann"]) == sorted(orders["bo"]) == sorted({blind(e.response.response_id, 7) for e in MANY})
    assert orders["ann"] == [row["item"] for row in rows(sheet(MANY[::-1], "ann", Scale.OUTCOME, 7))]
    assert orders["ann"] != [row["item"] for row in rows(sheet(MANY, "ann", Scale.OUTCOME, 8))]
    for text in sheets.values():
        assert "gpt5mini" not in text
        assert "haiku45" not in text
        assert {(row["metric"], row["score"], row["comment"]) for row in rows(text)} == {("outcome", "", "")}
    assert {row["rater"] for row in rows(sheets["bo"])} == {"bo"}


def test_the_reasoning_is_shown_only_where_it_is_rated() -> None:
    rated = [answered(SITUATIONS[0], "one", reason="Because of the elder.")]
    assert "elder." not in sheet(rated, "ann", Scale.OUTCOME, 0)
    (row,) = rows(sheet(rated, "ann", Scale.NORM_MATCH, 0))
    assert row["reasoning"] == "Because of the elder."
    assert row["norm"] == SITUATIONS[0].norm.norm


def test_an_answer_keeps_its_script_and_no_spreadsheet_works_it_out() -> None:
    hostile = answered(SITUATIONS[0], "one", answer='=HYPERLINK("http://x","y")', reason="@now \u202e\x1b[2J")
    polite = answered(SITUATIONS[1], "one", answer="入门先脱鞋，再问好。\nশুভ সকাল")
    text = sheet([hostile, polite], "ann", Scale.NORM_MATCH, 0)
    assert text.startswith("\ufeff")
    by_answer = {row["answer"]: row for row in rows(text)}
    assert set(by_answer) == {'\'=HYPERLINK("http://x","y")', "入门先脱鞋，再问好。\nশুভ সকাল"}
    assert by_answer['\'=HYPERLINK("http://x","y")']["reasoning"] == "'@now ⟨U+202E⟩⟨U+001B⟩[2J"


@given(st.integers(1, 60), st.integers(0, 5))
def test_what_is_drawn_is_a_fair_share_of_policies_and_does_not_hang_on_the_order(items: int, seed: int) -> None:
    found = drawn(MANY, items, seed)
    assert len(found) == items
    assert found == drawn(MANY[::-1], items, seed)
    assert found == drawn(MANY, 60, seed)[:items]  # a few more are those few, and more


def test_what_could_not_be_read_is_not_rated() -> None:
    failure = Failure(kind=FailureKind.UNPARSED, detail="no JSON")
    mute = answered(SITUATIONS[0], "one")
    lost = mute._replace(response=mute.response.model_copy(update={"answer": "", "failure": failure}))
    assert drawn([lost, answered(SITUATIONS[1], "one")], None, 0) == (answered(SITUATIONS[1], "one"),)


def test_the_key_tells_whose_answers_they_are() -> None:
    (row,) = rows(key([answered(SITUATIONS[0], "one", 3)], 5))
    assert row["item"] == blind(f"{SITUATIONS[0].situation_id}::one::3", 5)
    assert (row["policy"], row["norm"]) == ("one", SITUATIONS[0].norm.norm_id)


@pytest.mark.parametrize(
    ("text", "begun"),
    [
        ("item,rater,score,comment\nr1,ann,,\n", False),
        ("\ufeffitem,rater,score,comment\r\nr1,ann,4,\r\n", True),
        ("item,rater,score,comment\nr1,ann, ,odd\n", True),
        ("item;rater;score;comment\nr1;ann;4;\n", True),  # saved with other marks: somebody worked on it
        ('item,rater,score,comment\nr1,ann,"4\n', True),
        ("", False),
    ],
)
def test_a_sheet_is_begun_when_somebody_wrote_into_it(text: str, begun: bool) -> None:
    assert filled(text).begun is begun


# ---- through the door


@pytest.fixture(scope="module")
def provider() -> Iterator[FakeProvider]:
    with FakeProvider(Situated()) as provider:
        yield provider


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory, provider: FakeProvider) -> tuple[str, ...]:
    conf = own_options(tmp_path_factory.mktemp("conf"), provider.base_url, ["one", "two_longer"])
    policies = "crisp.responses.policies=[one,two_longer]"
    return (
        f"--config-dir={conf}",
        *scripted(provider),
        *STARTER,
        "limit=24",
        "crisp.responses.k=1",
        policies,
        "judge=one_judge",
    )


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory, line: tuple[str, ...], provider: FakeProvider) -> Run:
    return ccfw(tmp_path_factory.mktemp("rated"), *line, "crisp.rating.raters=[ann,bo]", provider=provider)


def fill(path: Path, scores: Mapping[str, int]) -> None:
    """Write scores into a sheet, as somebody with a spreadsheet does."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        found = list(csv.DictReader(file))
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, list(found[0]))
        writer.writeheader()
        writer.writerows(row | {"score": str(scores.get(row["item"], ""))} for row in found)


@pytest.mark.parametrize(("scale", "low", "high"), [("outcome", 1, 5), ("norm_match", 0, 2)])
def test_filled_sheets_are_held_against_the_judge_by_the_documented_line(
    answers: Run, line: tuple[str, ...], scale: str, low: int, high: int
) -> None:
    folder = out(answers, "responses")
    with (folder / f"{scale}.csv").open(encoding="utf-8", newline="") as file:
        judged = {row["blind"]: int(row["score"]) for row in csv.DictReader(file)}
    assert len(judged) > 20
    people = {
        "ann": {item: min(high, score + number % 2) for number, (item, score) in enumerate(sorted(judged.items()))},
        "bo": {item: max(low, score - number % 3 // 2) for number, (item, score) in enumerate(sorted(judged.items()))},
    }
    del people["bo"][min(judged)]  # who left a line empty gave no score
    for rater, scores in people.items():
        fill(folder / "rating" / scale / f"{rater}.csv", scores)
    documented = next(
        text
        for text in re.findall(r"```bash\n(.*?)```", (ROOT / "docs" / "crisp.md").read_text("utf-8"), re.DOTALL)
        if "stage=align" in text
    )
    first, *rest = documented.replace("\\\n", " ").strip().splitlines()
    text = {"outcome": first, "norm_match": rest[-1]}[scale].replace("…", str(folder))
    words = [each.strip("'") for each in text.split()][3:]
    words = ["judge=one_judge" if each.startswith("judge=") else each for each in words]
    model = [each for each in line if each.startswith(("model=", "model.", "--config"))]
    done = ccfw(answers.folder, *model, *words, "tracking=none", "bootstrap.resamples=50")
    assert done.code == 0, done.err
    assert "/normcompass_starter/align/" in done.closings["align"]["out"]
    told = json.loads((out(done, "align") / "agreement.json").read_text("utf-8"))
    ratings = [[own.get(item, float("nan")) for item in sorted(judged)] for own in people.values()]
    alpha = krippendorff.alpha(ratings, level_of_measurement="ordinal")
    assert told["reliability"][f"metric/{scale}"]["alpha_ordinal"] == pytest.approx(alpha)
    means = [sum(s) / len(s) for item in sorted(judged) if (s := [o[item] for o in people.values() if item in o])]
    rho = spearmanr([judged[item] for item in sorted(judged)], means).statistic
    assert told["association"][f"metric/{scale}"]["spearman"] == pytest.approx(rho)
    assert any(name.startswith("region/Japan") for name in told["metrics"]), list(told["metrics"])[:20]


def test_a_sheet_that_is_being_filled_in_is_never_written_over(
    answers: Run, line: tuple[str, ...], provider: FakeProvider
) -> None:
    folder = out(answers, "responses")
    path, untouched = folder / "rating" / "outcome" / "ann.csv", folder / "rating" / "norm_match" / "bo.csv"
    item = next(row["item"] for row in rows(path.read_text("utf-8")))
    fill(path, {item: 3})
    before = path.read_bytes()
    fill(untouched, {})
    again = ccfw(answers.folder, *line, "crisp.rating.raters=[ann,bo]", "crisp.rating.items=5", provider=provider)
    assert again.requests == ()
    assert path.read_bytes() == before
    assert f"{path.relative_to(answers.folder)}: is being filled in and is left as it is" in again.err
    assert len(rows(untouched.read_text("utf-8"))) == 5


def test_the_guidelines_stand_beside_the_sheets(answers: Run) -> None:
    folder = out(answers, "responses") / "rating"
    found = sorted(path.name for path in folder.iterdir())
    assert found == ["key.csv", "norm_match", "norm_match.md", "outcome", "outcome.md"]
    for scale, scores in (("outcome", "54321"), ("norm_match", "210")):
        told = (folder / f"{scale}.md").read_text("utf-8")
        assert re.findall(r"^\| (\d) \|", told, re.MULTILINE) == list(scores)
    with (folder / "key.csv").open(encoding="utf-8", newline="") as file:
        policies = Counter(row["policy"] for row in csv.DictReader(file))
    assert set(policies) == {"one", "two_longer"}
