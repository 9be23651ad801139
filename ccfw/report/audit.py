"""How far a run can be trusted: the simulator's faults and voices, leaks, endings, stopping, attacks, prompts.

Pure.
"""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ccfw.records import Episode

_TOP = 3
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


def audit(episodes: Sequence[Episode], leaks: int | None) -> Audit:
    """Count what the simulator did in finished episodes."""
    written = [turn for episode in episodes for turn in episode.turns[1:]]
    openers = Counter(opener(turn.user) for turn in written)
    lengths = [len(turn.user) for turn in written]
    return Audit(
        episodes=len(episodes),
        messages=len(written),
        faults=dict(Counter(fault for turn in written for fault in turn.faults).most_common()),
        faulty=sum(bool(turn.faults) for turn in written),
        retries=sum(episode.simulator_retries for episode in episodes),
        leaks=leaks,
        endings=dict(Counter(episode.termination_reason.value for episode in episodes).most_common()),
        openers=len(openers),
        commonest=tuple(openers.most_common(_TOP)),
        length_mean=statistics.fmean(lengths) if lengths else 0.0,
        length_sd=statistics.pstdev(lengths) if lengths else 0.0,
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
        leaks = "–" if a.leaks is None else a.leaks
        cells = (_cell(name), a.messages, _share(a.faulty, a.messages), a.retries, leaks, a.openers, common, length)
        lines.append(f"| {' | '.join(map(str, cells))} |")
    lines += ["", "Faults by check, as a share of the messages:", ""]
    for name, a in audits.items():
        each = ", ".join(f"{check} {_share(times, a.messages)}" for check, times in a.faults.items())
        lines.append(f"- {name}: {each or 'none'}")
    lines += ["", "## How dialogues ended", ""]
    for name, a in audits.items():
        lines.append(f"- {name}: " + ", ".join(f"{reason} {times}" for reason, times in a.endings.items()))
    lines += ["", "## Stopping early", ""]
    lines += [f"- {name}: {_stop(stop)}" for name, stop in stops.items()] or ["- not asked for (precision=null)"]
    lines += ["", "## Attacks on the judge", ""]
    lines += [f"- {name}: {rate}" for name, rate in attacks] or ["- not measured; stage=attack does"]
    lines += ["", "## The judge's prompts compared", "", *prompts]
    return "\n".join(lines) + "\n"


def _share(part: int, whole: int) -> str:
    return f"{part} ({part / whole:.0%})" if whole else "0"


def _cell(text: str) -> str:
    return text[:40].replace("|", "\\|").replace("<", "&lt;")


def _stop(stop: Mapping[str, Any]) -> str:
    reached = "reached" if stop["reached"] else "not reached"
    return f"precision {reached} after {stop['n']} of {stop['planned']} dialogues, {stop['saved']} saved"
