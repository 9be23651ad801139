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
    """What training a reward model or a supervisor would take."""

    items: int
    """Pairs, or texts."""
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
    texts = [
        (question_text(pair.culture, pair.scenario, pair.question), answer)
        for pair in train
        for answer in (pair.chosen, pair.rejected)
    ]
    return training_plan(config, texts, len(train), held_out)


def training_plan(config: RewardConfig, texts: Sequence[tuple[str, str]], items: int, held_out: int) -> RewardPlan:
    """Estimate what training a classifier on texts (question, answer) would take, as many of them to each item."""
    lengths = [tokens_in(question) + tokens_in(answer) + _TEMPLATE for question, answer in texts]
    rows = len(texts) // max(1, items)
    read = [min(each, config.max_tokens) for each in lengths]
    tokens = round(sum(read) * config.epochs)
    whole = config.weights.parameters * 1e6
    trainable = _trainable(config, whole)
    return RewardPlan(
        items=items,
        held_out=held_out,
        steps=steps_of(items, config.batch, config.epochs),
        tokens=tokens,
        longest=max(lengths, default=0),
        cut=sum(each > config.max_tokens for each in lengths),
        trainable=trainable,
        memory=memory(
            config.weights,
            trainable,
            rows=rows * config.micro_batch,
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
    """Of training the policy."""
    cache: float
    """Bytes of keys and values while the answers of a step are generated, all at once."""
    scorer: float | None
    """Bytes of the reward model's weights; ``None``: not known."""
    flops: float
    """Generation, the log-probabilities of policy and reference, and training: 2 + 2 + 2 + 6 · parameters · tokens."""
    looks: int


def looks(config: GrpoConfig) -> int:
    """Return how often the gold judge looks: before the first step, every few, and after the last."""
    return 1 + math.ceil(config.steps / config.monitor.every)


def grpo_plan(
    config: GrpoConfig, policy: PolicyConfig, questions: Sequence[str], scorer: WeightsConfig | None = None
) -> GrpoPlan:
    """Estimate what optimising a policy on questions would take; ``scorer``: the reward model's weights, if known."""
    weights, whole = policy.weights, policy.weights.parameters * 1e6
    lengths = [tokens_in(each) + _TEMPLATE for each in questions] or [_TEMPLATE]
    answers = config.steps * config.questions * config.group
    trainable = adapter(weights, policy.lora) if policy.lora else whole
    half = policy.autocast == "bfloat16"
    longest = max(lengths) + config.max_completion_tokens
    stored = (2 if half else _BYTES[weights.dtype]) * 2 * weights.layers * weights.key_width
    used = memory(
        weights,
        trainable,
        rows=config.micro_batch,
        tokens=longest,
        checkpointing=policy.gradient_checkpointing,
        half=half,
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
        cache=float(stored * longest * config.questions * config.group),
        scorer=None if scorer is None else scorer.parameters * 1e6 * _BYTES[scorer.dtype],
        flops=passes * whole * (made + read * config.group),
        looks=looks(config),
    )


_GIB = 1024.0**3


def shown_memory(found: Memory, rows: str) -> str:
    """Write an estimate of memory in one line."""
    parts = ", ".join(f"{name} {value / _GIB:.1f}" for name, value in found._asdict().items())
    return f"  memory: about {found.total / _GIB:.1f} GiB on one device, {rows} at a time: {parts}"


def shown_training(stage: str, config: RewardConfig, found: RewardPlan, what: str) -> str:
    """Write a plan of training on pairs or texts for a terminal."""
    weights, how = config.weights, "lora" if config.lora else "every parameter"
    if config.top:
        how = f"last {config.top.train} of {config.top.keep} layers"
    lines = [
        f"{stage}={config.name}: {weights.path or weights.package}, {how}, "
        f"{found.trainable / 1e6:,.1f} of {weights.parameters:,.1f} million parameters",
        f"  {what}: {found.items} trained on, {found.held_out} held out",
        f"  steps: {found.steps}, {config.epochs:g} epochs of {config.batch} {what} at a time, "
        f"learning rate {config.learning_rate:g}, {config.optimizer}",
        f"  tokens: about {found.tokens:,}; the longest text about {found.longest}, {found.cut} of them above "
        f"{config.max_tokens}",
        shown_memory(found.memory, f"{config.micro_batch} {what}"),
        f"  computing: about {found.flops:.1e} operations",
    ]
    return "\n".join(lines)


def shown_plan(found: GrpoPlan, head: str) -> str:
    """Write a plan of GRPO for a terminal."""
    lines = [
        f"{head}: {found.trainable / 1e6:,.1f} of {found.parameters / 1e6:,.1f} million parameters",
        f"  steps: {found.steps}, {found.answers:,} answers, {found.looks} looks of the monitor",
        f"  tokens: at most {found.tokens:,} generated, about {found.prompt_tokens:,} of questions",
        shown_memory(found.memory, "one micro-batch"),
        f"  besides: {found.cache / _GIB:.1f} GiB for a step's answers while they are made, "
        + ("the reward model" if found.scorer is None else f"{found.scorer / _GIB:.1f} GiB for the reward model"),
        f"  computing: about {found.flops:.1e} operations, without reward model and judges",
    ]
    return "\n".join(lines)
