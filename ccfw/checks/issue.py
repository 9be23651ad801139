"""What a check finds, and what a check is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from ccfw.records import Scenario


class Finding(NamedTuple):
    """A fault in one field, not yet named after the check that saw it."""

    where: str
    """Path of the field in the paper's spelling, items counted from 0."""
    found: str
    says: str
    """What the rule wants."""


class Issue(NamedTuple):
    """A finding under the name of its check."""

    check: str
    where: str
    found: str
    says: str


Check = Callable[[Scenario], Iterator[Finding]]
