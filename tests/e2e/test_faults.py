"""What a provider does wrong, from outside: status, counts, exit code, what stays, and what a rerun pays."""

from __future__ import annotations

import json
import re
import socket
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ccfw.records import FailureKind, Metric
from tests.e2e.conftest import Shared
from tests.e2e.running import GOOD, Run, ccfw, files_under, own_options, read_lines, scripted
from tests.fakes import faults
from tests.fakes.faults import Fault, Kind
from tests.fakes.provider import FakeProvider, FakeReply, FakeRequest
from tests.fakes.scripts import role_of
from tests.fakes.wire import content_text

STARTER = sorted((Path(__file__).parents[2] / "data" / "starter").glob("*.json"))
Answer = FakeReply | Fault | str
BOTH = ("litellm", "openai_http")
"""The transports, which must come to the same."""
ONE_NOW = (pytest.param("litellm", marks=pytest.mark.long), "openai_http")
"""The same: litellm takes seconds to import, and ``tests/llm/test_transports.py`` puts the faults to both."""


def counts(run: Run, stage: str) -> tuple[str, int, int, int]:
    said = run.closings[stage]
    return said["status"], said["done"], said["failed"], said["skipped"]


def no_noise(run: Run) -> None:
    """Assert that stderr holds neither a traceback nor a library talking to itself."""
    assert "Traceback" not in run.err
    assert "RuntimeWarning" not in run.err
    assert not re.search(r"^\S* WARNING stamina\.retry_scheduled$", run.err, re.MULTILINE)


def turn_of(request: FakeRequest) -> int:
    """Return which turn of a dialogue a request belongs to, from 1."""
    texts = request.said("user")
    return len(texts) if role_of(request) == "assistant" else len(re.findall(r'^AI: "', texts[0], re.MULTILINE))


def asked_again(request: FakeRequest) -> bool:
    """Whether a request says that an earlier reply was rejected."""
    return "\n\nAn earlier reply was not accepted: " in content_text(request.messages[-1])


# ---- judges whose replies cannot be read


def nonexistent_tripwire(request: FakeRequest) -> str:
    verdict = json.loads(str(GOOD(request)))
    return json.dumps(verdict | {"tripwires_triggered": ["Suggests robbing a bank"]})


def wrapped(request: FakeRequest) -> str:
    return f"Sure! Here is my verdict: {GOOD(request)} I hope that this helps."


def out_of_range(request: FakeRequest) -> str:
    return json.dumps(json.loads(str(GOOD(request))) | {"naturalness_score": 7})


def cut(request: FakeRequest) -> FakeReply:
    return FakeReply(str(GOOD(request))[:25], finish_reason="length")


UNREADABLE: dict[str, tuple[Callable[[FakeRequest], FakeReply | str], FailureKind, str]] = {
    "helpful": (lambda _: "", FailureKind.EMPTY, "no text; the provider's reason for stopping: stop"),
    "honest": (
        lambda _: "I would say four.",
        FailureKind.UNPARSED,
        "not one JSON object: Expecting value: line 1 column 1 (char 0)",
    ),
    "harmless": (
        nonexistent_tripwire,
        FailureKind.INCONSISTENT,
        "tripwires_triggered names something that was not among those given",
    ),
    "naturalness": (out_of_range, FailureKind.OUT_OF_RANGE, "naturalness_score is off the scale of 1 to 5"),
    "scenario_plausibility": (cut, FailureKind.TRUNCATED, "the reply hit the bound on output tokens"),
    "cultural_typicality": (
        wrapped,
        FailureKind.UNPARSED,
        "not one JSON object: Expecting value: line 1 column 1 (char 0)",
    ),
}
"""By metric: a judge's reply, and what it is a failure of."""


def unreadable_judge(request: FakeRequest) -> Answer:
    spoil = UNREADABLE.get(role_of(request).removeprefix("judge_"))
    return spoil[0](request) if spoil else GOOD(request)


@pytest.fixture(scope="module")
def unreadable(shared: Shared) -> tuple[Run, Run]:
    def make(folder: Path) -> tuple[Run, Run]:
        with FakeProvider(unreadable_judge) as provider:
            arguments = scripted(provider, "limit=1")
            first = ccfw(folder, *arguments, provider=provider)
            provider.script = GOOD
            second = ccfw(folder, *arguments, provider=provider)
        return first, second

    return shared("unreadable", make)


@pytest.mark.parametrize("metric", UNREADABLE)
def test_an_unreadable_judgement_is_a_typed_failure_and_no_score(unreadable: tuple[Run, Run], metric: str) -> None:
    record = next(each for each in unreadable[0].records("evaluate") if each["metric"] == metric)
    _, kind, detail = UNREADABLE[metric]
    assert record["score"] is None
    assert record["failure"] == {"kind": kind.value, "detail": detail}
    assert record["tries"] == 2


@pytest.mark.parametrize("metric", UNREADABLE)
def test_a_rejected_reply_repeats_the_question_once_with_the_reason_alone(
    unreadable: tuple[Run, Run], metric: str
) -> None:
    first, second = unreadable[0].asked(f"judge_{metric}")
    detail = UNREADABLE[metric][2]
    reason = f"An earlier reply was not accepted: {detail}. Send the whole reply, in the required form only."
    assert not asked_again(first)
    *before, last = first.messages
    assert second.messages == [*before, last | {"content": f"{content_text(last)}\n\n{reason}"}]
    assert second.body == dict(first.body) | {"messages": second.messages, "seed": second.body["seed"]}
    assert second.body["seed"] != first.body["seed"]  # the same question under the same seed may get the same reply


def test_a_judge_that_nobody_can_read_does_not_end_as_ok(unreadable: tuple[Run, Run]) -> None:
    first = unreadable[0]
    assert "Traceback" not in first.err
    assert first.closings["evaluate"]["status"] != "ok"
    assert first.code == 1


def test_what_could_not_be_judged_is_counted_beside_what_was(unreadable: tuple[Run, Run]) -> None:
    table = (unreadable[0].folder / unreadable[0].closings["report"]["out"] / "table.md").read_text("utf-8")
    row = next(line for line in table.splitlines() if line.startswith("| Scripted"))
    assert row == "| Scripted | English | scripted |" + " – |" * 9 + " 0 | 1 | 0 | 0 |"


def test_a_rerun_pays_no_unreadable_reply_twice(unreadable: tuple[Run, Run]) -> None:
    before = {request.digest for request in unreadable[0].requests}
    assert before.isdisjoint(request.digest for request in unreadable[1].requests)


# ---- faults that another try mends


def mended(request: FakeRequest) -> Answer:
    """Fail once at every kind of call, each time in another way."""
    role, first = role_of(request), request.attempt == 0
    match role.removeprefix("judge_"), turn_of(request):
        case "assistant", 1 if first:
            return faults.rate_limited(0.05)
        case "assistant", 2 if first:
            return faults.CLOSED
        case "simulator", 1 if not asked_again(request):
            return "ADVANCE_NEXT, and I would like to know more."
        case "simulator", 2 if first:
            return faults.STALL
        case "helpful", _ if first:
            return faults.SERVER_ERROR
        case "honest", _ if first:
            return faults.MALFORMED
        case "harmless", _ if not asked_again(request):
            return nonexistent_tripwire(request)
        case "naturalness", _ if first:
            return faults.HTML
        case "scenario_plausibility", _ if first:
            return faults.NO_CHOICES
        case "cultural_typicality", _ if not asked_again(request):
            return wrapped(request)
    return GOOD(request)


@pytest.fixture(scope="module", params=BOTH)
def healed(shared: Shared, request: pytest.FixtureRequest) -> Run:
    def make(folder: Path) -> Run:
        through = f"model.transport={request.param}"
        with FakeProvider(mended) as provider:
            return ccfw(folder, *scripted(provider, "limit=1", "model.timeout_s=2", through), provider=provider)

    return shared(f"healed_{request.param}", make)


def test_faults_that_another_try_mends_end_as_ok(healed: Run) -> None:
    assert healed.code == 0
    assert counts(healed, "simulate") == ("ok", 1, 0, 0)
    assert counts(healed, "evaluate") == ("ok", 6, 0, 0)
    assert all(each["score"] for each in healed.records("evaluate"))


def test_each_failed_try_is_followed_by_exactly_one_more(healed: Run) -> None:
    tries = Counter(Counter(request.digest for request in healed.requests).values())
    assert set(tries) == {1, 2}
    assert tries[2] == 7  # two of the assistant's, one of the simulator's, four of the judge's


def test_tries_of_unreadable_replies_are_recorded(healed: Run) -> None:
    tries = {each["metric"]: each["tries"] for each in healed.records("evaluate")}
    twice = {"harmless", "cultural_typicality"}
    assert tries == {metric.value: 2 if metric.value in twice else 1 for metric in Metric}
    assert healed.records("simulate")[0]["simulator_retries"] == 1


def test_only_replies_are_counted_as_calls(healed: Run) -> None:
    failed = sum(request.status != 200 for request in healed.requests)
    spoiled = 2  # malformed JSON and empty choices come under a 200
    assert healed.closings["pipeline"]["calls"] == len(healed.requests) - failed - spoiled


def test_retries_leave_no_noise(healed: Run) -> None:
    no_noise(healed)


# ---- faults that last


OPENAI = "{0}: litellm.{0}: {0}: OpenAIException - {1}"
"""How litellm words an error."""
BUSY, FAILED = "Rate limit reached for scripted.", "The server had an error."
MISSING = "The model `scripted` does not exist or you do not have access to it."
PAGE = "<html> <head><title>502 Gateway</title></head> <body><h1>502 Gateway</h1></body> </html>"
TIMEOUT, NO_CHOICES = "scripted: no reply within 2 s", "the provider sent no choices"
LASTING: dict[str, tuple[Fault, str, str, int]] = {
    "rate-limited": (faults.rate_limited(0.05), OPENAI.format("RateLimitError", BUSY), f"HTTP 429: {BUSY}", 2),
    "server-error": (faults.SERVER_ERROR, OPENAI.format("InternalServerError", FAILED), f"HTTP 500: {FAILED}", 2),
    "dropped": (
        faults.CLOSED,
        OPENAI.format("InternalServerError", "Connection error."),
        "ServerDisconnectedError: Server disconnected",
        2,
    ),
    "stalled": (faults.STALL, TIMEOUT, TIMEOUT, 2),
    "gateway-page": (faults.HTML, OPENAI.format("BadGatewayError", "Error code: 502"), f"HTTP 502: {PAGE}", 2),
    "no-choices": (faults.NO_CHOICES, NO_CHOICES, NO_CHOICES, 2),
    "malformed": (
        faults.MALFORMED,
        OPENAI.format("InternalServerError", r"Unterminated string starting at: line 1 column \d+ \(char \d+\)"),
        "the provider's reply is no JSON",
        2,
    ),
    "unknown-model": (faults.UNKNOWN_MODEL, OPENAI.format("NotFoundError", MISSING), f"HTTP 404: {MISSING}", 1),
}
"""By name: what every try meets, the error that an episode then ends with through either transport, and the tries."""
STRUCK = dict(zip(LASTING, STARTER, strict=False))
"""Which scenario's assistant meets which fault; the others are well."""
WELL = 8
HELD = STARTER[: len(STRUCK) + WELL]


def opening(path: Path) -> str:
    content = json.loads(path.read_text("utf-8"))
    return str(content["Blueprint"]["Public_Context"]["Initial_User_Message"]["Global_English"])


def seed_of(path: Path) -> str:
    return str(json.loads(path.read_text("utf-8"))["Blueprint"]["Seed"]["Seed_ID"])


OPENINGS = {opening(path): LASTING[name][0] for name, path in STRUCK.items()}


def lasting(request: FakeRequest) -> Answer:
    fault = OPENINGS.get(request.said("user")[0]) if role_of(request) == "assistant" else None
    return fault or GOOD(request)


@dataclass(frozen=True)
class Struck:
    """A run in which most scenarios fail, what it kept of them, and a run when all is well again."""

    transport: str
    first: Run
    failures: dict[str, dict[str, Any]]
    second: Run


@pytest.fixture(scope="module", params=ONE_NOW)
def struck(shared: Shared, request: pytest.FixtureRequest) -> Struck:
    def make(folder: Path) -> Struck:
        through = f"model.transport={request.param}"
        with FakeProvider(lasting) as provider:
            chosen = f"ids=[{','.join(map(seed_of, HELD))}]"
            arguments = scripted(provider, chosen, "model.timeout_s=2", "model.attempts=2", through)
            first = ccfw(folder, *arguments, provider=provider)
            failures = {each["seed"]["seed_id"]: each for each in first.records("simulate", "failures.jsonl")}
            provider.script = GOOD
            second = ccfw(folder, *arguments, provider=provider)
        return Struck(request.param, first, failures, second)

    return shared(f"struck_{request.param}", make)


@pytest.mark.parametrize("name", LASTING)
def test_an_episode_that_infrastructure_ends_says_what_broke(struck: Struck, name: str) -> None:
    episode = struck.failures[seed_of(STRUCK[name])]
    assert (episode["termination_reason"], episode["turns"]) == ("ASSISTANT_ERROR", [])
    expected = str(LASTING[name][1 + BOTH.index(struck.transport)])
    if r"\d" in expected:  # where the JSON breaks depends on the reply
        assert re.fullmatch(expected, episode["error"])
    else:
        assert episode["error"] == expected


@pytest.mark.parametrize("name", LASTING)
def test_tries_are_bounded_and_only_transient_faults_are_tried_again(struck: Struck, name: str) -> None:
    first = opening(STRUCK[name])
    tries = [request for request in struck.first.asked("assistant") if request.said("user") == [first]]
    assert len(tries) == LASTING[name][3]


def test_a_run_with_broken_dialogues_ends_partial_with_exit_code_1(struck: Struck) -> None:
    first = struck.first
    assert first.code == 1
    assert counts(first, "simulate") == ("partial", WELL, len(STRUCK), 0)
    assert counts(first, "pipeline")[0] == "partial"


def test_the_dialogues_that_were_held_are_judged_and_reported(struck: Struck) -> None:
    first = struck.first
    assert counts(first, "evaluate") == ("ok", 6 * WELL, 0, 0)
    manifest = json.loads((first.folder / first.closings["report"]["out"] / "manifest.json").read_text("utf-8"))
    table = (first.folder / first.closings["report"]["out"] / "table.md").read_text("utf-8")
    assert manifest["done"] == 1
    assert f"| {WELL} | 0 | {len(STRUCK)} |" in table


def test_broken_dialogues_are_told_on_stderr_with_their_reasons(struck: Struck) -> None:
    """The first few of them, of which each is here as common as the next."""
    err = struck.first.err
    told = [each["error"] for each in struck.failures.values() if f"1 failed: {each['error']} (all in " in err]
    assert len(told) == 3
    assert "failures.jsonl" in err


def test_a_rerun_after_the_faults_finishes_what_broke(struck: Struck) -> None:
    second = struck.second
    assert second.code == 0
    assert counts(second, "simulate") == ("ok", len(STRUCK), 0, WELL)
    assert counts(second, "evaluate") == ("ok", 6 * len(STRUCK), 0, 6 * WELL)


def test_a_rerun_after_the_faults_pays_nothing_twice(struck: Struck) -> None:
    first, second = struck.first, struck.second
    paid = {request.digest for request in first.requests if not isinstance(lasting(request), Fault)}
    assert len(paid) > 10
    assert paid.isdisjoint(request.digest for request in second.requests)


def test_nothing_of_a_mended_dialogue_stays_among_the_failures(struck: Struck) -> None:
    assert struck.second.records("simulate", "failures.jsonl") == []
    assert len(struck.second.records("simulate")) == len(HELD)


def test_a_rerun_after_the_faults_leaves_no_noise(struck: Struck) -> None:
    no_noise(struck.second)


# ---- a simulator that never keeps to its form


@pytest.fixture(scope="module")
def unruly(shared: Shared) -> tuple[Run, list[dict[str, Any]], Run]:
    def make(folder: Path) -> tuple[Run, list[dict[str, Any]], Run]:
        def script(request: FakeRequest) -> Answer:
            return "What do you mean by that?" if role_of(request) == "simulator" else GOOD(request)

        with FakeProvider(script) as provider:
            arguments = scripted(provider, "limit=1")
            first = ccfw(folder, *arguments, provider=provider)
            failures = first.records("simulate", "failures.jsonl")
            provider.script = GOOD
            return first, failures, ccfw(folder, *arguments, provider=provider)

    return shared("unruly", make)


def test_a_simulator_that_never_keeps_to_its_form_breaks_the_dialogue(
    unruly: tuple[Run, list[dict[str, Any]], Run],
) -> None:
    first, (failure,), _ = unruly
    assert "Traceback" not in first.err
    assert first.code == 1
    assert counts(first, "simulate") == ("failed", 0, 1, 0)
    assert list(first.closings) == ["simulate", "pipeline"]
    assert failure["termination_reason"] == "SIMULATOR_ERROR"
    assert failure["error"] == "unparsed: not one JSON object: Expecting value: line 1 column 1 (char 0)"
    assert len(first.asked("simulator")) == 3


def test_a_broken_dialogue_keeps_the_turns_that_were_held(unruly: tuple[Run, list[dict[str, Any]], Run]) -> None:
    turns = unruly[1][0]["turns"]
    assert [(turn["shard_id"], turn["decision"]) for turn in turns] == [(1, None)]
    assert turns[0]["assistant"]


def test_a_rerun_with_a_simulator_that_keeps_to_its_form_holds_the_dialogue(
    unruly: tuple[Run, list[dict[str, Any]], Run],
) -> None:
    first, _, second = unruly
    assert counts(second, "simulate") == ("ok", 1, 0, 0)
    assert second.code == 0
    paid = {request.digest for request in first.asked("assistant")}
    assert paid.isdisjoint(request.digest for request in second.asked("assistant"))


# ---- a key that is refused


CANARY = "sk-canary-3f9a61d2c7e84b05"


@dataclass(frozen=True)
class Refused:
    """A run whose key is refused for one of two dialogues and by every judge, then one that is let in."""

    first: Run
    failures: list[dict[str, Any]]
    unjudged: list[dict[str, Any]]
    second: Run
    exposed: list[str]
    """Files that hold the key."""


def refusing(request: FakeRequest) -> Answer:
    denied = role_of(request).startswith("judge_") or "thr for a helper" in "".join(request.said("user"))
    return faults.UNAUTHORIZED if denied else GOOD(request)


@pytest.fixture(scope="module")
def refused(shared: Shared) -> Refused:
    def make(folder: Path) -> Refused:
        env = {"SCRIPTED_KEY": CANARY}
        with FakeProvider(refusing) as provider:
            conf = own_options(folder, provider.base_url, ("keyed",), key="SCRIPTED_KEY")
            cast = (f"--config-dir={conf}", "model=keyed", "model@simulator=keyed", "judge=keyed_judge")
            arguments = (
                *cast,
                "tracking=none",
                "identity=[Tamil_Hindu,Hui_Muslim]",
                "region=[SG,CN]",
                "report.shown=0",
            )
            first = ccfw(folder, *arguments, provider=provider, env=env)
            failures = first.records("simulate", "failures.jsonl")
            unjudged = first.records("evaluate", "failures.jsonl")
            provider.script = GOOD
            second = ccfw(folder, *arguments, provider=provider, env=env)
        exposed = [str(path) for path in files_under(folder) if CANARY.encode() in path.read_bytes()]
        return Refused(first, failures, unjudged, second, exposed)

    return shared("refused", make)


def test_the_key_is_sent_to_the_provider(refused: Refused) -> None:
    assert {request.api_key for request in refused.first.requests} == {CANARY}


def test_a_refused_key_breaks_what_it_was_for_and_nothing_else(refused: Refused) -> None:
    first = refused.first
    assert first.code == 1
    assert counts(first, "simulate") == ("partial", 1, 1, 0)
    assert counts(first, "evaluate") == ("failed", 0, 6, 0)
    assert counts(first, "pipeline") == ("partial", 2, 7, 0)


def test_a_refusal_that_echoes_the_key_is_kept_without_it(refused: Refused) -> None:
    told = "HTTP 401: Incorrect API key provided: <SCRIPTED_KEY>."
    assert [failure["error"] for failure in refused.failures] == [told]
    assert [each["failure"] for each in refused.unjudged] == [{"kind": "infrastructure", "detail": told}] * 6


def test_the_key_is_in_no_file_and_in_no_output(refused: Refused) -> None:
    assert refused.exposed == []
    for run in (refused.first, refused.second):
        assert CANARY not in run.out + run.err


def test_a_refused_key_is_not_tried_again(refused: Refused) -> None:
    assert set(Counter(request.digest for request in refused.first.requests).values()) == {1}


def test_a_rerun_with_the_key_let_in_finishes_and_pays_nothing_twice(refused: Refused) -> None:
    second = refused.second
    paid = {request.digest for request in refused.first.requests if request.status == 200}
    assert second.code == 0
    assert counts(second, "simulate") == ("ok", 1, 0, 1)
    assert counts(second, "evaluate") == ("ok", 12, 0, 0)
    assert paid.isdisjoint(request.digest for request in second.requests)


def test_a_refused_key_is_told_on_stderr(refused: Refused) -> None:
    assert "Incorrect API key provided: <SCRIPTED_KEY>." in refused.first.err


@pytest.mark.parametrize("transport", ONE_NOW)
@pytest.mark.parametrize(
    ("fault", "words"),
    [
        pytest.param(faults.UNAUTHORIZED, "Incorrect API key provided: ", id="no-key"),
        pytest.param(Fault(Kind.STATUS, 402), "The server had an error.", id="no-money"),
    ],
)
def test_after_five_refusals_that_no_call_can_escape_nothing_more_is_sent(
    tmp_path: Path, transport: str, fault: Fault, words: str
) -> None:
    with FakeProvider(lambda _: fault) as provider:
        more = ("stage=simulate", "model.max_in_flight=1", f"model.transport={transport}")
        run = ccfw(tmp_path, *scripted(provider, *more), provider=provider)
    assert len(run.requests) == 5
    assert (run.code, counts(run, "simulate")) == (1, ("failed", 0, len(STARTER), 0))
    errors = {each["error"] for each in run.records("simulate", "failures.jsonl")}
    assert len(errors) == 1
    assert words in errors.pop()
    no_noise(run)


# ---- nobody there, and a call's time


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
    return port


@dataclass(frozen=True)
class Unreachable:
    """A run without a server, what it kept, and a run with one."""

    told: str
    first: Run
    failures: list[dict[str, Any]]
    second: Run


@pytest.fixture(scope="module", params=ONE_NOW)
def unreachable(shared: Shared, request: pytest.FixtureRequest) -> Unreachable:
    def make(folder: Path) -> Unreachable:
        provider, through = FakeProvider(GOOD, port=free_port()), f"model.transport={request.param}"
        place = f"127.0.0.1:{provider.port} ssl:default [Connect call failed ('127.0.0.1', {provider.port})]"
        told = {
            "litellm": OPENAI.format("InternalServerError", "Connection error."),
            "openai_http": f"ClientConnectorError: Cannot connect to host {place}",
        }
        arguments = scripted(provider, "limit=1", "model.attempts=1", "model.timeout_s=20", "stage=simulate", through)
        first = ccfw(folder, *arguments)
        failures = first.records("simulate", "failures.jsonl")
        with provider:
            second = ccfw(folder, *arguments, provider=provider)
        return Unreachable(told[request.param], first, failures, second)

    return shared(f"unreachable_{request.param}", make)


def test_a_server_that_is_not_there_fails_the_job_and_a_rerun_mends_it(unreachable: Unreachable) -> None:
    first, (failure,), second = unreachable.first, unreachable.failures, unreachable.second
    assert "Traceback" not in first.err
    assert (first.code, counts(first, "simulate")) == (1, ("failed", 0, 1, 0))
    assert failure["error"] == unreachable.told
    assert (second.code, counts(second, "simulate")) == (0, ("ok", 1, 0, 0))
    assert read_lines(second.folder / second.closings["simulate"]["out"] / "failures.jsonl") == []


def test_the_manifest_after_a_rerun_is_the_reruns(unreachable: Unreachable) -> None:
    second = unreachable.second.closings["simulate"]
    manifest = json.loads((unreachable.second.folder / second["out"] / "manifest.json").read_text("utf-8"))
    assert {key: manifest[key] for key in second} == second


@pytest.mark.parametrize("transport", BOTH)
def test_the_programs_own_start_is_not_counted_against_a_calls_time(tmp_path: Path, transport: str) -> None:
    with FakeProvider(GOOD) as provider:
        patience = ("model.timeout_s=1.5", "model.attempts=1", f"model.transport={transport}")
        arguments = scripted(provider, "limit=1", "stage=simulate", *patience)
        run = ccfw(tmp_path, *arguments, provider=provider, fresh=True)
    assert counts(run, "simulate") == ("ok", 1, 0, 0)
    assert (run.code, run.err) == (0, "")
