"""How reward models and policies are trained and compared (paper 2, part II)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    JsonValue,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    model_validator,
)
from pydantic_core import PydanticCustomError

from ccfw.settings.models import JudgeConfig
from ccfw.settings.node import Name, Node, Place, Values, _listed

JUDGED = {"judge_outcome": "outcome", "judge_norm_match": "norm_match"}
"""What stands for a judge among the scorers, and the scale that it scores on."""


_TOY_WIDTHS = 8
"""Four heads, each turned by position in pairs of numbers."""


class WeightsConfig(Node):
    """Weights that training starts from: any causal language model that transformers reads."""

    path: Place | None
    """Name on the Hub, or a folder; ``None``: in ``package``."""
    package: str | None
    """An installed package that holds the weights."""
    scratch: Literal["toy"] | None
    """Weights drawn by the seed instead: the small model of ``ccfw.training.toy``."""
    gguf: str | None
    """File of GGUF weights in it; they are read as they are, and saved as ``dtype``."""
    revision: str | None
    """Of a name on the Hub; ``None``: the latest."""
    dtype: Literal["float32", "bfloat16", "float16"]
    parameters: PositiveFloat
    """Millions of parameters, for the plan alone."""
    layers: PositiveInt
    hidden: PositiveInt
    """Width of the hidden states; it, layers, keys and vocabulary are for the plan alone."""
    key_width: PositiveInt
    """Width of a layer's keys, all their heads together."""
    vocabulary: PositiveInt

    @model_validator(mode="after")
    def _one_place(self) -> WeightsConfig:
        if sum(each is not None for each in (self.path, self.package, self.scratch)) != 1:
            raise ValueError("exactly one of path, package and scratch says where the weights are")
        if self.revision is not None and self.path is None:
            raise ValueError(f"revision={self.revision} is that of a name on the Hub, and path gives none")
        if self.scratch is not None and self.hidden % _TOY_WIDTHS:
            raise ValueError(f"hidden={self.hidden} is no multiple of {_TOY_WIDTHS}, as weights drawn by the seed need")
        return self


def _never_drawn(value: Any) -> Any:
    if value is not None:
        raise PydanticCustomError(
            "scratch", "a reward model starts from weights that are there: give path or package, and scratch=null"
        )
    return value


class ReaderWeights(WeightsConfig):
    """Weights of what is to read texts: the toy's small model knows no language."""

    scratch: Annotated[None, BeforeValidator(_never_drawn)]


def _no_control(name: str) -> str:
    if name in CONTROLS:
        raise PydanticCustomError("control", f"is the name of a control, as are {', '.join(sorted(CONTROLS))}")
    return name


CONTROLS = ("words alone", "longer")
"""What stands beside a reward model in its tables."""
Pooling = Literal["last", "answer"]
Optimizer = Literal["adamw_torch", "adamw_torch_fused", "adafactor", "adagrad", "rmsprop", "sgd"]
"""Those of transformers that need neither another package nor arguments of their own."""
Schedule = Literal[
    "constant", "constant_with_warmup", "cosine", "cosine_with_restarts", "inverse_sqrt", "linear", "polynomial"
]
"""Those of transformers that need neither arguments nor figures of their own."""
LearningRate = Annotated[float, Field(gt=0, le=100)]
"""Far above what anything learns by; of a still greater one an optimizer's step is no number."""


class LoraTerms(Node):
    """Low-rank adapters instead of full-parameter training."""

    rank: PositiveInt
    alpha: PositiveFloat
    dropout: Annotated[float, Field(ge=0, lt=1)]
    modules: Values
    """Names of linear layers; none: all of them but the head."""


class TopTerms(Node):
    """Train the last layers only; what those below make of a text is computed once."""

    keep: PositiveInt
    """Layers from the bottom that the reward model has; those above are left out."""
    train: NonNegativeInt
    """Of the layers kept, those trained, from the top; with 0 the head alone."""

    @model_validator(mode="after")
    def _some_below(self) -> TopTerms:
        if self.train >= self.keep:
            raise ValueError(f"train={self.train} of keep={self.keep} layers leaves none whose outputs stay the same")
        return self


class RewardConfig(Node):
    """How a Bradley–Terry reward model is trained (stage *reward*; paper 2, Table 21).

    A norm-grounding supervisor (stage *supervisor*) is trained by the same terms, those of pairs aside.
    """

    name: Annotated[Name, AfterValidator(_no_control)]
    weights: ReaderWeights
    pooling: Pooling
    """What the head reads: *last*, the state of the last token, as sequence classifiers do; *answer*, the mean over the
    answer's tokens."""
    lora: LoraTerms | None
    top: TopTerms | None
    """With ``lora`` and ``top`` both ``None`` every parameter is trained."""
    epochs: PositiveFloat
    learning_rate: LearningRate
    batch: PositiveInt
    """Pairs between two updates."""
    micro_batch: PositiveInt
    """Of them, those in memory at a time."""
    max_tokens: PositiveInt
    optimizer: Optimizer
    schedule: Schedule
    warmup: Annotated[float, Field(ge=0, lt=1)]
    """Share of the steps."""
    weight_decay: Annotated[float, Field(ge=0)]
    centre: PositiveFloat | None
    """Weight of ``(r⁺ + r⁻)²`` in the loss, which keeps rewards around 0; of pairs alone."""
    gradient_checkpointing: bool
    autocast: Literal["none", "bfloat16"]
    """What products are computed in on a GPU; weights and their updates stay in the weights' own numbers."""
    save_every: PositiveInt
    """Steps between checkpoints that the same line goes on from."""
    pairs: Place | None
    """A file of pairs as *preferences* writes, or of graded reasonings; ``None``: those stored under the same settings.
    """
    kinds: Values
    """Kinds of pairs that are trained on; none: all. Held-out pairs of every kind are scored."""
    held_out: Annotated[float, Field(gt=0, lt=1)] | None
    """Share of the norms held out, drawn by the seed within each culture; ``None``: the split of the situations."""

    @model_validator(mode="after")
    def _one_method(self) -> RewardConfig:
        if self.lora is not None and self.top is not None:
            raise ValueError("lora and top are two ways to train less than everything; at most one can be given")
        if self.batch % self.micro_batch:
            raise ValueError(f"batch={self.batch} is no multiple of micro_batch={self.micro_batch}")
        return self


class PolicyConfig(Node):
    """The model that GRPO optimises (stage *grpo*)."""

    name: Name
    weights: WeightsConfig
    template: dict[str, JsonValue]
    """What the chat template is given besides the chat."""
    lora: LoraTerms | None
    """``None``: every parameter is trained."""
    autocast: Literal["none", "bfloat16"]
    gradient_checkpointing: bool


class MonitorConfig(Node):
    """When a run of GRPO is ended, with the reason (``ccfw.training.monitor``); null is logged and not watched."""

    every: PositiveInt
    """Steps between two looks of the gold judge."""
    questions: PositiveInt
    """Held-out questions that it looks at."""
    window: PositiveInt
    patience: PositiveInt
    gold_drop: PositiveFloat | None
    kl: PositiveFloat | None
    truncated: PositiveFloat | None
    zero_variance: PositiveFloat | None
    repetition: PositiveFloat | None
    length_correlation: PositiveFloat | None
    unscored: PositiveFloat | None
    """Share of the judgements asked for that gave no score."""
    unrewarded: PositiveFloat | None
    """Share of the answers in form that are too long for a reward model, or a trained supervisor."""


class GrpoConfig(Node):
    """How a policy is optimised (stage *grpo*; paper 2, Tables 5 and 24, Figures 2 and 6)."""

    name: Name
    task: Literal["situations", "toy"]
    toy_hack: Annotated[float, Field(ge=0, le=1000)]
    """What the toy's proxy pays for a word that its gold reward pays nothing for."""
    reward_model: Place | None
    """A reward model's folder or name, or ``trained``: that of stage *reward* under the same settings."""
    lam: Annotated[float, Field(ge=0, le=1000)]
    """Weight of norm-grounding supervision; at 0 nobody is asked for it."""
    supervisor: Place
    """Who gives it: ``judge``, that of ``rewards.judge`` through the door; or a classifier: its folder, or ``trained``,
    that of stage *supervisor* under the same settings."""
    format_weight: Annotated[float, Field(ge=0, le=1000)]
    """Weight of an answer's being in the form asked for."""
    gold: Literal["judge", "none"]
    """Who the monitor's gold score is by: ``judge=`` as outcome judge, through the door."""
    held_out: Annotated[float, Field(gt=0, lt=1)] | None
    """Share of the norms held out, as of stage *reward*; ``None``: the situations' own split."""
    steps: PositiveInt
    learning_rate: LearningRate
    questions: PositiveInt
    """Between two updates."""
    group: Annotated[int, Field(ge=2)]
    """Answers to each."""
    micro_batch: PositiveInt
    """Answers in memory at a time."""
    max_completion_tokens: PositiveInt
    temperature: PositiveFloat
    top_p: Annotated[float, Field(gt=0, le=1)]
    beta: Annotated[float, Field(ge=0)]
    """Weight of the KL divergence from the policy as it was."""
    epsilon: Annotated[float, Field(gt=0, le=1)]
    """How far a token's probability may move in one update, as a share of what it was."""
    schedule: Schedule
    warmup: Annotated[float, Field(ge=0, lt=1)]
    mask_truncated: bool
    """Whether answers that were cut off move nothing."""
    save_every: PositiveInt
    monitor: MonitorConfig

    @model_validator(mode="after")
    def _whole_batches(self) -> GrpoConfig:
        if (self.questions * self.group) % self.micro_batch:
            raise ValueError(
                f"questions={self.questions} times group={self.group} is no multiple of micro_batch={self.micro_batch}"
            )
        return self


class ScorersConfig(Node):
    """Whose rewards are compared (stages *triplets* and *best_of_n*; docs/training.md)."""

    scorers: dict[Name, Place]
    """By name: a file of rewards, the folder of a reward model or its name on the Hub, ``trained`` (by stage *reward*
    under the same settings), or ``judge_outcome`` and ``judge_norm_match``: that scale of ``judge``."""
    judge: JudgeConfig | None
    """Whose scores are rewards, here and in GRPO; ``None``: the judge of ``judge=``."""
    batch: PositiveInt
    """Texts that a model reads at a time; the rewards do not depend on it."""
    max_tokens: PositiveInt
    """Of question and answer; of a longer one the question's beginning is left out, and counted."""


def _each_once(values: tuple[int, ...]) -> tuple[int, ...]:
    twice = sorted({value for value in values if values.count(value) > 1})
    if twice:
        raise PydanticCustomError("twice", f"holds {', '.join(map(str, twice))} more than once")
    return values


class BestOfNConfig(Node):
    """What is chosen from, and among how many (stage *best_of_n*)."""

    sizes: Annotated[tuple[PositiveInt, ...], Field(min_length=1), AfterValidator(_each_once)]
    candidates: Place | None
    """A file of scored answers; ``None``: those of *responses*; ``triplets``: theirs, graded 5, 3 and 1 by role."""


class NormMatchConfig(Node):
    """Which policies are held against each other (stage *norm_match*)."""

    methods: dict[Name, Annotated[tuple[Name, ...], BeforeValidator(_listed), Field(min_length=1)]]
    """Method → its policies in ``crisp.responses.policies``, the same number for each; the first method is the base."""
    invalid_outcome: Annotated[float, Field(ge=1, le=5)] | None
    """What an answer that cannot be read counts as in the table over all answers; ``None``: no such table."""
    invalid_norm_match: Annotated[float, Field(ge=0, le=2)]


class ExternalConfig(Node):
    """Other benchmarks, by their own rules (stage *external*; docs/training.md): models asked, or replies in files."""

    culshield: Place | None
    """Replies, as the three below."""
    cultureforest_easy: Place | None
    cultureforest_medium: Place | None
    cultureforest_hard: Place | None
    culshield_questions: Annotated[tuple[Place, ...], BeforeValidator(_listed)]
    """Files of questions as they are published."""
    cultureforest_questions: Place | None
    """The published folder of questions, one folder for each country or region, or a file of them."""
    cultureforest_norms: Place | None
    """The published file that says of each norm whether breaking it is ever acceptable; the hard level needs it."""
    levels: Annotated[tuple[Literal["easy", "medium", "hard"], ...], BeforeValidator(_listed), Field(min_length=1)]
    limit: PositiveInt | None
    """At most so many questions of each benchmark, countries in turn; ``None``: all."""
    samples: PositiveInt
    """Replies to each question of CultureForest; CulShield's are asked once."""
    temperature: Annotated[float, Field(ge=0)] | None
    top_p: Annotated[float, Field(gt=0, le=1)] | None
    """``None``: the provider's default."""
    top_logprobs: Annotated[int, Field(ge=3, le=100)]
    """How many of the likeliest tokens a verifier is asked for at each place."""

    @property
    def asks(self) -> bool:
        """Whether models are asked, rather than replies scored that are there."""
        return bool(self.culshield_questions) or self.cultureforest_questions is not None

    @property
    def verifies(self) -> bool:
        """Whether a verifier is needed."""
        return self.cultureforest_questions is not None and "hard" in self.levels
