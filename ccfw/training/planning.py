"""What training would take: steps, tokens, memory. Estimates from counts alone, so that nothing is loaded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from ccfw.checks.text import count_words
from ccfw.crisp.records import Preference
from ccfw.settings.training import GrpoConfig, LoraTerms, PolicyConfig, RewardConfig, WeightsConfig
from ccfw.training.texts import question_text

_TOKENS_PER_WORD = 1.35
"""Of English prose in the vocabularies of Qwen3, Llama 3 and SmolLM2; other languages take more."""
_TEMPLATE = 12
_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
_LINEAR = 7
"""Linear layers of a block: four of the attention, three of the feed-forward."""


class Memory(NamedTuple):
    """Bytes on one device, all of the model on it."""

    weights: float
    gradients: float
    optimizer: float
    """AdamW's two moments of every trained parameter."""
    activations: float

    @property
    def total(self) -> float:
        """All of it."""
        return sum(self)


class RewardPlan(NamedTuple):
    """What training a reward model would take."""

    pairs: int
    held_out: int
    steps: int
    tokens: int
    """Read in all epochs."""
    longest: int
    """Tokens of the longest text."""
    cut: int
    """Texts that are longer than allowed."""
    trainable: float
    """Parameters."""
    memory: Memory
    flops: float
    """6 · parameters · tokens, of full-parameter training."""


def tokens_in(text: str) -> int:
    """Estimate the tokens of a text."""
    return math.ceil(count_words(text) * _TOKENS_PER_WORD)


def steps_of(items: int, batch: int, epochs: float) -> int:
    """Return the updates of so many epochs; the last of an epoch may be of fewer items."""
    return math.ceil(math.ceil(items / batch) * epochs)


def reward_plan(config: RewardConfig, train: Sequence[Preference], held_out: int) -> RewardPlan:
    """Estimate what training a reward model on pairs would take."""
    lengths = []
    for pair in train:
        question = tokens_in(question_text(pair.culture, pair.scenario, pair.question)) + _TEMPLATE
        lengths += [question + tokens_in(answer) for answer in (pair.chosen, pair.rejected)]
    read = [min(each, config.max_tokens) for each in lengths]
    tokens = round(sum(read) * config.epochs)
    whole = config.weights.parameters * 1e6
    trainable = _trainable(config, whole)
    return RewardPlan(
        pairs=len(train),
        held_out=held_out,
        steps=steps_of(len(train), config.batch, config.epochs),
        tokens=tokens,
        longest=max(lengths, default=0),
        cut=sum(each > config.max_tokens for each in lengths),
        trainable=trainable,
        memory=memory(
            config.weights,
            trainable,
            rows=2 * config.micro_batch,
            tokens=max(read, default=0),
            checkpointing=config.gradient_checkpointing,
            half=config.autocast == "bfloat16",
        ),
        flops=6.0 * whole * tokens,
    )


def _trainable(config: RewardConfig, whole: float) -> float:
    if config.lora is not None:
        return adapter(config.weights, config.lora)
    if config.top is not None:
        return block(config.weights) * config.top.train + config.weights.hidden
    return whole


def block(weights: WeightsConfig) -> float:
    """Estimate the parameters of one layer, 12 · hidden²."""
    return 12.0 * weights.hidden**2


def adapter(weights: WeightsConfig, lora: LoraTerms) -> float:
    """Estimate the parameters of low-rank adapters: rank · (in + out) for every linear layer."""
    modules = len(lora.modules) or _LINEAR
    return float(lora.rank * 2 * weights.hidden * modules * weights.layers * 1.5)  # feed-forwards are wider


def memory(
    weights: WeightsConfig, trainable: float, *, rows: int, tokens: int, checkpointing: bool, half: bool
) -> Memory:
    """Estimate the memory of a step on ``rows`` texts of ``tokens`` tokens.

    Activations after Korthikanti et al. (2022): 34 · tokens · hidden bytes a layer in half precision, attention
    computed in blocks; with checkpointing the inputs of all layers and one layer whole.
    """
    size, width = _BYTES[weights.dtype], 1.0 if half or _BYTES[weights.dtype] == 2 else 2.0
    unit = width * rows * tokens * weights.hidden
    activations = unit * (2 * weights.layers + 34) if checkpointing else unit * 34 * weights.layers
    return Memory(weights.parameters * 1e6 * size, trainable * size, 2 * trainable * size, activations)


class GrpoPlan(NamedTuple):
    """What optimising a policy would take."""

    steps: int
    answers: int
    tokens: int
    """Generated, at most."""
    prompt_tokens: int
    """Read: the questions, once for each group."""
    trainable: float
    parameters: float
    memory: Memory
    """Of training the policy; the reward model and the cache of generation come on top."""
    flops: float
    """Generation, the log-probabilities of policy and reference, and training: 2 + 2 + 2 + 6 · parameters · tokens."""
    looks: int


def grpo_plan(config: GrpoConfig, policy: PolicyConfig, questions: Sequence[str]) -> GrpoPlan:
    """Estimate what optimising a policy on questions would take."""
    weights, whole = policy.weights, policy.weights.parameters * 1e6
    lengths = [tokens_in(each) + _TEMPLATE for each in questions] or [_TEMPLATE]
    answers = config.steps * config.questions * config.group
    trainable = adapter(weights, policy.lora) if policy.lora else whole
    used = memory(
        weights,
        trainable,
        rows=config.micro_batch,
        tokens=max(lengths) + config.max_completion_tokens,
        checkpointing=policy.gradient_checkpointing,
        half=policy.autocast == "bfloat16",
    )
    logits = 8.0 * config.micro_batch * config.max_completion_tokens * weights.vocabulary
    used = used._replace(activations=used.activations + logits)  # and their gradients, in float32
    if config.beta and policy.lora is None:  # the policy as it was stays in memory
        used = used._replace(weights=2 * used.weights)
    read = round(config.steps * config.questions * sum(lengths) / len(lengths))
    made = answers * config.max_completion_tokens
    passes = 10.0 + (2.0 if config.beta else 0.0)
    return GrpoPlan(
        steps=config.steps,
        answers=answers,
        tokens=made,
        prompt_tokens=read,
        trainable=trainable,
        parameters=whole,
        memory=used,
        flops=passes * whole * (made + read * config.group),
        looks=2 + config.steps // config.monitor.every,
    )


_GIB = 1024.0**3


def shown_memory(found: Memory, rows: str) -> str:
    """Write an estimate of memory in one line."""
    parts = ", ".join(f"{name} {value / _GIB:.1f}" for name, value in found._asdict().items())
    return f"  memory: about {found.total / _GIB:.1f} GiB on one device, {rows} at a time: {parts}"


def shown_plan(found: GrpoPlan, head: str) -> str:
    """Write a plan of GRPO for a terminal."""
    lines = [
        f"{head}: {found.trainable / 1e6:,.1f} of {found.parameters / 1e6:,.1f} million parameters",
        f"  steps: {found.steps}, {found.answers:,} answers, {found.looks} looks of the monitor",
        f"  tokens: at most {found.tokens:,} generated, about {found.prompt_tokens:,} of questions",
        shown_memory(found.memory, "one micro-batch"),
        f"  computing: about {found.flops:.1e} operations, without reward model and judges",
    ]
    return "\n".join(lines)
