"""What came of a job, and the table that a sweep ends with."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from ccfw.errors import CcfwError, RequestError
from ccfw.secrets import scrub
from ccfw.terminal import printable

Status = Literal["ok", "partial", "failed", "refused", "not run"]
STATUSES: tuple[Status, ...] = ("ok", "partial", "failed", "refused", "not run")
_HEAD = ("job", "overrides", "status", "calls", "cost", "reason")


@dataclass(frozen=True)
class Outcome:
    """What came of one job; it travels from wherever a launcher ran the job."""

    status: Status
    code: int = 0
    """Exit code of a process that ran this job alone."""
    calls: int | None = 0
    """``None``: an error cut the counting short."""
    cost: str = "0.0000"
    reason: str = ""
    """Why it is not ``ok``."""
    interrupted: bool = False
    """Whether somebody wants all of it to end, so that no job may follow."""

    @property
    def failed(self) -> bool:
        """Whether ``on_job_failure`` decides what happens next."""
        return self.status in ("failed", "refused")


NOT_RUN = Outcome("not run")
ENDED: list[Outcome] = []
"""Of the jobs of this command, since Hydra hands none on."""


def of_error(error: Exception) -> Outcome:
    """Return the outcome of a job that an error kept from beginning."""
    refused = isinstance(error, RequestError)
    code = error.exit_code if isinstance(error, CcfwError) else CcfwError.exit_code
    return Outcome("refused" if refused else "failed", code, reason=one_line(error))


def one_line(error: Exception) -> str:
    """Return an error's message on one line and without secrets."""
    text = "; ".join(error.problems) if isinstance(error, RequestError) else str(error)
    return scrub(" ".join(text.split())) or type(error).__name__


def table(jobs: Sequence[Sequence[str]], outcomes: Sequence[Outcome]) -> str:
    """Return a row for every job of a sweep, those that were not run too, and a line that counts them.

    A row names what sets its job apart; what all jobs have in common stands in the command line.
    """
    ended = [*outcomes, *[NOT_RUN] * (len(jobs) - len(outcomes))]
    rows = [_row(number, own, outcome) for number, (own, outcome) in enumerate(zip(_own(jobs), ended, strict=True))]
    counts = " ".join(f"{status.replace(' ', '_')}={_count(ended, status)}" for status in STATUSES)
    return "\n".join([*_aligned([_HEAD, *rows]), f"ccfw sweep jobs={len(jobs)} {counts}"])


def _count(outcomes: Iterable[Outcome], status: Status) -> int:
    return sum(outcome.status == status for outcome in outcomes)


def _own(jobs: Sequence[Sequence[str]]) -> list[str]:
    shared = set.intersection(*(set(job) for job in jobs)) if len(jobs) > 1 else set()
    return [" ".join(text for text in job if text not in shared) or "-" for job in jobs]


def _row(number: int, own: str, outcome: Outcome) -> tuple[str, ...]:
    calls = "unknown" if outcome.calls is None else str(outcome.calls)
    counted = ("-", "-") if outcome.status == "not run" else (calls, outcome.cost)
    return tuple(printable(scrub(cell)) for cell in (str(number), own, outcome.status, *counted, outcome.reason))


def _aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def worst(outcomes: Iterable[Outcome]) -> int:
    """Return the exit code of a command by those of its jobs."""
    return max((outcome.code for outcome in outcomes), default=0)


def say(error: CcfwError) -> None:
    """Say on stderr what went wrong, a line for each mistake."""
    for line in error.problems if isinstance(error, RequestError) else (str(error),):
        print(f"ccfw: {printable(scrub(line))}", file=sys.stderr)


def io_error(doing: str, error: OSError, place: str) -> CcfwError:
    """Return an error of the system as one of ours: what was being done, with which file or else where, and why not."""
    return CcfwError(f"{doing}: {error.filename or place}: {error.strerror or error}")
