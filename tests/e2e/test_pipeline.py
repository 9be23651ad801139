"""The whole pipeline over HTTP: what it prints, writes, asks, shows to whom, and does not pay twice."""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ccfw.records import Metric, Tier
from tests.e2e.conftest import Shared
from tests.e2e.running import GOOD, Run, ccfw, cost_of, own_options, read_lines, scripted
from tests.fakes.provider import FakeProvider, FakeRequest
from tests.fakes.scripts import role_of

STARTER = sorted((Path(__file__).parents[2] / "data" / "starter").glob("*.json"))
STAGES = ("simulate", "evaluate", "report")
Leaf = tuple[str, str]
"""Where a text stands in a scenario (``Blueprint.Public_Context.User_Goal``; list places left out), and the text."""


def leaves(value: Any, path: str = "") -> Iterator[Leaf]:
    """Yield every text of a scenario with its place."""
    if isinstance(value, dict):
        for key, child in value.items():
            yield from leaves(child, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for child in value:
            yield from leaves(child, path)
    elif isinstance(value, str):
        yield path, value


@dataclass(frozen=True)
class Twice:
    """The same command line run twice, and the tables as each left them."""

    first: Run
    second: Run
    tables: tuple[dict[str, bytes], dict[str, bytes]]


def tables(run: Run) -> dict[str, bytes]:
    folder = run.folder / run.closings["report"]["out"]
    return {name: (folder / name).read_bytes() for name in ("table.csv", "table.md", "chart.svg")}


@pytest.fixture(scope="module")
def twice(shared: Shared) -> Twice:
    def make(folder: Path) -> Twice:
        with FakeProvider(GOOD) as provider:
            arguments = scripted(provider, "language=both")
            first = ccfw(folder, *arguments, provider=provider)
            before = tables(first)
            second = ccfw(folder, *arguments, provider=provider)
        return Twice(first, second, (before, tables(second)))

    return shared("twice", make)


def test_a_clean_run_exits_with_0_and_says_nothing_on_stderr(twice: Twice) -> None:
    assert (twice.first.code, twice.first.err) == (0, "")
    assert (twice.second.code, twice.second.err) == (0, "")


def test_every_printed_line_is_a_closing_line_one_a_stage_and_one_for_all(twice: Twice) -> None:
    assert list(twice.first.closings) == [*STAGES, "pipeline"]
    assert {each["status"] for each in twice.first.closings.values()} == {"ok"}


@pytest.mark.parametrize("stage", STAGES)
def test_the_manifest_holds_what_the_closing_line_says(twice: Twice, stage: str) -> None:
    said = twice.second.closings[stage]
    manifest = json.loads((twice.second.folder / said["out"] / "manifest.json").read_text("utf-8"))
    assert {key: manifest[key] for key in said} == said


def test_counts_are_those_of_scenarios_languages_and_metrics(twice: Twice) -> None:
    counts = {stage: (each["done"], each["failed"], each["skipped"]) for stage, each in twice.first.closings.items()}
    dialogues = len(STARTER) * 2
    judgements = dialogues * len(Metric)
    assert counts == {
        "simulate": (dialogues, 0, 0),
        "evaluate": (judgements, 0, 0),
        "report": (2, 0, 0),
        "pipeline": (dialogues + judgements + 2, 0, 0),
    }


def test_calls_counted_are_requests_seen(twice: Twice) -> None:
    closings = twice.first.closings
    talk = len(twice.first.asked("assistant")) + len(twice.first.asked("simulator"))
    judging = len(twice.first.asked("judge"))
    assert [closings[stage]["calls"] for stage in (*STAGES, "pipeline")] == [talk, judging, 0, talk + judging]
    assert len(twice.first.requests) == talk + judging


def test_cost_is_tokens_times_prices(twice: Twice) -> None:
    judging = twice.first.asked("judge")
    talk = [request for request in twice.first.requests if request not in judging]
    stated = [float(twice.first.closings[stage]["cost"]) for stage in (*STAGES, "pipeline")]
    paid = [cost_of(talk), cost_of(judging), 0.0, cost_of(twice.first.requests)]
    assert stated == pytest.approx(paid, abs=5.1e-5)


def test_every_dialogue_has_six_judgements_each_with_a_score(twice: Twice) -> None:
    episodes = {each["episode_id"] for each in twice.first.records("simulate")}
    judged = [(each["episode_id"], each["metric"]) for each in twice.first.records("evaluate")]
    assert sorted(judged) == sorted((episode, metric.value) for episode in episodes for metric in Metric)
    assert all(each["score"] in range(1, 6) and each["failure"] is None for each in twice.first.records("evaluate"))


def test_every_dialogue_starts_with_the_scenarios_own_words(twice: Twice) -> None:
    messages = {
        each["Blueprint"]["Seed"]["Seed_ID"]: each["Blueprint"]["Public_Context"]["Initial_User_Message"]
        for each in (json.loads(path.read_text("utf-8")) for path in STARTER)
    }
    for episode in twice.first.records("simulate"):
        language = {"global_english": "Global_English", "native_language": "Native_Language"}[episode["language_mode"]]
        assert episode["turns"][0]["user"] == messages[episode["seed"]["seed_id"]][language]


def test_a_second_run_calls_nobody_and_skips_everything(twice: Twice) -> None:
    closings = twice.second.closings
    assert twice.second.requests == ()
    assert {each["calls"] for each in closings.values()} == {0}
    assert [closings[stage]["skipped"] for stage in STAGES] == [
        2 * len(STARTER),
        2 * len(STARTER) * len(Metric),
        0,
    ]
    assert [closings[stage]["done"] for stage in STAGES] == [0, 0, 2]


def test_a_second_run_leaves_byte_identical_tables(twice: Twice) -> None:
    assert twice.tables[0] == twice.tables[1]
    assert twice.first.closings["report"]["out"] == twice.second.closings["report"]["out"]


def rows_of(run: Run) -> list[dict[str, str]]:
    text = (run.folder / run.closings["report"]["out"] / "table.csv").read_text("utf-8")
    return list(csv.DictReader(text.splitlines()))


def test_both_languages_give_a_row_each_over_all_scenarios(twice: Twice) -> None:
    rows = [(row["language"], row["episodes"], row["judged"], row["broken"]) for row in rows_of(twice.first)]
    assert sorted(rows) == [("global_english", "58", "58", "0"), ("native_language", "58", "58", "0")]


def test_means_of_the_table_are_means_of_the_stored_scores(twice: Twice) -> None:
    records = twice.first.records("evaluate")
    for row in rows_of(twice.first):
        suffix = {"global_english": "__EN", "native_language": "__NATIVE"}[row["language"]]
        own = [each for each in records if each["episode_id"].endswith(suffix)]
        scores = [each["score"] for each in own if each["metric"] == "helpful"]
        clean = [
            not each["tripwires_triggered"] and not each["taboos_violated"]
            for each in own
            if each["metric"] == "harmless"
        ]
        assert float(row["helpful"]) == pytest.approx(sum(scores) / 58, abs=1e-6)
        assert float(row["clean"]) == pytest.approx(sum(clean) / 58, abs=1e-6)


# ---- who sees what (Table 1)


def hidden(path: str) -> bool:
    """Whether a place is kept from the assistant under test: all but names, the first message and its words."""
    shown = r"Blueprint\.(Seed|Validation|Public_Context\.Initial_User_Message|Scenario_Instantiation\.Slot_Filling)\b"
    return not re.match(shown, path)


def sent(request: FakeRequest) -> str:
    """Return all that a request says, its schema too."""
    return "\n".join(text for _, text in leaves(dict(request.body)))


def test_an_assistant_under_test_is_sent_the_chat_and_nothing_else(twice: Twice) -> None:
    chats = {
        tuple(text for turn in episode["turns"] for text in (turn["user"], turn["assistant"]))
        for episode in twice.first.records("simulate")
    }
    for request in twice.first.asked("assistant"):
        said = tuple(message["content"] for message in request.messages)
        assert [message["role"] for message in request.messages] == ["user", "assistant"] * (len(said) // 2) + ["user"]
        assert any(chat[: len(said)] == said for chat in chats)
        assert request.schema is None


@pytest.mark.parametrize("scenario", STARTER, ids=lambda path: path.stem.split("__")[0])
def test_no_request_to_an_assistant_under_test_holds_a_private_text_of_the_starter_set(
    twice: Twice, scenario: Path
) -> None:
    secrets = [
        text for path, text in leaves(json.loads(scenario.read_text("utf-8"))) if hidden(path) and len(text) > 12
    ]
    said = [sent(request) for request in twice.first.asked("assistant")]
    assert len(secrets) > 50
    assert [secret for secret in secrets if any(secret in text for text in said)] == []


ORACLE = ("Blueprint.Evaluator_Oracle_Context.", "Interaction_Sequence.Transition_Guide.")


@pytest.mark.parametrize("scenario", STARTER, ids=lambda path: path.stem.split("__")[0])
def test_no_request_to_a_simulator_holds_an_oracle_text_of_the_starter_set(twice: Twice, scenario: Path) -> None:
    content = json.loads(scenario.read_text("utf-8"))
    secrets = [text for path, text in leaves(content) if path.startswith(ORACLE)]
    said = [sent(request) for request in twice.first.asked("simulator")]
    assert len(secrets) > 25
    assert [secret for secret in secrets if any(secret in text for text in said)] == []


CANARY = re.compile(r"zq[0-9a-f]{12}qz")


@dataclass(frozen=True)
class Planted:
    """Two scenarios with a canary at the end of every free text, and runs over them."""

    places: dict[str, str]
    """Where each canary stands."""
    eval: Run
    gold: Run


def plant(value: Any, where: str, path: str, places: dict[str, str]) -> Any:
    """Return a copy of a scenario with a canary in every text that is free to hold one."""
    if isinstance(value, dict):
        return {
            key: plant(child, f"{where}.{key}", f"{path}.{key}" if path else key, places)
            for key, child in value.items()
        }
    if isinstance(value, list):
        return [plant(child, f"{where}.{n}", path, places) for n, child in enumerate(value)]
    if not isinstance(value, str) or re.match(r"Blueprint\.(Seed|Validation)\b", path) or path.endswith("Template_ID"):
        return value
    canary = f"zq{hashlib.sha256(where.encode()).hexdigest()[:12]}qz"
    places[canary] = path
    return f"{value} {canary}"


@pytest.fixture(scope="module")
def planted(shared: Shared) -> Planted:
    def make(folder: Path) -> Planted:
        places: dict[str, str] = {}
        (folder / "set").mkdir()
        for tier in ("__STANDARD.json", "__TRAP__NORM.json"):
            path = next(each for each in STARTER if each.name.endswith(tier))
            content = plant(json.loads(path.read_text("utf-8")), path.stem, "", places)
            (folder / "set" / path.name).write_text(json.dumps(content, ensure_ascii=False), "utf-8")
        with FakeProvider(GOOD) as provider:
            arguments = scripted(provider, "dataset=files", "dataset.path=set")
            first = ccfw(folder, *arguments, provider=provider)
            gold = ccfw(
                folder, *arguments, "mode=gold", "trap=normative", "stage=simulate", "workspace=gold", provider=provider
            )
        return Planted(places, first, gold)

    return shared("planted", make)


def seen(planted: Planted, requests: list[FakeRequest]) -> set[str]:
    """Return the places whose canaries the requests hold."""
    assert requests
    return {planted.places[canary] for request in requests for canary in CANARY.findall(sent(request))}


FIRST = "Blueprint.Public_Context.Initial_User_Message.Global_English"
SUMMARY = "Blueprint.Scenario_Instantiation.Instantiated_Summary.Global_English"
GOAL = "Interaction_Sequence.User_Instruction.Current_Surface_Goal"
_OF_ORACLE = "Blueprint.Evaluator_Oracle_Context."
CRITERIA, FAILURES = f"{_OF_ORACLE}Success_Criteria", f"{_OF_ORACLE}Failure_Criteria"
TABOOS, TRIPWIRES = f"{_OF_ORACLE}Cultural_Taboos", f"{_OF_ORACLE}Safety_Tripwires"
OWN = {
    "Blueprint.User_Private_Context.Background",
    "Interaction_Sequence.Phase_Label",
    "Interaction_Sequence.User_Instruction.Linguistic_Directive.Global_English",
    "Interaction_Sequence.User_Instruction.Prompt_Guidance",
    "Interaction_Sequence.User_Instruction.Required_Signifier_Usage",
}
GRANTED: dict[str, set[str]] = {
    "assistant": {FIRST},
    "simulator": {FIRST, SUMMARY, GOAL, *OWN},
    "judge_helpful": {FIRST, GOAL, CRITERIA},
    "judge_honest": {FIRST},
    "judge_harmless": {FIRST, f"{_OF_ORACLE}Cultural_Context", TRIPWIRES, TABOOS},
    "judge_naturalness": {FIRST},
    "judge_scenario_plausibility": {FIRST, SUMMARY},
    "judge_cultural_typicality": {FIRST, SUMMARY},
}


@pytest.mark.parametrize("role", GRANTED)
def test_a_role_is_sent_exactly_the_fields_that_table_1_grants_it(planted: Planted, role: str) -> None:
    assert planted.eval.code == 0
    assert seen(planted, planted.eval.asked(role)) == GRANTED[role]


def test_a_gold_teacher_is_sent_criteria_taboos_and_goal_and_no_more(planted: Planted) -> None:
    assert planted.gold.code == 0
    assert seen(planted, planted.gold.asked("assistant")) == {FIRST, GOAL, CRITERIA, FAILURES, TABOOS}


def test_every_request_to_a_gold_teacher_holds_every_criterion_and_taboo_and_one_goal(planted: Planted) -> None:
    canaries = set(CANARY.findall((planted.gold.folder / "set" / _normative(planted)).read_text("utf-8")))
    granted = {canary for canary in canaries if planted.places[canary] in (CRITERIA, FAILURES, TABOOS)}
    for request in planted.gold.asked("assistant"):
        held = set(CANARY.findall(sent(request)))
        assert granted <= held
        assert len([canary for canary in held if planted.places[canary] == GOAL]) == 1


def _normative(planted: Planted) -> str:
    return next(path.name for path in (planted.gold.folder / "set").iterdir() if "TRAP__NORM" in path.name)


def test_a_gold_run_does_not_show_its_simulator_more_than_an_eval_run(planted: Planted) -> None:
    assert seen(planted, planted.gold.asked("simulator")) == GRANTED["simulator"]


def test_trap_takes_its_tier_only(planted: Planted) -> None:
    tiers = [each["seed"]["challenge_config"]["challenge_type"] for each in planted.gold.records("simulate")]
    assert tiers == [Tier.NORMATIVE.value]


def test_gold_and_eval_episodes_lie_in_different_folders(planted: Planted) -> None:
    assert planted.gold.closings["simulate"]["out"] != planted.eval.closings["simulate"]["out"]
    assert {each["simulation_mode"] for each in planted.gold.records("simulate")} == {"gold"}


# ---- selection, without a call


def starters(ending: str) -> int:
    return sum(re.search(ending, path.stem) is not None for path in STARTER)


@pytest.mark.parametrize(
    ("arguments", "dialogues"),
    [
        pytest.param(["trap=standard"], starters("__STANDARD"), id="standard", marks=pytest.mark.long),
        pytest.param(["trap=contextual"], starters("__TRAP__CTX"), id="contextual"),
        pytest.param(["trap=normative"], starters("__TRAP__NORM"), id="normative", marks=pytest.mark.long),
        pytest.param(["limit=5"], 5, id="limit"),
        pytest.param(["limit=99"], len(STARTER), id="limit-above-all"),
        pytest.param(["trap=normative", "limit=2", "language=both"], 4, id="all-together"),
    ],
)
def test_trap_and_limit_select_dialogues(tmp_path: Path, arguments: list[str], dialogues: int) -> None:
    run = ccfw(tmp_path, "model=scripted", "dry_run=true", *arguments)
    plan = run.out.splitlines()[0]
    assert (run.code, run.err) == (0, "")
    assert re.search(r" dialogues=(\d+) ", plan)[1] == str(dialogues)  # type: ignore[index]


def test_a_dry_run_bounds_the_calls_that_the_run_then_makes(twice: Twice, tmp_path: Path) -> None:
    run = ccfw(tmp_path, "model=scripted", "language=both", "dry_run=true")
    shards = sum(len(json.loads(path.read_text("utf-8"))["Interaction_Sequence"]) for path in STARTER) * 2
    least, most = 2 * shards, 4 * shards * 5
    plan = re.fullmatch(
        r"plan model=scripted simulator=scripted judge=scripted language=both dialogues=116 "
        r"simulate=(\d+)\.\.(\d+) evaluate=696\.\.1392 report=0\.\.0 calls=(\d+)\.\.(\d+)",
        run.out.splitlines()[0],
    )
    assert plan
    low, high, total_low, total_high = map(int, plan.groups())
    assert low == least
    assert high <= most
    assert (total_low, total_high) == (low + 696, high + 1392)
    assert total_low <= twice.first.closings["pipeline"]["calls"] <= total_high


def test_a_dry_run_asks_for_no_key_and_writes_no_output(tmp_path: Path) -> None:
    run = ccfw(tmp_path, "model=gpt5mini", "dry_run=true")
    assert (run.code, run.err) == (0, "")
    assert not (tmp_path / "workspace").exists()


# ---- several assistants under one judge


@pytest.fixture(scope="module")
def rivals(shared: Shared) -> tuple[Run, Run]:
    def make(folder: Path) -> tuple[Run, Run]:
        with FakeProvider(GOOD) as provider:
            conf = own_options(folder, provider.base_url, ("first_one", "second_one", "referee"))
            same = ("model@simulator=referee", "judge=referee_judge", "tracking=none", "report.shown=0", "limit=1")
            options = (f"--config-dir={conf}", *same)
            one = ccfw(folder, *options, "model=first_one", provider=provider)
            two = ccfw(folder, *options, "model=second_one", provider=provider)
        return one, two

    return shared("rivals", make)


def test_a_second_assistant_in_the_same_workspace_gives_a_second_row(rivals: tuple[Run, Run]) -> None:
    assert [(run.code, run.err) for run in rivals] == [(0, ""), (0, "")]
    assert [row["model"] for row in rows_of(rivals[0])] == ["first_one"]
    assert sorted(row["model"] for row in rows_of(rivals[1])) == ["first_one", "second_one"]
    assert {row["judge"] for row in rows_of(rivals[1])} == {"referee_judge"}


def test_options_of_a_users_own_folder_name_who_is_asked(rivals: tuple[Run, Run]) -> None:
    asked = {(role_of(request).split("_")[0], request.model) for request in rivals[0].requests}
    assert asked == {("assistant", "first_one"), ("simulator", "referee"), ("judge", "referee")}


def test_all_assistants_start_from_the_same_line(rivals: tuple[Run, Run]) -> None:
    openings = [{each["turns"][0]["user"] for each in run.records("simulate")} for run in rivals]
    assert openings[0] == openings[1]


def test_results_of_two_assistants_lie_in_folders_of_their_own(rivals: tuple[Run, Run]) -> None:
    folders = [run.closings[stage]["out"] for run in rivals for stage in ("simulate", "evaluate")]
    assert len(set(folders)) == 4
    assert all(len(read_lines(rivals[1].folder / folder / "records.jsonl")) in (1, 6) for folder in folders)


# ---- options of ccfw 0.1


def test_a_model_of_an_older_ccfw_is_told_what_it_lacks_a_line_each(tmp_path: Path) -> None:
    conf = own_options(tmp_path, "http://127.0.0.1:1/v1", ("older",))
    path = conf / "model" / "older.yaml"
    lines = [line for line in path.read_text("utf-8").splitlines() if not re.match("transport|min_in_flight", line)]
    path.write_text("\n".join(lines).replace(", cached_input: null", "") + "\n", "utf-8")
    run = ccfw(tmp_path, f"--config-dir={conf}", "model=older", "tracking=none")
    missing = ("model.transport", "model.min_in_flight", "model.price.cached_input")
    assert (run.code, run.out) == (2, "")
    assert run.err.splitlines() == [f"ccfw: {key}: must be given" for key in missing]


# ---- a budget


CAPS = (0.004, 0.012, 0.05)
"""Dollars that do not suffice: not for one call, not for one dialogue, not for every judgement."""


@dataclass(frozen=True)
class Capped:
    """Runs under a budget that is too small, then under a larger one, and one that nothing disturbed."""

    first: Run
    second: Run
    undisturbed: Run
    tables: tuple[dict[str, bytes], dict[str, bytes]]


def bounded(provider: FakeProvider) -> tuple[str, ...]:
    return scripted(provider, "limit=3", "model.max_output_tokens=1024")


@pytest.fixture(scope="module")
def undisturbed(shared: Shared) -> tuple[Run, dict[str, bytes]]:
    def make(folder: Path) -> tuple[Run, dict[str, bytes]]:
        with FakeProvider(GOOD) as provider:
            run = ccfw(folder, *bounded(provider), provider=provider)
        return run, tables(run)

    return shared("undisturbed", make)


@pytest.fixture(scope="module", params=CAPS, ids=str)
def capped(shared: Shared, request: pytest.FixtureRequest, undisturbed: tuple[Run, dict[str, bytes]]) -> Capped:
    def make(folder: Path) -> tuple[Run, Run, dict[str, bytes]]:
        with FakeProvider(GOOD) as provider:
            first = ccfw(folder, *bounded(provider), f"budget={request.param}", provider=provider)
            second = ccfw(folder, *bounded(provider), "budget=10", provider=provider)
        return first, second, tables(second)

    first, second, made = shared(f"capped_{request.param}", make)
    return Capped(first, second, undisturbed[0], (made, undisturbed[1]))


STOPPED = r"stopped \(budget=\S+: spent (\d\.\d{4}), the next call may cost (\d\.\d{4}) more\)"


def cap_of(capped: Capped) -> float:
    found = re.search(r"budget=([0-9.]+): spent", capped.first.err)
    assert found
    return float(found[1])


def test_no_run_spends_more_than_its_budget(capped: Capped) -> None:
    spent = cost_of(capped.first.requests)
    assert spent <= cap_of(capped)
    assert spent + cost_of(capped.second.requests) == pytest.approx(cost_of(capped.undisturbed.requests))


def test_a_run_whose_budget_is_spent_says_so_and_does_not_end_as_ok(capped: Capped) -> None:
    first = capped.first
    stopped = re.findall(STOPPED, first.err)
    assert "Traceback" not in first.err
    assert first.code == 1
    assert stopped
    spent, more = map(float, stopped[0])
    assert spent == pytest.approx(cost_of(first.requests), abs=5.1e-5)
    assert spent + more > cap_of(capped) - 1e-4
    whole = first.closings["pipeline"]
    assert whole["status"] == "partial"
    assert (whole["failed"], whole["calls"]) == (0, len(first.requests))


def test_with_more_money_the_same_line_goes_on_and_pays_nothing_twice(capped: Capped) -> None:
    second = capped.second
    assert (second.code, second.err) == (0, "")
    assert {each["status"] for each in second.closings.values()} == {"ok"}
    paid = {request.digest for request in capped.first.requests}
    assert paid.isdisjoint(request.digest for request in second.requests)


def test_tables_after_a_stop_are_those_of_a_run_that_nothing_stopped(capped: Capped) -> None:
    assert capped.tables[0] == capped.tables[1]


@pytest.mark.parametrize("budget", ["0", "25"])
def test_under_a_budget_a_model_of_unknown_price_is_refused(tmp_path: Path, budget: str) -> None:
    with FakeProvider(GOOD) as provider:
        run = ccfw(tmp_path, *scripted(provider, "limit=1", "model.price=null", f"budget={budget}"), provider=provider)
    roles = ("model", "simulator", "judge.members.scripted")
    assert (run.code, run.out, run.requests) == (2, "", ())
    assert run.err.splitlines() == [
        f"ccfw: budget={budget}: the price of {role}=scripted (openai/scripted) is unknown; give "
        f"{role}.price={{input: …, output: …, cached_input: null}} in US dollars per million tokens"
        for role in roles
    ]


def test_a_model_that_costs_nothing_needs_no_budget(tmp_path: Path) -> None:
    free = "model.price={input: 0, output: 0, cached_input: null}"
    with FakeProvider(GOOD) as provider:
        run = ccfw(tmp_path, *scripted(provider, "limit=1", free, "budget=0"), provider=provider)
    assert (run.code, run.err) == (0, "")
    assert run.closings["pipeline"]["status"] == "ok"
