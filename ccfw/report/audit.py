"""How far a run can be trusted: the simulator's faults and voices, leaks, endings, stopping, attacks, prompts.

Pure.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ccfw.records import Episode
from ccfw.report.board import words
from ccfw.report.writing import as_markdown

_TOP = 3
_LONGEST = 60
"""Letters of a name, or of a message's first word, that are shown."""
_UNSPACED = re.compile("[\u0e00-\u0eff\u0f00-\u0fff\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
"""Thai, Lao, Tibetan, Khmer, kana and Han."""
_OPENER_LETTERS = 4
"""Letters that count as an opener where words are not parted by spaces."""


@dataclass(frozen=True)
class Audit:
    """Counts over one assistant's episodes in the order of the page."""

    episodes: int
    messages: int
    """User messages that the simulator wrote: all but each dialogue's first."""
    faults: Mapping[str, int]
    """Messages by failed check."""
    faulty: int
    """Messages that fail any check."""
    retries: int
    leaks: int | None
    """User messages that say something hidden; ``None`` where the check cannot read the language."""
    endings: Mapping[str, int]
    openers: int
    """Different openers among the messages."""
    commonest: tuple[tuple[str, int], ...]
    length_mean: float
    length_sd: float
    looked_at: int | None = None
    """Messages that were searched for what is hidden, if only those of a sample were."""


def audit(episodes: Iterable[Episode], leaks: int | None) -> Audit:
    """Count what the simulator did in finished episodes."""
    tally = Tally()
    for episode in episodes:
        tally.add(episode)
    return tally.audit(leaks, tally.messages)


@dataclass
class Tally:
    """An audit in the making: of the episodes it keeps nothing but counts."""

    episodes: int = 0
    messages: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    faulty: int = 0
    retries: int = 0
    endings: Counter[str] = field(default_factory=Counter)
    openers: Counter[str] = field(default_factory=Counter)
    length: int = 0
    squares: int = 0

    def add(self, episode: Episode) -> None:
        """Count one episode."""
        self.episodes += 1
        self.retries += episode.simulator_retries
        self.endings[episode.termination_reason.value] += 1
        for turn in episode.turns[1:]:
            self.messages += 1
            if turn.faults:
                self.faults.update(turn.faults)
                self.faulty += 1
            self.openers[opener(turn.user)] += 1
            self.length += len(turn.user)
            self.squares += len(turn.user) ** 2

    def audit(self, leaks: int | None, looked_at: int) -> Audit:
        """Return the counts, with the leaks that were found in so many messages."""
        n = self.messages
        return Audit(
            episodes=self.episodes,
            messages=n,
            faults=dict(self.faults.most_common()),
            faulty=self.faulty,
            retries=self.retries,
            leaks=leaks,
            endings=dict(self.endings.most_common()),
            openers=len(self.openers),
            commonest=tuple(self.openers.most_common(_TOP)),
            length_mean=self.length / n if n else 0.0,
            length_sd=math.sqrt(n * self.squares - self.length**2) / n if n else 0.0,
            looked_at=looked_at if looked_at < n and leaks is not None else None,
        )


def opener(text: str) -> str:
    """Return the first word of a message in lower case, or its first letters in scripts without spaces."""
    words = text.lower().split()
    first = words[0].strip(".,!?…、。！？\"'“”‘’「」") if words else ""
    return first[:_OPENER_LETTERS] if _UNSPACED.search(first) else first


def markdown(
    audits: Mapping[str, Audit],
    stops: Mapping[str, Any],
    attacks: Iterable[tuple[str, str]],
    prompts: Sequence[str],
) -> str:
    """Write the page: one section per question, one line per assistant."""
    lines = ["# Audit", "", "## The simulated user", ""]
    lines += [
        "| Assistant | Messages | With a fault | Sent back | Saying something hidden | Openers | Commonest | Length |",
        "| --- | ---: | ---: | ---: | ---: | ---: | --- | ---: |",
    ]
    for name, a in audits.items():
        common = ", ".join(f"{_cell(word)} {times}" for word, times in a.commonest)
        length = f"{a.length_mean:.0f} ± {a.length_sd:.0f}"
        leaks = "–" if a.leaks is None else str(a.leaks)
        leaks += f" of {a.looked_at} searched" if a.looked_at is not None else ""
        cells = (
            as_markdown(name),
            a.messages,
            _share(a.faulty, a.messages),
            a.retries,
            leaks,
            a.openers,
            common,
            length,
        )
        lines.append(f"| {' | '.join(map(str, cells))} |")
    lines += ["", "Faults by check, as a share of the messages:", ""]
    for name, a in audits.items():
        each = ", ".join(f"{_cell(words(check))} {_share(times, a.messages)}" for check, times in a.faults.items())
        lines.append(f"- {as_markdown(name)}: {each or 'none'}")
    lines += ["", "## How dialogues ended", ""]
    for name, a in audits.items():
        lines.append(
            f"- {as_markdown(name)}: "
            + ", ".join(f"{words(reason.lower())} {times}" for reason, times in a.endings.items())
        )
    lines += ["", "## Stopping early", ""]
    lines += [f"- {as_markdown(name)}: {_stop(stop)}" for name, stop in stops.items()] or [
        "- not asked for (precision=null)"
    ]
    lines += ["", "## Attacks on the judge", ""]
    lines += [f"- {as_markdown(name)}: {rate}" for name, rate in attacks] or ["- not measured; stage=attack does"]
    lines += ["", "## The judge's prompts compared", "", *prompts]
    return "\n".join(lines) + "\n"


def _share(part: int, whole: int) -> str:
    return f"{part} ({part / whole:.0%})" if whole else "0"


def _cell(text: str) -> str:
    return as_markdown(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…")


def _stop(stop: Mapping[str, Any]) -> str:
    reached = "reached" if stop["reached"] else "not reached"
    return f"precision {reached} after {stop['n']} of {stop['planned']} dialogues, {stop['saved']} saved"
