"""Keys in the environment, and a provider that repeats them in all that it says: they are nowhere in what a run leaves.

The provider echoes the key that it is sent in its replies and, as a gateway of one's own might, every secret in its
errors; every kind of fault strikes.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.conftest import Shared
from tests.e2e.running import GOOD, environment, files_under, own_options, read_lines
from tests.fakes import faults
from tests.fakes.faults import Fault, Payload
from tests.fakes.provider import FakeProvider, FakeReply, FakeRequest
from tests.fakes.scripts import role_of

KEY = "SCRIPTED_KEY"
CANARIES = {
    KEY: "sk-canary/91f0+c7b2==d5a64e83",
    "OTHER_TOKEN": "canary-token-5b1e70c94d2f",
    "DB_PASSWORD": "canary password 83d1",
    "AWS_SECRET_ACCESS_KEY": "canary+secret+2a9c47f61e",
}
SAID = " ".join(CANARIES.values())
PASSING = cycle(
    (
        faults.rate_limited(0.05),
        faults.SERVER_ERROR,
        faults.UNAVAILABLE,
        faults.OVERLOADED,
        faults.CLOSED,
        faults.MALFORMED,
        faults.HTML,
        faults.NO_CHOICES,
        faults.STALL,
        faults.drip(0.05),
    )
)
LASTING = {
    "judge_honest": faults.UNAUTHORIZED,
    "judge_naturalness": faults.CONTEXT_EXCEEDED,
    "judge_harmless": faults.UNKNOWN_MODEL,
}


class Echoing(FakeProvider):
    """Puts every secret into its errors."""

    def _send(self, request: FakeRequest, payload: Payload) -> Any:
        body = payload.body.replace(b'"message": "', b'"message": "' + SAID.encode() + b" ")
        return super()._send(request, payload._replace(body=body.replace(b"<h1>", b"<h1>" + SAID.encode())))


def leaking(request: FakeRequest) -> FakeReply | Fault | str:
    """Fail at first, each time in the next way; then say the key wherever a reply has words."""
    role = role_of(request)
    if role in LASTING:
        return LASTING[role]
    if request.attempt == 0:
        return next(PASSING)
    return FakeReply(_with_key(str(GOOD(request)), request.api_key), model=f"{request.model} {request.api_key}")


def _with_key(text: str, key: str) -> str:
    try:
        content = json.loads(text)
    except ValueError:
        return f"{text} {key}"
    words = ("goal", "rationale", "reasoning", "message")
    return json.dumps({name: f"{value} {key}" if name in words else value for name, value in content.items()})


@dataclass(frozen=True)
class Leaked:
    """What a run left."""

    code: int
    said: str
    """Standard output and standard error."""
    command_line: str
    """As the system shows it to others while it runs."""
    keys: set[str]
    """What the provider was sent."""
    statuses: set[int | None]
    files: dict[str, bytes]
    failures: list[str]
    answers: list[str]
    """What assistants said."""


def run(folder: Path, transport: str) -> Leaked:
    with Echoing(leaking) as provider:
        conf = own_options(folder, provider.base_url, ("keyed",), key=KEY)
        cast = (f"--config-dir={conf}", "model=keyed", "model@simulator=keyed", "judge=keyed_judge")
        roles = ("model", "simulator", "judge.members.keyed")
        limits = [
            f"{role}.{each}" for role in roles for each in (f"transport={transport}", "timeout_s=1", "attempts=4")
        ]
        command = [sys.executable, "-m", "ccfw", *cast, *limits, "limit=3", "-m", "seed=0,1"]
        with subprocess.Popen(
            command,
            cwd=folder,
            env=environment(CANARIES),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        ) as process:
            provider.wait_until(lambda log: bool(log.requests), 120)
            shown = b"".join(Path(f"/proc/{process.pid}/{name}").read_bytes() for name in ("cmdline", "comm"))
            said, _ = process.communicate(timeout=300)
        requests = provider.requests
    return Leaked(
        code=process.returncode,
        said=said,
        command_line=shown.decode(),
        keys={request.api_key for request in requests},
        statuses={request.status for request in requests},
        files={str(path.relative_to(folder)): path.read_bytes() for path in files_under(folder)},
        failures=[json.dumps(record) for record in _records(folder, "evaluate", "failures.jsonl")],
        answers=[
            turn["assistant"] for record in _records(folder, "simulate", "records.jsonl") for turn in record["turns"]
        ],
    )


def _records(folder: Path, stage: str, name: str) -> Sequence[dict[str, Any]]:
    return [record for path in folder.glob(f"workspace/*/{stage}/*/{name}") for record in read_lines(path)]


TRANSPORTS = ("openai_http", "litellm")


@pytest.fixture(scope="module", params=TRANSPORTS)
def leaked(request: pytest.FixtureRequest, shared: Shared) -> Leaked:
    if not Path("/proc/self/cmdline").exists():
        pytest.skip("looks at processes as Linux shows them")
    return shared(f"leaked_{request.param}", lambda folder: run(folder, request.param))


pytestmark = pytest.mark.long


def test_the_key_is_sent_and_every_fault_strikes(leaked: Leaked) -> None:
    assert leaked.keys == {CANARIES[KEY]}
    assert leaked.statuses >= {200, 400, 401, 404, 429, 500, 502, 503, 529, None}
    assert leaked.code == 1


def test_no_secret_is_in_any_file(leaked: Leaked) -> None:
    assert {"mlflow.db", "workspace/ledger.sqlite"} <= set(leaked.files)
    assert any(name.startswith("mlartifacts/") for name in leaked.files)
    assert any(name.startswith("multirun/") and name.endswith(".log") for name in leaked.files)
    holding = [(path, name) for path, content in leaked.files.items() for name in _found(content)]
    assert holding == []


def _found(content: bytes) -> list[str]:
    forms = {name: {value, json.dumps(value)[1:-1]} for name, value in CANARIES.items()}
    return [name for name, values in forms.items() if any(value.encode() in content for value in values)]


def test_no_secret_is_printed_or_shown_to_others(leaked: Leaked) -> None:
    assert _found(leaked.said.encode()) == []
    assert _found(leaked.command_line.encode()) == []


def test_what_the_provider_said_is_kept_with_names_in_their_place(leaked: Leaked) -> None:
    assert leaked.answers
    assert all(answer.endswith(f"<{KEY}>") for answer in leaked.answers)
    names = " ".join(f"<{name}>" for name in CANARIES)
    assert any(names in failure for failure in leaked.failures)
