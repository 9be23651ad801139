"""Rows go by what was run, not by what it is called; costs are known or said to be unknown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.running import ccfw
from tests.fakes.provider import FakeProvider, FakeReply, FakeRequest
from tests.fakes.scripts import roles


@pytest.mark.long
def test_two_models_of_one_name_keep_their_own_numbers(tmp_path: Path) -> None:
    line = ("model=scripted", "limit=1", "tracking=none", "report.shown=0", "simulation.tries=1")
    folders = set()
    with FakeProvider(roles()) as provider:
        for served in ("openai/alpha", "openai/beta"):
            run = ccfw(
                tmp_path,
                *line,
                f"model.api_base={provider.base_url}",
                f"model.provider_model={served}",
                provider=provider,
            )
            assert run.code == 0
            folder = tmp_path / run.closings["report"]["out"]
            manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
            assert manifest["settings"]["model"]["provider_model"] == served
            folders.add(folder)
    assert len(folders) == 2


def test_a_provider_that_counts_no_tokens_leaves_the_cost_unknown(tmp_path: Path) -> None:
    def uncounted(request: FakeRequest) -> FakeReply:
        reply = roles()(request)
        assert isinstance(reply, FakeReply | str)
        text = reply if isinstance(reply, str) else reply.text
        return FakeReply(text, prompt_tokens=0, completion_tokens=0)

    with FakeProvider(uncounted) as provider:
        run = ccfw(
            tmp_path,
            "stage=simulate",
            "model=scripted",
            f"model.api_base={provider.base_url}",
            "limit=1",
            "tracking=none",
            provider=provider,
        )
    assert run.closings["simulate"]["cost"] == "unknown"
