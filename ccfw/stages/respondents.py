"""Who answers in stage *responses*, a policy, and who scores what was said, a judge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ccfw.crisp.judging import Scored, read_response, read_score, response_form, score_form
from ccfw.crisp.records import ResponseRecord, ResponseScore, Scale, Situation
from ccfw.crisp.views import fields_of, norm_match_view, outcome_view, policy_view
from ccfw.llm.asking import ask, build_request
from ccfw.records import Failure
from ccfw.settings import Settings
from ccfw.stages.crisp import Speaker, failure_of, shortened
from ccfw.stages.drafting import role

_STAGE = "responses"
_NUMBER = 1_000_000
"""Keeps the answers of one policy to one question apart in the ledger."""


class Asked(NamedTuple):
    """An answer to be had."""

    situation: Situation
    number: int


@dataclass(frozen=True)
class Respondent:
    """A policy under test."""

    settings: Settings
    name: str
    speaker: Speaker

    async def respond(self, asked: Asked) -> ResponseRecord:
        """Have one question answered once."""
        terms, model = self.settings.crisp.responses, self.speaker.model
        request = build_request(
            model,
            self.speaker.prompts.render("crisp_response", fields_of(policy_view(asked.situation))),
            role=role("policy", _STAGE),
            temperature=terms.temperature,
            seed=self.settings.seed + asked.number - 1,
            schema_name="crisp_response",
            schema=response_form(model.size == "small"),
            replicate=(asked.number - 1) * _NUMBER,
        )
        reply = await ask(self.speaker.client, request, read_response, terms.tries)
        return ResponseRecord(
            response_id=f"{asked.situation.situation_id}::{self.name}::{asked.number}",
            situation_id=asked.situation.situation_id,
            norm_id=asked.situation.norm.norm_id,
            culture=asked.situation.norm.culture,
            policy=self.name,
            number=asked.number,
            answer=reply.value.answer if reply.value else "",
            reasoning=reply.value.reasoning if reply.value else "",
            failure=None if reply.value else failure_of(reply),
        )


@dataclass(frozen=True)
class Bench:
    """One judge."""

    settings: Settings
    speaker: Speaker

    async def judge(self, item: tuple[Situation, ResponseRecord, Scale]) -> ResponseScore:
        """Score one response on one scale."""
        situation, response, scale = item
        view = (outcome_view if scale is Scale.OUTCOME else norm_match_view)(situation, response)
        model, prompt = self.speaker.model, f"crisp_{scale.value}"
        request = build_request(
            model,
            self.speaker.prompts.render(prompt, fields_of(view)),
            role=role("judge", _STAGE),
            temperature=self.settings.judging.temperature,
            seed=self.settings.seed,
            schema_name=prompt,
            schema=score_form(scale, model.size == "small"),
        )

        def read(text: str) -> Scored | Failure:
            return read_score(text, scale)

        reply = await ask(self.speaker.client, request, read, self.settings.judging.tries)
        found = reply.value or Scored(-1, "", "")
        return ResponseScore(
            score_id=f"{response.response_id}::{scale.value}",
            response_id=response.response_id,
            situation_id=response.situation_id,
            norm_id=response.norm_id,
            policy=response.policy,
            judge=model.name,
            scale=scale,
            score=found.score if reply.value else None,
            failure=None if reply.value else failure_of(reply),
            evidence=shortened(found.evidence),
            reason=shortened(found.reason),
        )
