"""The door: compose → settings → stages → exit code. The only ``@hydra.main``."""

from __future__ import annotations

import hashlib
import io
import logging
import secrets
import sys
from pathlib import Path

import hydra
from omegaconf import DictConfig, OmegaConf

from ccfw import trios
from ccfw.errors import CcfwError, RequestError
from ccfw.request import Request, check, to_settings
from ccfw.resources import resource
from ccfw.terminal import printable

log = logging.getLogger("ccfw")
_codes: list[int] = []
"""Exit codes of the jobs of this process, since Hydra keeps no job's."""


def main() -> None:
    """Read the request, refuse it whole if anything is wrong, run its jobs, exit with the worst code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal that cannot show a script must not end the run
    OmegaConf.register_new_resolver("ccfw.nonce", lambda: secrets.token_hex(3), use_cache=True, replace=True)
    OmegaConf.register_new_resolver("ccfw.short_hash", _short_hash, replace=True)
    arguments = hydra._internal.utils.get_args_parser().parse_args()
    own = Path(arguments.config_dir) if arguments.config_dir else None
    if not arguments.help:  # 165 names would bury the page, which names them in one line
        trios.register([folder / "judge" for folder in (resource("conf"), own) if folder])
    try:
        if _runs_jobs(arguments):
            check(Request(tuple(arguments.overrides), own, arguments.multirun))
    except RequestError as error:
        _say(error)
        sys.exit(error.exit_code)
    try:
        _hydra_main()
    except KeyboardInterrupt:
        sys.exit(1)
    sys.exit(max(_codes, default=0))


def _runs_jobs(arguments: object) -> bool:
    asks = ("help", "hydra_help", "version", "cfg", "info", "shell_completion")
    return not any(getattr(arguments, name, None) for name in asks)


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


@hydra.main(version_base="1.3", config_path=str(resource("conf")), config_name="config")
def _hydra_main(config: DictConfig) -> None:
    """Run one job; what fails is said in a line, and the next job of a sweep goes on."""
    from ccfw.job import run_job

    try:
        _codes.append(run_job(to_settings(config)))
    except CcfwError as error:
        _say(error)
        _codes.append(error.exit_code)
    except OSError as error:  # a full disk, a folder that may not be written
        _say(CcfwError(str(error)))
        _codes.append(CcfwError.exit_code)


def _say(error: CcfwError) -> None:
    problems = error.problems if isinstance(error, RequestError) else (str(error),)
    for line in problems:
        print(f"ccfw: {printable(line)}", file=sys.stderr)


if __name__ == "__main__":
    main()
