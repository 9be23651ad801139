"""A random twentieth of what was authored, printed for a reader: ``make sample``, or ``python -m ccfw.sample 7``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from random import Random
from textwrap import fill
from typing import TypeVar

from ccfw.knowledge.files import read_passages, read_taboos
from ccfw.knowledge.records import Passage, Taboo
from ccfw.read_universe import read_universe
from ccfw.resources import resource
from ccfw.universe import Identity, LibraryTemplate

SHARE = 0.05
T = TypeVar("T")


def drawn(things: Sequence[T], rng: Random) -> list[T]:
    """Draw a share of things, at least one, in their order."""
    count = max(1, round(len(things) * SHARE))
    return [things[i] for i in sorted(rng.sample(range(len(things)), count))]


def pages(seed: int) -> Iterator[str]:
    """Yield the sample, entry by entry."""
    rng, universe = Random(seed), read_universe(resource("data") / "universe")  # noqa: S311 a sample, no secret
    people = [(each.region, identity) for each in universe.regions for identity in each.identities]
    knowledge = resource("data") / "knowledge"
    yield from (_identity(region, identity) for region, identity in drawn(people, rng))
    yield from map(_template, drawn(universe.templates, rng))
    yield from map(_passage, drawn(read_passages(knowledge / "passages"), rng))
    yield from map(_taboo, drawn(read_taboos(knowledge / "taboos"), rng))


def _identity(region: str, identity: Identity) -> str:
    words = ", ".join(f"{term.term} {term.native or ''}".strip() for term in identity.kinship)
    shared, not_implied = "; ".join(identity.shared), "; ".join(identity.not_implied)
    likely = f"Shared: {shared}.", f"Not implied: {not_implied}."
    return _entry(f"{region} {identity.code}", identity.description, *likely, f"Kin: {words}.", identity.speech)


def _template(template: LibraryTemplate) -> str:
    slots = "; ".join(f"{name}: {text}" for name, text in template.slot_definitions.items())
    return _entry(template.template_id, template.template_text, slots, template.multi_hop_potential)


def _passage(passage: Passage) -> str:
    return _entry(f"{passage.passage_id} {passage.title}", passage.text, f"Check: {passage.check}")


def _taboo(taboo: Taboo) -> str:
    head = f"{taboo.taboo_id} {taboo.category}, {taboo.severity}: {', '.join(taboo.identities)}"
    return _entry(head, f"{taboo.action}.", taboo.detailed_explanation, f"Exceptions: {taboo.exceptions}")


def _entry(head: str, *texts: str) -> str:
    return "\n".join([head, *(fill(text, 110, initial_indent="  ", subsequent_indent="  ") for text in texts)]) + "\n"


if __name__ == "__main__":
    for page in pages(int(sys.argv[1]) if len(sys.argv) > 1 else Random().randrange(10**6)):  # noqa: S311
        print(page)
