"""The evaluate path through one transport, in a process of its own: ``python -m benchmarks.own TRANSPORT CALLS``.

Rounds are asked for and told as in ``peers``. Each has a new folder and an empty ledger, opened before it is timed.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
from pathlib import Path

from benchmarks.judging import PATIENT, Work, played, work
from benchmarks.peers import Litellm, reported
from ccfw.llm.ledger import Ledger
from ccfw.llm.litellm_client import LitellmClient
from ccfw.llm.openai_http import OpenAIHttpClient
from ccfw.llm.types import ChatClient
from ccfw.settings.models import ModelConfig


def transport(name: str, model: ModelConfig) -> ChatClient:
    """Return a transport of ours."""
    return (LitellmClient if name == "litellm" else OpenAIHttpClient)(model, model.api_base)


def judge(runner: asyncio.Runner, made: Work, name: str, asked: dict[str, int], through: ChatClient) -> None:
    """Make one round."""
    with tempfile.TemporaryDirectory() as folder, Ledger(Path(folder) / "ledger.sqlite") as ledger, reported():
        made.judge(runner, ledger, Path(folder) / "out", through, calls=asked["calls"], at_once=asked["at_once"])
        if name == "litellm":
            runner.run(Litellm().settle())


def main(name: str, most: int) -> None:
    """Make rounds as long as they are asked for."""
    made, transports = work(most), dict[str, ChatClient]()
    with asyncio.Runner() as runner, tempfile.TemporaryDirectory() as folder:
        memory = played(made, runner, Path(folder)) if name == "memory" else None
        for line in sys.stdin:
            asked = json.loads(line)
            model = made.settings.model.model_copy(update={"api_base": asked["base"]} | PATIENT)
            if asked["base"] not in transports:
                transports[asked["base"]] = memory or transport(name, model)
            judge(runner, made, name, asked, transports[asked["base"]])


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
