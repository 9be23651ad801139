"""How a policy is asked, and what it then says: its tokenizer's chat template, one token after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from ccfw.errors import RequestError
from ccfw.settings.training import GrpoConfig, PolicyConfig
from ccfw.terminal import printable
from ccfw.training.encoding import ends_of_turn, tokens_of
from ccfw.training.task import Question
from ccfw.training.terms import unknown_modules
from ccfw.training.weights import Loaded

_AT_ONCE = 32


def check_asking(config: GrpoConfig, policy: PolicyConfig, loaded: Loaded, questions: Sequence[Question]) -> None:
    """Raise ``RequestError`` with all that keeps a loaded policy from answering, or from being trained by the terms."""
    faults = unknown_modules("policy", loaded.model, policy.lora.modules if policy.lora else ())
    given = policy.weights.model_dump(include={"path", "package", "scratch"}, exclude_none=True)
    place = " ".join(f"policy.weights.{key}={value}" for key, value in given.items())
    if not loaded.tokenizer.chat_template:
        raise RequestError([*faults, f"{place}: its tokenizer has no chat template, and a policy is asked by one"])
    try:
        longest = max(len(tokens_of(loaded.tokenizer, each)) for each in rendered(loaded, questions, policy.template))
    except Exception as error:  # noqa: BLE001 (a template is a program of somebody else's)
        reason = printable(" ".join(str(error).split()))[:300] or type(error).__name__
        raise RequestError([*faults, f"{place}: its chat template does not take the question: {reason}"]) from None
    positions = getattr(loaded.model.config.get_text_config(), "max_position_embeddings", None)
    if positions is not None and longest + config.max_completion_tokens > positions:
        faults.append(
            f"grpo.max_completion_tokens={config.max_completion_tokens}: the model has {positions} positions, and the "
            f"longest question takes {longest} of them"
        )
    if faults:
        raise RequestError(faults)


def rendered(loaded: Loaded, questions: Sequence[Question], template: Mapping[str, Any]) -> list[str]:
    """Return questions as the policy reads them; ``template`` is what its chat template is given besides."""
    return [
        loaded.tokenizer.apply_chat_template(list(each.prompt), tokenize=False, add_generation_prompt=True, **template)
        for each in questions
    ]


def generate(
    loaded: Loaded, questions: Sequence[Question], config: GrpoConfig, template: Mapping[str, Any], seed: int
) -> list[tuple[str, bool]]:
    """Return an answer to each question, and whether it was cut off; training's random numbers stay as they are."""
    found: list[tuple[str, bool]] = []
    tokenizer, model = loaded
    ends = set(ends_of_turn(tokenizer))
    training = model.training
    model.eval()
    with torch.random.fork_rng(), torch.no_grad():
        torch.manual_seed(seed)
        for start in range(0, len(questions), _AT_ONCE):
            texts = rendered(loaded, questions[start : start + _AT_ONCE], template)
            rows = tokenizer(texts, add_special_tokens=False, padding=True, padding_side="left", return_tensors="pt")
            rows = {name: rows[name].to(model.device) for name in ("input_ids", "attention_mask")}
            made = model.generate(
                **rows,
                do_sample=True,
                temperature=config.temperature,
                top_p=config.top_p,
                max_new_tokens=config.max_completion_tokens,
                eos_token_id=list(ends),
                pad_token_id=tokenizer.pad_token_id,
            )[:, rows["input_ids"].shape[1] :]
            found += [
                (tokenizer.decode(row, skip_special_tokens=True), not ends & set(row.tolist())) for row in made.cpu()
            ]
    model.train(training)
    return found
