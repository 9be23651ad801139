"""What somebody did to the files, the streams or the shell costs a line, and never a traceback."""

from __future__ import annotations

import json
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from tests.e2e.conftest import Shared
from tests.e2e.running import GOOD, Run, ccfw, environment, own_options, scripted
from tests.fakes.provider import FakeProvider


def shell(folder: Path, provider: FakeProvider, *arguments: str, before: str = "", after: str = "") -> Run:
    """Run the program from a shell that does something to it."""
    command = shlex.join([sys.executable, "-m", "ccfw", *scripted(provider, *arguments)])
    provider.clear()
    done = subprocess.run(
        ["bash", "-c", f"{before} {command} {after}"],
        cwd=folder,
        env=environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
    )
    return Run(folder, done.returncode, done.stdout, done.stderr, tuple(provider.requests))


@dataclass(frozen=True)
class Done:
    """A job that went well, to be damaged."""

    folder: Path
    line: tuple[str, ...]
    run: Run


@pytest.fixture(scope="module")
def done(shared: Shared) -> Done:
    def make(folder: Path) -> Done:
        with FakeProvider(GOOD) as provider:
            line = scripted(provider, "limit=1")
            return Done(folder, line, ccfw(folder, *line, provider=provider))

    return shared("damage", make)


@pytest.fixture
def again(done: Done, tmp_path: Path) -> Callable[..., Run]:
    """Return what runs the job once more, after somebody changed a file of a stage in a copy of its workspace."""

    def run(stage: str, name: str, change: Callable[[str], str], *more: str) -> Run:
        folder = tmp_path / "again"
        subprocess.run(["cp", "-r", done.folder, folder], check=True)
        path = folder / done.run.closings[stage]["out"] / name
        path.write_text(change(path.read_text("utf-8")), "utf-8")
        return ccfw(folder, *done.line, *more)

    return run


@pytest.mark.long
@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_streams_that_are_closed_are_nobodys_and_the_work_is_done(tmp_path: Path, closed: str) -> None:
    with FakeProvider(GOOD) as provider:
        run = shell(tmp_path, provider, "limit=1", after=closed)
        assert run.requests
        assert (run.code, run.err) == (0, "")
        assert bool(run.out) == (">&-" not in closed.split())
        repeated = ccfw(tmp_path, *scripted(provider, "limit=1"), provider=provider)
    assert (repeated.code, repeated.requests) == (0, ())


def test_a_refusal_that_nobody_can_read_still_has_its_exit_code(tmp_path: Path) -> None:
    with FakeProvider(GOOD) as provider:
        run = shell(tmp_path, provider, "limit=none", after="2>&-")
    assert (run.code, run.out, run.err) == (2, "", "")


@pytest.mark.parametrize("module", ["argparse", "omegaconf", "pydantic", "ccfw.request"])
def test_a_signal_during_the_imports_ends_the_process_without_a_word(tmp_path: Path, module: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-X", "importtime", "-m", "ccfw", "dry_run=true"],
        cwd=tmp_path,
        env=environment(),
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr
    assert module in (line.rpartition("|")[2].strip() for line in process.stderr)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "Traceback" not in err


def test_ctrl_c_ends_the_wait_for_another_process(tmp_path: Path) -> None:
    with FakeProvider(GOOD) as provider:
        first = ccfw(tmp_path, *scripted(provider, "limit=1"), provider=provider)
        out = tmp_path / first.closings["simulate"]["out"]
        with FileLock(out / ".lock"):
            process = subprocess.Popen(
                [sys.executable, "-m", "ccfw", *scripted(provider, "limit=1")],
                cwd=tmp_path,
                env=environment(),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            assert process.stderr
            waiting = process.stderr.readline()
            process.send_signal(signal.SIGINT)
            said, err = process.communicate(timeout=20)
    where = first.closings["simulate"]["out"]
    assert waiting[len("00:00:00 ") :] == (f"WARNING another ccfw is writing {where}: waiting for it to finish\n")
    assert err[len("00:00:00 ") :] == "WARNING stopped (SIGINT); the same line goes on\n"
    assert (process.returncode, said) == (1, "")


def paid(content: str, **values: Any) -> str:
    return json.dumps(json.loads(content) | {"paid": values})


def test_a_manifest_with_an_unreadable_sum_is_a_warning(again: Callable[..., Run]) -> None:
    run = again("simulate", "manifest.json", lambda text: paid(text, usd="lots"), "stage=simulate")
    out = run.closings["simulate"]["out"]
    assert run.code == 0
    assert run.err[len("00:00:00 ") :] == (
        f"WARNING {out}/manifest.json: paid.usd: Input should be a valid number; "
        "what earlier runs paid is not counted\n"
    )


@pytest.mark.parametrize("score", [None, 1])
def test_a_judgement_that_stands_twice_is_said_once_when_it_differs(
    again: Callable[..., Run], score: int | None
) -> None:
    first: dict[str, Any] = {}

    def change(text: str) -> str:
        line = text.splitlines()[0]
        first.update(json.loads(line))
        other = line if score is None else json.dumps(first | {"score": score}, separators=(",", ":"))
        return text + other + "\n"

    run = again("evaluate", "records.jsonl", change, "stage=report")
    assert run.code == 0
    said = [line[len("00:00:00 ") :] for line in run.err.splitlines()]
    [where] = {path.parent for path in run.folder.glob("workspace/*/evaluate/*/records.jsonl")}
    twice = (
        f"WARNING {where.relative_to(run.folder)}/records.jsonl: {first['judgement_id']} stands there twice with "
        "different content; the first counts"
    )
    assert said == ([] if score is None else [twice])


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        pytest.param("extra_body", "&a {x: *a}", "{path}: nested more than 50 levels deep, or contains itself", id="a"),
        pytest.param("extra_body", "&a [*a]", "{path}: nested more than 50 levels deep, or contains itself", id="b"),
        pytest.param(
            "extra_body",
            "{a: " * 300 + "1" + "}" * 300,
            "{path}: nested more than 50 levels deep, or contains itself",
            id="deep",
        ),
        pytest.param(
            "extra_body",
            "{a0: &a0 1, " + ", ".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 10)) + "}",
            "{path}: stands for more than 100,000 values, its aliases written out",
            id="bomb",
        ),
        pytest.param(
            "extra_body",
            "{a: !!binary aGVsbG8=}",
            "model.extra_body.a=\"b'hello'\": input was not a valid JSON value",
            id="binary",
        ),
        pytest.param(
            "label",
            '"\\e[31mred"',
            'model.label="\\u001b[31mred": must be one line without control characters',
            id="esc",
        ),
        pytest.param("label", "!!bool maybe", "{path}: a value is not of the kind that its tag says", id="tag"),
        pytest.param("label", '"a\\nb"', 'model.label="a\\nb": must be one line without control characters', id="line"),
    ],
)
def test_a_model_of_ones_own_that_is_odd_yaml_is_refused_in_one_line(
    tmp_path: Path, key: str, value: str, said: str
) -> None:
    conf = own_options(tmp_path, "http://127.0.0.1:1", ("own",))
    path = conf / "model" / "own.yaml"
    lines = path.read_text("utf-8").splitlines()
    path.write_text("\n".join(f"{key}: {value}" if line.startswith(f"{key}:") else line for line in lines), "utf-8")
    run = ccfw(tmp_path, f"--config-dir={conf}", "model=own", "dry_run=true")
    assert (run.code, run.out, run.err) == (2, "", f"ccfw: {said.format(path=path)}\n")


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        pytest.param(
            'workspace="a\x1bb"', 'workspace="a\\u001bb": must be one line without control characters', id="workspace"
        ),
        pytest.param(
            "precision=1e-320", "precision=1e-320: input should be greater than or equal to 0.000001", id="precision"
        ),
    ],
)
def test_what_no_terminal_or_number_can_bear_is_refused(tmp_path: Path, argument: str, said: str) -> None:
    run = ccfw(tmp_path, argument, "dry_run=true")
    assert (run.code, run.out, run.err) == (2, "", f"ccfw: {said}\n")


def test_a_limit_on_the_size_of_files_is_said_with_the_replies_that_it_cost(tmp_path: Path) -> None:
    with FakeProvider(GOOD) as provider:
        run = shell(tmp_path, provider, "limit=3", before="ulimit -f 40;")
    lost = re.findall(r"(\d+) paid (?:reply|replies) could not be kept: disk I/O error", run.err)
    first, second = run.err.splitlines()
    what = f"{lost[0]} paid {'reply' if lost[0] == '1' else 'replies'} could not be kept: disk I/O error"
    assert first[len("00:00:00 ") :] == (
        f"WARNING workspace/ledger.sqlite: {what}; the same line pays for what was lost again"
    )
    assert run.code == 1
    assert second in (f"ccfw: {what}", "ccfw: stage=simulate could not read or write: workspace: File too large")
