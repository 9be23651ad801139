"""Run the program as a user does, and read what it printed and wrote."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import cycle
from pathlib import Path
from typing import Any

from tests.e2e.warm import Warm
from tests.fakes.faults import Script
from tests.fakes.provider import FakeProvider, FakeReply, FakeRequest
from tests.fakes.scripts import role_of, roles

CLOSING = re.compile(
    r"ccfw stage=(?P<stage>[a-z_]+) status=(?P<status>ok|partial|failed) done=(?P<done>\d+) failed=(?P<failed>\d+) "
    r"skipped=(?P<skipped>\d+) calls=(?P<calls>\d+) cached=(?P<cached>\d+) "
    r"cost=(?P<cost>\d+\.\d{4}|unknown) out=(?P<out>'.*'|\S+)"
)
"""The whole closing line."""
_COUNTS = ("done", "failed", "skipped", "calls", "cached")
_OTHERS = re.compile(
    r"(KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL)|^(PYTHON|HYDRA|LITELLM|MLFLOW|OPENAI|CCFW)", re.IGNORECASE
)
Closing = dict[str, Any]


@dataclass(frozen=True)
class Run:
    """What came of one command line."""

    folder: Path
    code: int
    out: str
    err: str
    requests: tuple[FakeRequest, ...]
    """What the provider saw of it."""

    @property
    def closings(self) -> dict[str, Closing]:
        """The closing lines by stage; every line printed must be one."""
        found = [closing(line) for line in self.out.splitlines()]
        return {each["stage"]: each for each in found}

    def records(self, stage: str, name: str = "records.jsonl") -> list[dict[str, Any]]:
        """The records that the run's stage has in its folder."""
        return read_lines(self.folder / self.closings[stage]["out"] / name)

    def asked(self, role: str) -> list[FakeRequest]:
        """The requests to one role; ``judge`` is all of the judge's."""
        return [each for each in self.requests if role in (role_of(each), role_of(each).split("_")[0])]


def closing(line: str) -> Closing:
    """Read a closing line, or fail."""
    match = CLOSING.fullmatch(line)
    assert match, f"not a closing line: {line!r}"
    fields = dict(match.groupdict(), out="".join(shlex.split(match["out"])))
    return {key: int(value) if key in _COUNTS else value for key, value in fields.items()}


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Read JSON lines."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def environment(more: Mapping[str, str] = {}) -> dict[str, str]:
    """Return this process's environment without secrets and without what steers Python or a library."""
    return {name: value for name, value in os.environ.items() if not _OTHERS.search(name)} | dict(more)


def ccfw(
    folder: Path,
    *arguments: str,
    provider: FakeProvider | None = None,
    env: Mapping[str, str] = {},
    python: Sequence[str] = (),
    timeout: float = 300,
    fresh: bool = False,
) -> Run:
    """Run ``python -m ccfw`` in ``folder`` to its end.

    Its process is forked from one that has imported the program (``tests/e2e/warm.py``), unless a fresh one is asked
    for, or flags and variables that Python reads when it starts.
    """
    if provider:
        provider.clear()
    whole = environment(env)
    if fresh or python or any(name.startswith("PYTHON") for name in env):
        code, out, err = _fresh(folder, [*python, "-m", "ccfw", *arguments], whole, timeout)
    else:
        code, out, err = next(_turns()).run(folder, arguments, whole, timeout)
    return Run(folder, code, out, err, tuple(provider.requests) if provider else ())


@cache
def _turns() -> Iterator[Warm]:
    """Yield two processes in turn whose hashes differ: what hangs on the order of a set differs from run to run."""
    return cycle([Warm(environment({"PYTHONHASHSEED": seed})) for seed in "12"])


def _fresh(folder: Path, arguments: Sequence[str], env: Mapping[str, str], timeout: float) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=timeout,
    )
    return done.returncode, done.stdout, done.stderr


def scripted(provider: FakeProvider, *more: str) -> tuple[str, ...]:
    """Return arguments that give every role to the provider, log nowhere, print closing lines only, draw no page."""
    quiet = ("tracking=none", "report.shown=0", "report.page=false")
    return ("model=scripted", f"model.api_base={provider.base_url}", *quiet, *more)


GOOD: Script = roles()
"""A provider without a fault."""


def cost_of(requests: Sequence[FakeRequest], script: Script = GOOD) -> float:
    """Return what requests cost at the prices of ``model=scripted``."""
    usages = [_usage(request, script) for request in requests]
    return sum(usage["prompt_tokens"] + 2 * usage["completion_tokens"] for usage in usages) / 1e6


def _usage(request: FakeRequest, script: Script) -> dict[str, int]:
    answer = script(request)
    assert isinstance(answer, str)
    usage: dict[str, int] = FakeReply(answer).completion(request)["usage"]
    return usage


def files_under(folder: Path) -> Iterator[Path]:
    """Yield every file under a folder."""
    return (path for path in sorted(folder.rglob("*")) if path.is_file())


MODEL = """\
name: {name}
label: {label}
provider_model: openai/{name}
transport: openai_http
api_base: {url}
api_key_env: {key}
embedded: null
size: large
accepts: {{temperature: true, seed: true, structured: json_schema}}
max_output_tokens: 4096
context_window: 131072
extra_body: {{}}
min_in_flight: 1
max_in_flight: 8
timeout_s: 20
deadline_s: 60
attempts: 2
price: {{input: 1.0, output: 2.0, cached_input: null}}
"""
JUDGE = """\
defaults:
  - /model@members.{name}: {name}
name: {name}_judge
rubric: cultureconverse
aggregation: mean
"""


def own_options(folder: Path, url: str, names: Sequence[str], key: str = "null") -> Path:
    """Write a user's own models and judges, and return the folder for ``--config-dir``."""
    conf = folder / "my conf"
    for group in ("model", "judge"):
        (conf / group).mkdir(parents=True)
    for name in names:
        model = MODEL.format(name=name, label=name.replace("_", " ").title(), url=url, key=key)
        (conf / "model" / f"{name}.yaml").write_text(model, "utf-8")
        (conf / "judge" / f"{name}_judge.yaml").write_text(JUDGE.format(name=name), "utf-8")
    return conf
