"""A message of the simulated user with all that it is held against, and what a check of it finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ccfw.checks.issue import Finding
from ccfw.checks.text import straighten
from ccfw.records import Message

Severity = Literal["retry", "record"]
MESSAGE = "Message"
"""Where every finding of these checks stands."""


class TurnIssue(NamedTuple):
    """A finding under the name of its check, with what to do about it."""

    check: str
    where: str
    found: str
    says: str
    severity: Severity


@dataclass(frozen=True)
class UserTurn:
    """One message of the simulated user in its place."""

    message: str
    history: tuple[Message, ...]
    """The chat before it, user and assistant in turn."""
    goals: tuple[str, ...]
    """What the user wants in each shard, in order, in English."""
    shard: int
    """Index of the shard that the message belongs to: after the step, when the simulator advanced."""
    language: str
    size: int
    """Characters of the message as it came, before a runaway one was cut."""

    @property
    def line(self) -> str:
        """The message with plain typography, in lower case."""
        return straighten(self.message).casefold()

    @property
    def earlier(self) -> tuple[str, ...]:
        """The user's own messages so far."""
        return tuple(message.content for message in self.history if message.role == "user")

    @property
    def answer(self) -> str:
        """The assistant's last answer; empty when it gave none."""
        return next((message.content for message in reversed(self.history) if message.role == "assistant"), "")


Rule = Callable[[UserTurn], Iterator[Finding]]


def finding(found: str, says: str) -> Finding:
    """Return a finding in the message."""
    return Finding(MESSAGE, found.strip(), says)
