"""The door: compose → settings → stages → exit code. The only ``@hydra.main``."""

# ruff: noqa: E402 what is imported takes a while, and a signal meanwhile must not end in somebody's traceback
from __future__ import annotations

import signal

for _each in (signal.SIGINT, signal.SIGTERM):  # as long as nothing is under way; a job then ends in good order
    signal.signal(_each, signal.SIG_DFL)

import argparse
import gc
import hashlib
import io
import logging
import os
import secrets
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NoReturn, TextIO

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from ccfw.errors import CcfwError, RequestError
from ccfw.judging import trios
from ccfw.outcome import ENDED, Outcome, io_error, of_error, say, worst
from ccfw.request import Request, check, literal, to_settings
from ccfw.resources import resource
from ccfw.stop import take_early_signals

log = logging.getLogger("ccfw")
_NO_READER = 128 + 13
"""Exit code when nobody reads stdout any more: what a shell makes of SIGPIPE."""


def main() -> None:
    """Run the command and exit with the worst code of its jobs."""
    gc.set_threshold(50_000, 20, 100)  # a run holds many records and few cycles: looking for them often costs a sixth
    _open_closed_streams()
    try:
        code = _run(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:
        _leave()
    sys.exit(code)


def _open_closed_streams() -> None:
    """Give streams that the shell closed to nobody: else a database would be opened under a stream's number."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # it takes the lowest number that is free
            os.set_inheritable(number, True)
    sys.stdout = sys.stdout or _nobody()
    sys.stderr = sys.stderr or _nobody()


def _nobody() -> TextIO:
    return Path(os.devnull).open("w", encoding="utf-8")


def _run(command_line: Sequence[str]) -> int:
    """Read the request, refuse it whole if anything is wrong, run its jobs, and return the exit code."""
    try:
        arguments = _arguments(command_line)
        _set_up(arguments)
        if _runs_jobs(arguments):
            check(Request(tuple(arguments.overrides), _own_options(arguments), arguments.multirun))
        take_early_signals()
        _hydra_main()
    except CcfwError as error:
        say(error)
        return error.exit_code
    except (HydraException, OmegaConfBaseException) as error:
        say(RequestError([" ".join(str(error).split())]))
        return RequestError.exit_code
    except RecursionError:
        say(RequestError(["the settings are nested too deeply, or contain themselves"]))
        return RequestError.exit_code
    except BrokenPipeError:
        raise
    except OSError as error:
        say(io_error("could not write the run's own folder", error, "multirun"))
        return CcfwError.exit_code
    return worst(ENDED)


def _arguments(command_line: Sequence[str]) -> argparse.Namespace:
    """Read the command line, flags and overrides in any order, and hand it to Hydra as it wants it: flags first."""
    parser = hydra._internal.utils.get_args_parser()
    parser.exit_on_error = False
    try:
        arguments, unknown = parser.parse_known_intermixed_args(command_line)
    except argparse.ArgumentError as error:
        raise RequestError([str(error)]) from None
    problems = [f"{flag}: no such flag; python -m ccfw --hydra-help lists them" for flag in unknown]
    problems += _flag_problems(arguments)
    if problems:
        raise RequestError(problems)
    arguments.overrides = list(map(literal, arguments.overrides))
    flags = {name.replace("_", "-"): value for name, value in vars(arguments).items() if name != "overrides"}
    switches = [f"--{flag}" for flag, value in flags.items() if value is True]
    valued = [f"--{flag}={value}" for flag, value in flags.items() if isinstance(value, str)]
    sys.argv[1:] = [*switches, *valued, *arguments.overrides]
    return arguments


def _flag_problems(arguments: argparse.Namespace) -> Iterator[str]:
    """Yield what is wrong with Hydra's flags that Hydra would break off at."""
    for name in ("config_path", "config_name"):
        if (value := getattr(arguments, name)) is not None:
            flag = f"--{name.replace('_', '-')}"
            yield f"{flag}={value}: ccfw starts from its own options; add yours with --config-dir=…"
    if arguments.experimental_rerun is not None:
        yield "--experimental-rerun: a run is repeated by its command line"
    asked = [name for name in ("run", "multirun", "cfg", "info", "shell_completion") if getattr(arguments, name)]
    if len(asked) > 1:
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in asked)
        yield f"{flags}: one of them at a time"
    if arguments.resolve and not (arguments.cfg or arguments.help):
        yield "--resolve: goes with --cfg"


def _set_up(arguments: argparse.Namespace) -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that cannot show a script must not end the run
    if not _runs_jobs(arguments) and hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # a page may be cut short; a job's connections must not end it
    os.environ["HYDRA_FULL_ERROR"] = "1"  # Hydra hands errors on instead of printing them
    OmegaConf.register_new_resolver("ccfw.nonce", lambda: secrets.token_hex(3), use_cache=True, replace=True)
    OmegaConf.register_new_resolver("ccfw.short_hash", _short_hash, replace=True)
    if not arguments.help:  # 165 names would bury the page, which names them in one line
        trios.register([folder / "judge" for folder in (resource("conf"), _own_options(arguments)) if folder])


def _own_options(arguments: argparse.Namespace) -> Path | None:
    return Path(arguments.config_dir) if arguments.config_dir else None


def _runs_jobs(arguments: argparse.Namespace) -> bool:
    asks = ("help", "hydra_help", "cfg", "info", "shell_completion")
    return not any(getattr(arguments, name) for name in asks)


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


@hydra.main(version_base="1.3", config_path=str(resource("conf")), config_name="config")
def _hydra_main(config: DictConfig) -> Outcome:
    """Run one job; what fails is said in a line, and what came of it is handed to the sweep, if there is one."""
    try:
        outcome = _job(config)
    except BrokenPipeError:
        _leave()
    ENDED.append(outcome)
    return outcome


def _job(config: DictConfig) -> Outcome:
    from ccfw.job import run_job

    about = HydraConfig.get()
    try:
        return run_job(to_settings(config), tuple(about.overrides.task), alone=about.mode is not RunMode.MULTIRUN)
    except RequestError as error:
        say(error)
        return of_error(error)
    except BrokenPipeError:
        raise
    except Exception as error:
        if about.mode is not RunMode.MULTIRUN:
            raise
        log.exception("this job broke; the others go on")
        return of_error(error)


def _leave() -> NoReturn:
    """Exit without a word when nobody reads stdout any more, also not of what is still to be flushed."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(_NO_READER)


if __name__ == "__main__":
    main()
