"""Scenes that repeat one another: refused within a norm, told where norms share one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.crisp.situated import Situated, body
from tests.e2e.running import ccfw, scripted
from tests.fakes.provider import FakeProvider

OWN = "norm,culture\nGuests hang the key by the stairs,Norway\nChildren carry the bread to the table,Norway\n"


class Stuck(Situated):
    """A generator that tells one scene whatever it is asked."""

    def _number(self, text: str) -> int:
        return 1

    def _scenario(self, text: str, request: Any) -> str:
        return self._draft(body(1, 1))


def test_a_generator_that_tells_one_scene_gives_one_a_norm_and_the_report_says_so(tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_text(OWN, "utf-8")
    line = ("stage.runs=[norms,scenarios]", "crisp.norms.sources=[own.csv]", "crisp.scenarios.per_norm=3")
    with FakeProvider(Stuck()) as provider:
        done = ccfw(tmp_path, *scripted(provider), *line, "retriever=none", provider=provider)
    folder = done.folder / done.closings["scenarios"]["out"]
    found = json.loads((folder / "manifest.json").read_text("utf-8"))["counts"]
    assert (found["taken"], found["kept"]) == (6, 2)
    told = (folder / "report.md").read_text("utf-8")
    assert "1 of 2 scenes stand word for word under another norm: is the generator stuck?" in told
    assert "repeated" in told
