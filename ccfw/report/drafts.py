"""What a stage that has something written came to, as Markdown: what fails, how often, and at what cost. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from ccfw.authoring.histories import Fault, Step, WrittenRecord

_COMMON = 5
_SHOWN = 160
_BEFORE = {"reply": frozenset[str](), "schema": frozenset({"reply"})}
"""A reply that a check refuses is not looked at by those after it: by check, the refusals that it is spared by."""
_UNREAD = frozenset({"reply", "schema"})


class Words(NamedTuple):
    """What a report calls what it tells of."""

    title: str
    done: str
    """What those have that came through, as ``seeds have a blueprint``."""
    one: str


@dataclass
class Tally:
    """Counts over the records, made in one pass."""

    accepted: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    tries: dict[str, Counter[int]] = field(default_factory=lambda: {"accepted": Counter(), "given up": Counter()})
    replies: Counter[str] = field(default_factory=Counter)
    """By author."""
    caught: Counter[tuple[str, str]] = field(default_factory=Counter)
    """By author and check: replies with such a fault."""
    example: dict[tuple[str, str], Fault] = field(default_factory=dict)

    def add(self, record: WrittenRecord) -> None:
        """Count one record."""
        if record.failure is None:
            self.accepted += 1
        else:
            self.reasons[f"{record.failure.kind}: {record.failure.detail[:_SHOWN]}"] += 1
        self.tries["given up" if record.failure else "accepted"][record.tries] += 1
        for step in record.history:
            self._step(step)

    def _step(self, step: Step) -> None:
        names = {fault.check for fault in step.faults}
        self.replies[step.by] += 1
        for fault in step.faults:
            self.example.setdefault((step.by, fault.check), fault)
        self.caught.update((step.by, name) for name in names)

    def looked_at(self, by: str, check: str) -> int:
        """Return how many replies a check has seen."""
        refused = sum(self.caught[by, name] for name in _BEFORE.get(check, _UNREAD))
        return self.replies[by] - refused


def report(
    records: Iterable[WrittenRecord],
    checks: Mapping[str, tuple[str, ...]],
    paid: Mapping[str, float],
    words: Words,
) -> str:
    """Write the report; ``checks`` names every check by whose replies it looks at, ``paid`` is the manifest's."""
    tally = Tally()
    for record in records:
        tally.add(record)
    parts = (_head(tally, paid, words), _tries(tally, words), _reasons(tally), _often(tally), _rates(tally, checks))
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _head(tally: Tally, paid: Mapping[str, float], words: Words) -> list[str]:
    items = tally.accepted + tally.reasons.total()
    share = f" ({tally.accepted / items:.1%})" if items else ""
    return [f"# {words.title}", "", f"{tally.accepted} of {items} {words.done}{share}.", "", _cost(tally, paid)]


def _cost(tally: Tally, paid: Mapping[str, float]) -> str:
    """Tell what an accepted one cost, with all that was spent on those given up."""
    if paid.get("unpriced_calls"):
        return f"Cost: unknown; {paid['unpriced_calls']} calls have no price."
    each = f"{paid['usd'] / tally.accepted:.4f} USD for each accepted" if tally.accepted else "none was accepted"
    return f"Cost: {paid['usd']:.4f} USD in all, {each}."


def _tries(tally: Tally, words: Words) -> list[str]:
    numbers = sorted({number for counts in tally.tries.values() for number in counts})
    rows = [f"| {n} | {tally.tries['accepted'][n]} | {tally.tries['given up'][n]} |" for n in numbers]
    counts = tally.tries["accepted"]
    mean = sum(n * k for n, k in counts.items()) / counts.total() if counts else None
    told = [f"An accepted {words.one} took {mean:.2f} tries on average.", ""] if mean is not None else []
    head = ["| Tries of the generator | Accepted | Given up |", "| ---: | ---: | ---: |"]
    return ["## Tries", "", *told, *head, *rows] if rows else []


def _reasons(tally: Tally) -> list[str]:
    rows = [f"| {_cell(reason)} | {count} |" for reason, count in tally.reasons.most_common()]
    return ["## Given up", "", "| Reason | Seeds |", "| --- | ---: |", *rows] if rows else []


def _often(tally: Tally) -> list[str]:
    lines = []
    for (by, name), count in tally.caught.most_common(_COMMON):
        fault = tally.example[by, name]
        lines.append(f"* `{name}` ({by}): {count} of {tally.looked_at(by, name)}, as {_cell(fault.line)}")
    return ["## What most often fails", "", *lines] if lines else []


def _rates(tally: Tally, checks: Mapping[str, tuple[str, ...]]) -> list[str]:
    """Tell each check's share of replies that pass it, of those that it has seen; those without a find are counted."""
    rows = [row for by, names in checks.items() for row in _rows(tally, by, names)]
    head = ["| Check | Reply of | Seen | Caught | Pass rate |", "| --- | --- | ---: | ---: | ---: |"]
    silent = sum(map(len, checks.values())) - len(rows)
    told = [f"… {silent} {'check' if silent == 1 else 'checks'} found nothing."] if silent else []
    return ["## Pass rate by check", "", *([*head, *rows, *([""] if told else [])] if rows else []), *told]


def _rows(tally: Tally, by: str, names: tuple[str, ...]) -> Iterator[str]:
    for name in names:
        seen, caught = tally.looked_at(by, name), tally.caught[by, name]
        if caught:
            yield f"| `{name}` | {by} | {seen} | {caught} | {1 - caught / seen:.1%} |"


def _cell(text: str) -> str:
    plain = " ".join(text.split()).replace("|", "\\|")
    return plain if len(plain) <= _SHOWN else plain[:_SHOWN].rstrip() + " …"
