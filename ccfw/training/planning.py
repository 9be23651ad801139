"""What training would take: steps, tokens, memory. Estimates from counts alone, so that nothing is loaded."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ccfw.checks.text import count_words
from ccfw.settings.training import GrpoConfig, LoraTerms, PolicyConfig, RewardConfig, WeightsConfig

_TOKENS_PER_WORD = 1.35
"""Of English prose in the vocabularies of Qwen3, Llama 3 and SmolLM2; other languages take more."""
_TURN = 6
"""Tokens that a chat template puts around a turn."""
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
    states: float = 0.0
    """Of all texts, what the layers below those trained make of them."""

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
    """For each token and parameter 2 forward and 4 back, of adapters 2 back; of the layers below those trained 2 for
    each token once, whatever the epochs."""


def tokens_in(text: str) -> int:
    """Estimate the tokens of a text."""
    return math.ceil(count_words(text) * _TOKENS_PER_WORD)


def steps_of(items: int, batch: int, epochs: float) -> int:
    """Return the updates of so many epochs; the last of an epoch may be of fewer items."""
    return math.ceil(math.ceil(items / batch) * epochs)


def training_plan(config: RewardConfig, texts: Sequence[tuple[str, str]], items: int, held_out: int) -> RewardPlan:
    """Estimate what training a classifier on texts (question, answer) would take, as many of them to each item."""
    lengths = [tokens_in(question) + tokens_in(answer) + 2 * _TURN for question, answer in texts]
    rows = len(texts) // max(1, items)
    read = [min(each, config.max_tokens) for each in lengths]
    tokens = round(sum(read) * config.epochs)
    once = sum(min(length, config.max_tokens) for length in dict(zip(texts, lengths, strict=True)).values())
    run = Layers.of(config)
    used = memory(
        config.weights,
        run.trained,
        rows=rows * config.micro_batch,
        tokens=max(read, default=0),
        checkpointing=config.gradient_checkpointing,
        half=config.autocast == "bfloat16",
        layers=run.above,
    )
    size = _BYTES[config.weights.dtype]
    states = float(once * config.weights.hidden * size) if config.top else 0.0
    return RewardPlan(
        items=items,
        held_out=held_out,
        steps=steps_of(items, config.batch, config.epochs),
        tokens=tokens,
        longest=max(lengths, default=0),
        cut=sum(each > config.max_tokens for each in lengths),
        trainable=run.trained,
        memory=used._replace(weights=run.kept * size, states=states),
        flops=(4.0 if config.lora else 6.0) * run.passed * tokens + 2.0 * run.below * once,
    )


class Layers(NamedTuple):
    """Parameters of a classifier by what is done with them."""

    kept: float
    """All that it has: of ``top``, what its lowest ``keep`` layers leave."""
    trained: float
    passed: float
    """Those that every text is read through in every epoch."""
    below: float
    """Those that every text is read through once."""
    above: int
    """Layers that every text is read through in every epoch."""

    @classmethod
    def of(cls, config: RewardConfig) -> Layers:
        """Estimate them from the terms of training."""
        weights, whole = config.weights, config.weights.parameters * 1e6
        if config.top is None:
            trained = adapter(weights, config.lora) if config.lora else whole
            return cls(whole, trained, whole, 0.0, weights.layers)
        layer, keep, train = block(weights), config.top.keep, config.top.train
        trained = layer * train + weights.hidden
        return cls(whole - layer * (weights.layers - keep), trained, trained, layer * (keep - train), train)


def block(weights: WeightsConfig) -> float:
    """Estimate the parameters of one layer: what is no embedding, shared out; 12 · hidden² if nothing is left."""
    inside = weights.parameters * 1e6 - weights.vocabulary * weights.hidden
    return inside / weights.layers if inside > 0 else 12.0 * weights.hidden**2


def adapter(weights: WeightsConfig, lora: LoraTerms) -> float:
    """Estimate the parameters of low-rank adapters: rank · (in + out) for every linear layer."""
    modules = len(lora.modules) or _LINEAR
    return float(lora.rank * 2 * weights.hidden * modules * weights.layers * 1.5)  # feed-forwards are wider


def memory(
    weights: WeightsConfig,
    trainable: float,
    *,
    rows: int,
    tokens: int,
    checkpointing: bool,
    half: bool,
    layers: int | None = None,
) -> Memory:
    """Estimate the memory of a step on ``rows`` texts of ``tokens`` tokens, through all layers or the last few.

    Activations after Korthikanti et al. (2022): 34 · tokens · hidden bytes a layer in half precision, attention
    computed in blocks; with checkpointing the inputs of all layers and one layer whole.
    """
    size, width = _BYTES[weights.dtype], 1.0 if half or _BYTES[weights.dtype] == 2 else 2.0
    unit = width * rows * tokens * weights.hidden
    deep = weights.layers if layers is None else layers
    activations = unit * (2 * deep + 34) if checkpointing and deep else unit * 34 * deep
    return Memory(weights.parameters * 1e6 * size, trainable * size, 2 * trainable * size, activations)


class GrpoPlan(NamedTuple):
    """What optimising a policy would take."""

    steps: int
    answers: int
    tokens: int
    """Generated, at most."""
    prompt_tokens: int
    """Read: the questions as the policy is asked them, once for each group."""
    longest: int
    """Tokens of the longest of them."""
    trainable: float
    parameters: float
    memory: Memory
    """Of training the policy."""
    cache: float
    """Bytes of keys and values while the answers of a step are generated, all at once."""
    scorers: Mapping[str, float | None]
    """Bytes of the weights of reward model and supervisor; ``None``: not known."""
    flops: float
    """Generation, the log-probabilities of policy and reference, and training: 2 + 2 + 2 + 6 · parameters · tokens, of
    adapters 4 in place of 6."""
    looks: int


def looks(config: GrpoConfig) -> int:
    """Return how often the gold judge looks: before the first step, every few, and after the last."""
    return 1 + math.ceil(config.steps / config.monitor.every)


def grpo_plan(
    config: GrpoConfig,
    policy: PolicyConfig,
    prompts: Sequence[Sequence[Mapping[str, str]]],
    scorers: Mapping[str, RewardConfig | None],
) -> GrpoPlan:
    """Estimate what optimising a policy on questions would take, chats as it is asked them.

    ``scorers``: by what it is, how each classifier that reads the answers is trained; ``None``: elsewhere.
    """
    weights, whole = policy.weights, policy.weights.parameters * 1e6
    lengths = [_TURN + sum(tokens_in(turn["content"]) + _TURN for turn in each) for each in prompts]
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
    passes = 4.0 + (4.0 if policy.lora else 6.0) + (2.0 if config.beta else 0.0)
    return GrpoPlan(
        steps=config.steps,
        answers=answers,
        tokens=made,
        prompt_tokens=read,
        longest=max(lengths),
        trainable=trainable,
        parameters=whole,
        memory=used,
        cache=float(stored * longest * config.questions * config.group),
        scorers={name: None if own is None else _held(own) for name, own in scorers.items()},
        flops=passes * whole * (made + read * config.group),
        looks=looks(config),
    )


def _held(config: RewardConfig) -> float:
    """Return the bytes of a classifier that reads."""
    return Layers.of(config).kept * _BYTES[config.weights.dtype]


_GIB = 1024.0**3


def shown_memory(found: Memory, rows: str) -> str:
    """Write an estimate of memory in one line."""
    own = {name: value for name, value in found._asdict().items() if value or name != "states"}
    parts = ", ".join(f"{name} {value / _GIB:.1f}" for name, value in own.items())
    return f"  memory: about {found.total / _GIB:.1f} GiB on one device, {rows} at a time: {parts}"


def shown_training(stage: str, config: RewardConfig, found: RewardPlan, what: str) -> str:
    """Write a plan of training on pairs or texts for a terminal."""
    weights, how = config.weights, "lora" if config.lora else "every parameter"
    if config.top:
        last = f"the last {config.top.train} of" if config.top.train else "the head above"
        how = f"{last} the lowest {config.top.keep} layers"
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
    besides = [f"{found.cache / _GIB:.1f} GiB for a step's answers while they are made"]
    besides += [
        f"the {name}" if size is None else f"{size / _GIB:.1f} GiB for the {name}"
        for name, size in found.scorers.items()
    ]
    lines = [
        f"{head}: {found.trainable / 1e6:,.1f} of {found.parameters / 1e6:,.1f} million parameters",
        f"  steps: {found.steps}, {found.answers:,} answers, {found.looks} looks of the monitor",
        f"  tokens: at most {found.tokens:,} generated, about {found.prompt_tokens:,} of questions, the longest about "
        f"{found.longest:,}",
        shown_memory(found.memory, "one micro-batch"),
        f"  besides: {', '.join(besides)}",
        f"  computing: about {found.flops:.1e} operations, without reward model and judges",
    ]
    return "\n".join(lines)
