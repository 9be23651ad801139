"""A random sample of what was authored, printed for a reader: ``make sample``, or ``python -m ccfw.sample 7``.

A twentieth of the identities, templates, passages and taboos, and three of the starter scenarios.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from random import Random
from typing import TypeVar

from ccfw.datasets import load
from ccfw.errors import CcfwError
from ccfw.knowledge.files import read_passages, read_taboos
from ccfw.knowledge.records import Passage, Taboo
from ccfw.outcome import say
from ccfw.paragraphs import filled, line_width
from ccfw.resources import resource
from ccfw.scenario_page import scenario_page
from ccfw.settings.dialogues import DatasetConfig
from ccfw.terminal import printable
from ccfw.universe.reading import read_universe
from ccfw.universe.records import Identity, LibraryTemplate

SHARE = 0.05
SCENARIOS = 3
_LARGEST = 10**6
T = TypeVar("T")


def drawn(things: Sequence[T], rng: Random, count: int | None = None) -> list[T]:
    """Draw so many things, or a share of them, at least one, in their order."""
    most = max(1, round(len(things) * SHARE)) if count is None else min(count, len(things))
    return [things[i] for i in sorted(rng.sample(range(len(things)), most))]


def pages(seed: int, width: int) -> Iterator[str]:
    """Yield the sample, entry by entry, in lines of at most ``width`` columns."""
    rng, universe = Random(seed), read_universe(resource("data") / "universe")  # noqa: S311 a sample, no secret
    people = [(each.region, identity) for each in universe.regions for identity in each.identities]
    knowledge = resource("data") / "knowledge"
    yield from (_identity(width, region, identity) for region, identity in drawn(people, rng))
    yield from map(partial(_template, width), drawn(universe.templates, rng))
    yield from map(partial(_passage, width), drawn(read_passages(knowledge / "passages"), rng))
    yield from map(partial(_taboo, width), drawn(read_taboos(knowledge / "taboos"), rng))
    starter = load(DatasetConfig(name="starter", path=None)).scenarios
    yield from (scenario_page(each, width) for each in drawn(starter, rng, SCENARIOS))


def _identity(width: int, region: str, identity: Identity) -> str:
    words = ", ".join(f"{term.term} {term.native or ''}".strip() for term in identity.kinship)
    shared, not_implied = "; ".join(identity.shared), "; ".join(identity.not_implied)
    likely = f"Shared: {shared}.", f"Not implied: {not_implied}."
    return _entry(width, f"{region} {identity.code}", identity.description, *likely, f"Kin: {words}.", identity.speech)


def _template(width: int, template: LibraryTemplate) -> str:
    slots = "; ".join(f"{name}: {text}" for name, text in template.slot_definitions.items())
    return _entry(width, template.template_id, template.template_text, slots, template.multi_hop_potential)


def _passage(width: int, passage: Passage) -> str:
    return _entry(width, f"{passage.passage_id} {passage.title}", passage.text, f"Check: {passage.check}")


def _taboo(width: int, taboo: Taboo) -> str:
    head = f"{taboo.taboo_id} {taboo.category}, {taboo.severity}: {', '.join(taboo.identities)}"
    return _entry(width, head, f"{taboo.action}.", taboo.detailed_explanation, f"Exceptions: {taboo.exceptions}")


def _entry(width: int, head: str, *texts: str) -> str:
    return "\n".join([filled(head, width), *(filled(text, width, "  ") for text in texts)]) + "\n"


def _seed(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text}: must be a whole number, 0 or more")
    return int(text)


def main() -> int:
    """Print a sample and the number that repeats it; return the exit code."""
    about = "Print a random sample of what ships with ccfw: identities, templates, passages, taboos, scenarios."
    parser = argparse.ArgumentParser("python -m ccfw.sample", description=about)
    parser.add_argument("seed", nargs="?", type=_seed, help="the number that an earlier sample said; none: another one")
    asked = parser.parse_args().seed
    seed = Random().randrange(_LARGEST) if asked is None else asked  # noqa: S311 a sample, no secret
    try:
        print(f"Sample {seed}; the same again: python -m ccfw.sample {seed}\n")
        for page in pages(seed, line_width()):
            print(printable(page))
        sys.stdout.flush()
    except BrokenPipeError:  # whoever reads has seen enough, which is no failure
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except CcfwError as error:
        say(error)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
