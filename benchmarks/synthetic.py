"""A workspace as a long run leaves it: ``python -m benchmarks.synthetic FOLDER SCENARIOS BASE_URL``.

Writes scenarios, the episodes of all of them in both languages but for one, and the judgements of those episodes, under
the names that the program will look for. Texts repeat; ids do not.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from hydra import compose, initialize_config_dir

from benchmarks.judging import long_episode, played, work
from ccfw.datasets import load
from ccfw.records import LanguageMode, Metric, Scenario
from ccfw.request import to_settings
from ccfw.resources import resource
from ccfw.settings import Settings
from ccfw.settings.dialogues import DatasetConfig
from ccfw.stages import evaluate, simulate
from ccfw.stages.context import Context
from ccfw.store import Output, fingerprint
from ccfw.universe.seed_id import episode_id

_VARIANTS = 20
"""Different conversations about one scenario."""


def overrides(folder: Path, base: str) -> list[str]:
    """Return the command line that goes on with the workspace."""
    return [
        "model=scripted",
        f"model.api_base={base}",
        "dataset=files",
        f"dataset.path={folder / 'scenarios.jsonl'}",
        f"workspace={folder / 'workspace'}",
        "language=both",
        "tracking=none",
        "report.page=false",
    ]


class Named(NamedTuple):
    """One copy of a scenario: what its texts call it, and what they called its model."""

    scenario: Scenario
    number: int

    @property
    def identity(self) -> str:
        """The community, which tells the copies apart."""
        return f"{self.scenario.seed.persona.identity}_{self.number:06}"

    @property
    def seed_id(self) -> str:
        """The name of the copy."""
        old = self.scenario.seed
        return old.seed_id.replace(f"_{old.persona.identity}_", f"_{self.identity}_", 1)

    def renamed(self, text: str) -> str:
        """Return JSON about the scenario as JSON about its copy."""
        seed = self.scenario.seed
        for key in ("Identity", "identity"):
            text = text.replace(f'"{key}":"{seed.persona.identity}"', f'"{key}":"{self.identity}"')
        return text.replace(seed.seed_id, self.seed_id)


def copies(count: int) -> Iterator[Named]:
    """Yield so many copies of the shipped scenarios, each in turn."""
    scenarios = load(DatasetConfig(name="starter", path=None)).scenarios
    for number in range(count):
        yield Named(scenarios[number % len(scenarios)], number)


def _write(path: Path, lines: Iterator[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"{line}\n" for line in lines)


def _scenarios(count: int) -> Iterator[str]:
    texts: dict[str, str] = {}
    for copy in copies(count):
        seed = copy.scenario.seed.seed_id
        if seed not in texts:
            texts[seed] = copy.scenario.model_dump_json(by_alias=True)
        yield copy.renamed(texts[seed])


def _held(count: int) -> Iterator[tuple[Named, LanguageMode]]:
    """Yield every dialogue but the last."""
    return islice(((copy, language) for copy in copies(count) for language in LanguageMode), 2 * count - 1)


def _episodes(count: int) -> Iterator[str]:
    texts: dict[tuple[str, LanguageMode, int], str] = {}
    for copy, language in _held(count):
        seed = copy.scenario.seed.seed_id
        key = seed, language, copy.number // 12 % _VARIANTS
        if key not in texts:
            named = {"episode_id": episode_id(seed, language), "language_mode": language}
            texts[key] = long_episode(copy.scenario, key[2]).model_copy(update=named).model_dump_json()
        yield copy.renamed(texts[key])


def _judgements(count: int, folder: Path) -> Iterator[str]:
    made = work(12 * len(Metric))
    with asyncio.Runner() as runner:
        played(made, runner, folder)
    lines = Output(folder / "played").records.read_text("utf-8").splitlines()
    texts = {(item[0].seed.seed_id, item[2]): line for (_, item), line in zip(made.items, lines, strict=True)}
    old = {item[0].seed.seed_id: item[1].episode_id for _, item in made.items}
    for copy, language in _held(count):
        seed, new = copy.scenario.seed.seed_id, episode_id(copy.seed_id, language)
        yield from (texts[seed, metric].replace(old[seed], new) for metric in Metric)


def make(folder: Path, count: int, base: str) -> None:
    """Write the workspace."""
    _write(folder / "scenarios.jsonl", _scenarios(count))
    settings = _settings(folder, base)
    with asyncio.Runner() as runner, closing(Context(settings, runner)) as context:
        episodes = context.output(simulate.NAME, fingerprint(simulate.parts(context)))
        (member,) = settings.judge.members.values()
        judgements = context.output(evaluate.NAME, fingerprint(evaluate.parts(context, member)))
    _write(episodes.records, _episodes(count))
    _write(judgements.records, _judgements(count, folder))


def _settings(folder: Path, base: str) -> Settings:
    with initialize_config_dir(str(resource("conf")), version_base="1.3"):
        return to_settings(compose("config", overrides=[*overrides(folder, base), "stage=pipeline"]))


if __name__ == "__main__":
    make(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
