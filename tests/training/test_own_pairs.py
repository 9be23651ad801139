"""A job's reward model learns from the pairs of that job, whatever is stored in the workspace while it runs."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing
from pathlib import Path

import pytest

from ccfw.errors import RequestError
from ccfw.llm import transports
from ccfw.stages import preferences, responses, reward
from ccfw.stages.context import Context
from tests.fakes.provider import FakeProvider
from tests.fakes.wire import FakeRequest
from tests.samples import raw_model
from tests.training.grading import Grading, settings


def answer(request: FakeRequest) -> str | None:
    if request.schema_name != "crisp_response":
        return None
    return json.dumps({"answer": "Follow mark 4 .", "reasoning": "It says mark 2 ."})


def test_answers_that_are_stored_meanwhile_do_not_move_the_pairs_of_a_job(tmp_path: Path) -> None:
    with FakeProvider(Grading(answer)) as provider, asyncio.Runner() as runner:
        job = settings(tmp_path, tmp_path / "weights", provider)
        policy = raw_model("scripted", name="old", provider_model="openai/old", api_base=provider.base_url)
        asked = job.crisp.responses.model_validate(
            job.crisp.responses.model_dump() | {"k": 2, "policies": {"old": policy}}
        )
        job = job.model_copy(update={"crisp": job.crisp.model_copy(update={"responses": asked})})
        with closing(Context(job, runner)) as own, closing(Context(job, runner)) as other:
            preferences.run(own)
            before = reward.stored_pairs(own)
            assert responses.run(other).status == "ok"
            assert before.examples
            assert reward.stored_pairs(own) == before
            with pytest.raises(RequestError, match="make them first with stage=preferences and the same line"):
                reward.stored_pairs(other)
            runner.run(transports.close())
