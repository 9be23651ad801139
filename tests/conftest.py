"""Every test stands alone: its own empty working directory, no key in the environment, seeded examples."""

from __future__ import annotations

import os
import re
from pathlib import Path

import hypothesis
import pytest

from ccfw.records import Scenario
from tests.samples import canary_scenario, raw_scenario, scenario_of

hypothesis.settings.register_profile("ccfw", derandomize=True, deadline=None, database=None)
hypothesis.settings.load_profile("ccfw")

_SECRET = re.compile("KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if _SECRET.search(name):
            monkeypatch.delenv(name)


@pytest.fixture(scope="session")
def scenario() -> Scenario:
    """A good scenario of four shards."""
    return scenario_of(raw_scenario())


@pytest.fixture(scope="session")
def planted() -> Scenario:
    """The same scenario with a canary in every text but the first message."""
    return canary_scenario()
