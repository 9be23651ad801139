"""The settings of one job: a frozen mirror of ``conf/``. Past this line nobody sees OmegaConf.

No field has a default here: every value is written, with its reason, in YAML.
"""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    PlainSerializer,
    PositiveFloat,
    PositiveInt,
    StringConstraints,
    model_validator,
)
from pydantic_core import PydanticCustomError

from ccfw.records import LanguageMode, Metric, Region, SimulationMode, Tier
from ccfw.terminal import printable


def _one_line(text: str) -> str:
    if printable(text) != text or "\n" in text or "\t" in text:
        raise PydanticCustomError("line", "must be one line without control characters")
    return text


def _asks(text: str) -> str:
    if not text.strip():
        raise PydanticCustomError("query", "says nothing")
    if any("\ud800" <= letter <= "\udfff" for letter in text):  # so a shell hands on what is no UTF-8
        raise PydanticCustomError("query", "is not readable as UTF-8 text")
    if len(text) > _LONGEST_QUERY:
        raise PydanticCustomError("query", f"has {len(text)} characters, and may have {_LONGEST_QUERY}")
    return text


_LONGEST_QUERY = 4_000
Query = Annotated[str, AfterValidator(_asks)]
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_]+$")]
Line = Annotated[str, AfterValidator(_one_line)]
"""What is shown in tables and on terminals."""
Place = Annotated[str, StringConstraints(min_length=1), AfterValidator(_one_line)]
"""A file or folder; an empty one would be wherever one happens to stand."""
Address = Annotated[str, StringConstraints(min_length=1)]
"""A base URL; an empty one would be taken for none, and the provider's own server asked."""
Rate = Annotated[float, Field(ge=0, le=1e6)]
"""US dollars per million tokens; nobody asks a dollar for one."""


def _listed(value: Any) -> Any:
    """Read one value, several, or none as a list."""
    if value is None:
        return ()
    return (value,) if isinstance(value, str | int) else value


Values = Annotated[tuple[Annotated[str, Field(coerce_numbers_to_str=True)], ...], BeforeValidator(_listed)]
"""Several values; empty: none."""


def _chosen(value: Any) -> Any:
    if isinstance(value, list | tuple) and not value:
        raise PydanticCustomError("empty", "empty: leave it out to take all")
    return value


Selected = Annotated[Values, BeforeValidator(_chosen), PlainSerializer(lambda values: list(values) or None)]
"""What a selection admits; none admits everything, and a list must admit something."""


class Node(BaseModel):
    """A frozen group of settings that refuses unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


StageName = Literal[
    "kb",
    "templates",
    "seeds",
    "blueprints",
    "shards",
    "simulate",
    "evaluate",
    "attack",
    "report",
    "view",
    "align",
    "panel",
    "norms",
    "scenarios",
    "refine",
    "responses",
    "preferences",
    "reward",
    "grpo",
    "triplets",
    "best_of_n",
    "norm_match",
    "external",
]


class StageConfig(Node):
    """Which stages to run, in order."""

    name: Name
    summary: str
    runs: Annotated[tuple[StageName, ...], Field(min_length=1)]


class Accepts(Node):
    """Request parameters that the provider takes for this model; the others are not sent."""

    temperature: bool
    seed: bool
    structured: Literal["json_schema", "json_object", "none"]


class Embedded(Node):
    """A GGUF inside an installed package, served by llama.cpp in this process."""

    package: str
    gguf: str
    install: str
    """The command that installs the package."""
    context: PositiveInt
    threads: PositiveInt


class Price(Node):
    """US dollars per million tokens."""

    input: Rate
    output: Rate
    cached_input: Rate | None
    """Of prompt tokens that the provider's cache held; ``None``: as any other."""


class ModelConfig(Node):
    """A chat model in any role."""

    name: Name
    label: Line
    provider_model: str
    transport: Literal["litellm", "openai_http"]
    """``litellm`` reaches every provider; ``openai_http`` speaks OpenAI's protocol itself, for far less CPU."""
    api_base: Address | None
    api_key_env: Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9_]*$")] | None
    """Name of the environment variable that holds the key, never the key."""
    embedded: Embedded | None
    size: Literal["small", "large"]
    accepts: Accepts
    max_output_tokens: Annotated[int, Field(gt=0, le=10**9)]
    context_window: PositiveInt
    extra_body: dict[str, JsonValue]
    min_in_flight: PositiveInt
    """Calls at a time that are kept up however often the provider is overloaded."""
    max_in_flight: PositiveInt
    timeout_s: PositiveFloat
    deadline_s: PositiveFloat
    attempts: PositiveInt
    price: Price | None
    """``None``: litellm's price list decides, and a model that it lacks has an unknown price."""

    @model_validator(mode="after")
    def _bounds_in_order(self) -> ModelConfig:
        if self.min_in_flight > self.max_in_flight:
            raise ValueError(f"min_in_flight={self.min_in_flight} is above max_in_flight={self.max_in_flight}")
        return self

    @cached_property
    def identity(self) -> dict[str, Any]:
        """What decides the model's replies: the part that names outputs."""
        weights = self.embedded.model_dump(include={"package", "gguf", "context"}) if self.embedded else None
        kept = {"provider_model", "api_base", "size", "accepts", "max_output_tokens", "extra_body"}
        return self.model_dump(include=kept) | {"embedded": weights}


class JudgeConfig(Node):
    """A rubric, the models that apply it, and how their scores become one."""

    name: Name
    rubric: Literal["cultureconverse"]
    aggregation: Literal["mean", "median", "majority"]
    members: Annotated[dict[Name, ModelConfig], Field(min_length=1)]


class Standard(Node):
    """The paper's simulator and judge (section 4.1), for assistants behind a key."""

    simulator: ModelConfig
    judge: JudgeConfig


class LanguageConfig(Node):
    """In which language modes episodes are held."""

    name: Name
    modes: tuple[LanguageMode, ...]


class ModeConfig(Node):
    """What the assistant sees."""

    name: SimulationMode


class TrapConfig(Node):
    """Which challenge tiers are taken."""

    name: Name
    tiers: tuple[Tier, ...]


class PromptConfig(Node):
    """Which wording each size of model gets: ``prompts/<version>/<style>``."""

    name: Name
    version: Name
    large: Name
    small: Name


class DatasetConfig(Node):
    """Where scenarios come from."""

    name: Name
    path: Place | None
    """A scenario file or a folder of them; ``None`` is the shipped set of that name."""


class Caps(Node):
    """Bounds of a dialogue in turns."""

    turns_per_shard: PositiveInt
    turns_per_episode: PositiveInt


class SimulationConfig(Node):
    """How episodes are held."""

    caps: Caps
    reply: Literal["auto", "json", "tags"]
    """The simulator's reply protocol; ``auto`` is JSON where the model takes a schema."""
    tries: PositiveInt
    deadline_s: PositiveFloat
    """Of one dialogue: after it no further call is begun, and the next run goes on from what is paid for."""
    send_back: bool
    """Whether a message out of role or language is asked for again; its faults are recorded either way."""
    assistant_temperature: float | None
    simulator_temperature: float | None


class JudgingConfig(Node):
    """How judgements are asked for."""

    batch: PositiveInt
    """Episodes between two looks at the intervals, when ``precision`` is set."""

    tries: PositiveInt
    temperature: float | None


class BatchConfig(Node):
    """Whether judgements are asked for in provider batches, and how those are waited for."""

    name: Literal["none", "provider"]
    poll_s: PositiveFloat
    deadline_s: PositiveFloat
    max_requests: PositiveInt
    """In one batch; what is over goes into the next."""
    discount: Annotated[float, Field(ge=0, le=1)]
    """What a reply of a batch costs, as a share of the direct price."""
    direct_rest: bool
    """Whether what a batch does not answer is asked directly; if not, it fails until the next run."""


class BootstrapConfig(Node):
    """Percentile bootstrap over episodes (Appendix O.1)."""

    name: Name
    resamples: Annotated[int, Field(gt=0, le=1_000_000)]
    level: Annotated[float, Field(gt=0, lt=1)]


class TrackingConfig(Node):
    """Where finished results are logged."""

    name: Literal["mlflow", "none"]
    uri: Place
    experiment: str
    artifacts: Place
    """Folder of tables, figures and transcripts."""


class ReportConfig(Node):
    """What the report stage writes and shows."""

    transcripts: Annotated[int, Field(ge=0)]
    """Episodes written out as readable text."""
    shown: Annotated[int, Field(ge=0)]
    """Of those, the ones printed, with the table; 0 prints nothing."""
    page: bool
    """Whether to write the page with its tables and figures, and not the job's own table alone."""
    published: bool
    """Whether the paper's own rows stand beside, marked as not run here."""
    episodes: Annotated[int, Field(ge=0)]
    """Dialogues that the page's reader holds at most."""
    traces: Annotated[int, Field(ge=0)]
    """Dialogues that MLflow gets as traces with their judgements, at most."""


class ViewConfig(Node):
    """Where the view stage serves."""

    port: Annotated[int, Field(ge=0, le=65535)]
    """Of this machine alone; 0 takes any that is free."""


class AttackConfig(Node):
    """What a judge is attacked with (stage *attack*)."""

    episodes: PositiveInt
    """Episodes attacked, drawn by the seed."""
    metrics: Annotated[tuple[Metric, ...], Field(min_length=1)]
    limit: PositiveInt | None
    """At most so many attacks of the corpus, drawn by the seed; ``None``: all."""
    prompt: Name | None
    """Style of the judge's prompts; ``None``: the one that evaluates."""


class TemplatesConfig(Node):
    """How new templates are asked for (stage *templates*)."""

    count: Annotated[int, Field(ge=1, le=20)]
    """Of a subdomain, in one call."""
    tries: PositiveInt
    temperature: float | None


class BlueprintsConfig(Node):
    """How blueprints are asked for, audited and translated (stage *blueprints*)."""

    tries: PositiveInt
    """Blueprints of one seed, each asked for with all that was wrong with those before."""
    review_tries: PositiveInt
    """Verdicts, and translations back into English, that cannot be read."""
    translations: PositiveInt
    temperature: float | None
    audit_temperature: float | None
    translation_temperature: float | None


class ShardsConfig(Node):
    """How shards are asked for and audited (stage *shards*)."""

    tries: PositiveInt
    """Shards of one blueprint, each asked for with all that was wrong with those before."""
    review_tries: PositiveInt
    """Verdicts that cannot be read."""
    temperature: float | None
    audit_temperature: float | None


class CrispNormsConfig(Node):
    """How norms are collected (stage *norms*)."""

    sources: Annotated[tuple[Place, ...], Field(min_length=1)]
    """``starter``, the norms that ship, and files as published, or of one's own."""
    extraction: Literal["auto", "deterministic"]
    """``auto``: a model makes norms of questions; ``deterministic``: what states no rule is left out, and counted."""
    alike: Annotated[float, Field(gt=0, le=1)]
    """Share of content words in common (Jaccard) from which two norms of a culture are one."""
    tries: PositiveInt
    temperature: float | None


class CrispScenariosConfig(Node):
    """How chronotopes and scenarios are asked for (stage *scenarios*)."""

    per_norm: PositiveInt
    tries: PositiveInt
    """Of a chronotope, and of a scenario, each with all that was wrong with those before."""
    temperature: float | None
    likeness: Annotated[float, Field(gt=0, le=1)] | None
    """Cosine from which two chronotopes are one, by the retriever's embedder; ``None``: vectors are not compared."""


class CrispRefineConfig(Node):
    """How long a situation is worked on (stage *refine*)."""

    revisions: Annotated[int, Field(ge=0)]
    """Of its question."""
    reruns: Annotated[int, Field(ge=0)]
    """Of the answer to one version of the question."""
    tries: PositiveInt
    """Replies of any role that cannot be read."""
    reasoner_temperature: float | None
    verifier_temperature: float | None
    temperature: float | None
    """Of planner, reviser and advisor."""


class CrispResponsesConfig(Node):
    """Whose answers are collected, and how many (stage *responses*)."""

    policies: Annotated[dict[Name, ModelConfig], BeforeValidator(lambda value: value or {})]
    """In YAML and on the command line a list of options of the model group; none: the assistant."""
    k: PositiveInt
    """Answers of each policy to each question."""
    tries: PositiveInt
    """Replies that cannot be read; above 1, the share of valid replies is no longer the policy's own."""
    temperature: float | None


class CrispPreferencesConfig(Node):
    """What pairs are made of (stage *preferences*)."""

    min_gap: PositiveFloat
    """Points of the outcome score between two answers that make a pair."""
    most: PositiveInt
    """Such pairs of one situation."""
    triplets: Literal["auto", "full", "rewrite", "none"]
    """``auto``: the one that ships, else a rewrite of the best answer, else a full one."""
    rewrite_from: Annotated[float, Field(ge=1, le=5)]
    """Least outcome score of an answer that is rewritten."""
    tries: PositiveInt
    temperature: float | None


class CrispConfig(Node):
    """Culturally situated data and their test bed (paper 2; docs/crisp.md)."""

    cultures: Values
    """Names in English; none takes all."""
    norms: CrispNormsConfig
    scenarios: CrispScenariosConfig
    refine: CrispRefineConfig
    responses: CrispResponsesConfig
    preferences: CrispPreferencesConfig


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
    dtype: Literal["float32", "bfloat16", "float16"]
    parameters: PositiveFloat
    """Millions of parameters, for the plan alone."""
    layers: PositiveInt
    hidden: PositiveInt
    """Width of the hidden states; it, the layers and the vocabulary are for the plan alone."""
    vocabulary: PositiveInt

    @model_validator(mode="after")
    def _one_place(self) -> WeightsConfig:
        if sum(each is not None for each in (self.path, self.package, self.scratch)) != 1:
            raise ValueError("exactly one of path, package and scratch says where the weights are")
        return self


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
    train: PositiveInt
    """Of the layers kept, those trained, from the top."""

    @model_validator(mode="after")
    def _some_below(self) -> TopTerms:
        if self.train >= self.keep:
            raise ValueError(f"train={self.train} of keep={self.keep} layers leaves none whose outputs stay the same")
        return self


class RewardConfig(Node):
    """How a Bradley–Terry reward model is trained (stage *reward*; paper 2, Table 21)."""

    name: Name
    weights: WeightsConfig
    lora: LoraTerms | None
    top: TopTerms | None
    """With ``lora`` and ``top`` both ``None`` every parameter is trained."""
    epochs: PositiveFloat
    learning_rate: PositiveFloat
    batch: PositiveInt
    """Pairs between two updates."""
    micro_batch: PositiveInt
    """Of them, those in memory at a time."""
    max_tokens: PositiveInt
    optimizer: Name
    schedule: Name
    warmup: Annotated[float, Field(ge=0, lt=1)]
    """Share of the steps."""
    weight_decay: Annotated[float, Field(ge=0)]
    centre: PositiveFloat | None
    """Weight of ``(r⁺ + r⁻)²`` in the loss, which keeps rewards around 0."""
    gradient_checkpointing: bool
    autocast: Literal["none", "bfloat16"]
    """What products are computed in on a GPU; weights and their updates stay in the weights' own numbers."""
    save_every: PositiveInt
    """Steps between checkpoints that the same line goes on from."""
    pairs: Place | None
    """A file of pairs as *preferences* writes; ``None``: those that it stored under the same settings."""
    kinds: Values
    """Kinds of pairs that are trained on; none: all. Held-out pairs of every kind are scored."""
    held_out: Annotated[float, Field(gt=0, lt=1)] | None
    """Share of the norms held out, drawn by the seed within each culture; ``None``: the pairs' own split."""

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


class GrpoConfig(Node):
    """How a policy is optimised (stage *grpo*; paper 2, Tables 5 and 24, Figures 2 and 6)."""

    name: Name
    task: Literal["situations", "toy"]
    toy_hack: Annotated[float, Field(ge=0)]
    """What the toy's proxy pays for a word that its gold reward pays nothing for."""
    reward_model: Place | None
    """A reward model's folder or name, or ``trained``: that of stage *reward* under the same settings."""
    lam: Annotated[float, Field(ge=0)]
    """Weight of norm-grounding supervision; at 0 nobody is asked for it."""
    format_weight: Annotated[float, Field(ge=0)]
    """Weight of an answer's being in the form asked for."""
    gold: Literal["judge", "none"]
    """Who the monitor's gold score is by: the outcome judge, through the door."""
    held_out: Annotated[float, Field(gt=0, lt=1)] | None
    """Share of the norms held out, as of stage *reward*; ``None``: the situations' own split."""
    steps: PositiveInt
    learning_rate: PositiveFloat
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
    epsilon: PositiveFloat
    schedule: Name
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
    """By name: a file of rewards, the folder of a reward model, or its name on the Hub."""
    batch: PositiveInt
    """Texts that a model reads at a time; the rewards do not depend on it."""
    max_tokens: PositiveInt
    """Of question and answer; of a longer one the question's beginning is left out, and counted."""


class BestOfNConfig(Node):
    """What is chosen from, and among how many (stage *best_of_n*)."""

    sizes: Annotated[tuple[PositiveInt, ...], Field(min_length=1)]
    candidates: Place | None
    """A file of scored answers; ``None``: those of *responses*; ``triplets``: theirs, graded 5, 3 and 1 by role."""


class NormMatchConfig(Node):
    """Which policies are held against each other (stage *norm_match*)."""

    methods: dict[Name, Annotated[tuple[Name, ...], BeforeValidator(_listed), Field(min_length=1)]]
    """Method → its policies in ``crisp.responses.policies``, the same number for each; the first method is the base."""
    invalid_outcome: float | None
    """What an answer that cannot be read counts as in the table over all answers; ``None``: no such table."""
    invalid_norm_match: float


class ExternalConfig(Node):
    """Replies to other benchmarks, to be scored by their own rules (stage *external*; docs/training.md)."""

    culshield: Place | None
    cultureforest_easy: Place | None
    cultureforest_medium: Place | None
    cultureforest_hard: Place | None


class CrossCultural(Node):
    """Share of each tier's seeds that lead into a second region."""

    Standard_Implicit: Annotated[float, Field(ge=0, le=1)]
    Friction_Contextual: Annotated[float, Field(ge=0, le=1)]
    Friction_Normative: Annotated[float, Field(ge=0, le=1)]


class SeedsConfig(Node):
    """How seeds are allocated (``ccfw.seeds``)."""

    test: Annotated[float, Field(gt=0, lt=1)]
    taboo_grounded: Annotated[float, Field(ge=0, le=1)]
    cross_cultural: CrossCultural


class EmbedderConfig(Node):
    """What turns texts into vectors."""

    kind: Literal["e5", "sentence_transformers", "api"]
    model: str
    threads: PositiveInt
    api_base: Address | None
    api_key_env: Annotated[str, StringConstraints(pattern=r"^[A-Z][A-Z0-9_]*$")] | None


class RetrieverConfig(Node):
    """How evidence is found for a blueprint, and how much of it."""

    name: Name
    lexical: bool
    """Whether words in common are ranked; beside an embedder the two rankings are fused."""
    embedder: EmbedderConfig | None
    passages: Annotated[int, Field(ge=0)]
    by_scenario: Annotated[int, Field(ge=0)]
    """Of the passages, those of the scenario's query; the identity's fills the rest."""
    niche_passages: Annotated[int, Field(ge=0)]
    niche_terms: Annotated[int, Field(ge=0)]
    """Of one passage."""
    taboos: Annotated[int, Field(ge=0)]
    min_score: float | None
    """Least score, in the retriever's own measure (``ccfw.knowledge.shelf``)."""
    identity_bonus: Annotated[float, Field(ge=0)]
    """What a passage that names the persona's identity is raised by, in the same measure."""


class KbLists(Node):
    """Files of titles, as PetScan exports them, that the rules need not know."""

    regions: dict[Region, Values]
    tags: dict[str, Values]
    identities: dict[str, Values]
    """By region and code, as ``MY/Malay_Muslim``."""


class KbBuild(Node):
    """How passages are made of an encyclopaedia's dumps (``ccfw.knowledge.building``)."""

    lists: KbLists
    redirects: Literal["follow", "drop"]
    """Whether a listed title that is a redirect stands for its target; as pages redirects always go."""
    words: PositiveInt
    """In a full passage, in languages with blanks between words."""
    characters: PositiveInt
    """In a full passage, in languages without."""
    least: Annotated[float, Field(ge=0, le=1)]
    """Share of a full passage below which a section is left out; a lead never is."""
    need_topic: bool
    """Whether a passage must be about something that the rules have a tag for."""
    near_duplicate: Annotated[float, Field(gt=0, le=1)]
    rare_share: Annotated[float, Field(ge=0, le=1)]
    """Niche terms are in at most this share of the articles …"""
    rare_articles: PositiveInt
    """… or in so many, whichever is more."""
    terms: Annotated[int, Field(ge=0)]
    """Niche terms of a passage, at most."""
    licence: Annotated[str, StringConstraints(min_length=1)]


class KbConfig(Node):
    """Which passages blueprints are grounded in."""

    name: Name
    dumps: Values
    """MediaWiki dumps; none: the passages that ship."""
    taboos: Values
    """A user's own files of taboos, beside those that ship (``ccfw.knowledge.importing``)."""
    build: KbBuild | None


class Assumed(Node):
    """What a call is taken for until enough of its kind are in the ledger."""

    prompt_tokens: PositiveInt
    completion_tokens: PositiveInt
    seconds: PositiveFloat


class RatingColumns(Node):
    """Which column of a file of ratings holds what."""

    item: Annotated[Values, Field(min_length=1)]
    """What was rated: one column, or several that name it together."""
    rater: str | None
    metric: str | None
    score: Annotated[str, StringConstraints(min_length=1)]
    """In the wide layout with ``{rater}``, ``{metric}`` or both, where the columns are named after them."""
    region: str | None
    language: str | None
    cluster: str | None
    """What was drawn as a whole, as the seed of several dialogues; ``None``: each item by itself."""


class RatingScale(Node):
    """Between which values scores lie, and what others are."""

    low: float
    high: float
    outside: Literal["refuse", "missing"]
    """A mistake in the file, or no score and counted as such."""

    @model_validator(mode="after")
    def _in_order(self) -> RatingScale:
        if self.low >= self.high:
            raise ValueError(f"low={self.low:g} is not below high={self.high:g}")
        return self


Mapped = dict[Annotated[str, Field(coerce_numbers_to_str=True)], Line | None]
"""Names in a file → names here; null leaves one out; empty takes all as they are."""


class RatingsConfig(Node):
    """Where ratings are, by people or by judges, and how to read them (docs/align.md)."""

    name: Name
    path: Place | None
    layout: Literal["long", "wide", "label_studio", "argilla"]
    columns: RatingColumns
    raters: Mapped
    metrics: Mapped
    scale: RatingScale

    @model_validator(mode="after")
    def _each_named_once(self) -> RatingsConfig:
        for kind in ("rater", "metric"):
            column, names = getattr(self.columns, kind), getattr(self, f"{kind}s")
            in_score = f"{{{kind}}}" in self.columns.score
            if in_score == (column is not None):
                raise ValueError(f"columns.{kind} or {{{kind}}} in columns.score says who or what; exactly one of them")
            if in_score and not names:
                raise ValueError(f"{kind}s must name those whose columns columns.score={self.columns.score} stands for")
        return self


class AlignConfig(Node):
    """What human ratings are held against (stages *align* and *panel*)."""

    scores: RatingsConfig | None
    """Judges' scores in a file, the rater being the judge; ``None``: the judgements of *evaluate*."""
    costs: dict[Name, Annotated[float, Field(ge=0)]]
    """US dollars that a judge takes for one item in one metric; of *evaluate* they are known."""


class PanelConfig(Node):
    """How panels of judges are made and chosen (stage *panel*)."""

    size: Annotated[int, Field(ge=2)]
    aggregation: Literal["mean", "median", "majority"]
    best: PositiveInt
    """Panels that the table lists beside the single judges."""
    folds: Annotated[int, Field(ge=2)]
    repeats: PositiveInt
    tolerance: Annotated[float, Field(ge=0)]
    """Points that the judges of a cascade may differ by before the next is asked."""
    published: bool
    """Whether the paper's own rows stand beside."""


class EstimateConfig(Node):
    """What ``dry_run`` assumes (``ccfw.estimate``)."""

    turns_per_shard: PositiveFloat
    assistant: Assumed
    simulator: Assumed
    judge: Assumed
    generator: Assumed
    auditor: Assumed
    translator: Assumed
    reasoner: Assumed
    shared_prefix: Annotated[float, Field(ge=0, le=1)]
    """Share of a judge's prompt that the six of an episode have in common under ``prompt=shared_prefix``."""


class Settings(Node):
    """Everything that one job was asked to do."""

    stage: StageConfig
    model: ModelConfig
    simulator: ModelConfig
    generator: ModelConfig
    auditor: ModelConfig
    translator: ModelConfig
    reasoner: ModelConfig
    judge: JudgeConfig
    standard: Standard
    language: LanguageConfig
    mode: ModeConfig
    trap: TrapConfig
    prompt: PromptConfig
    dataset: DatasetConfig
    simulation: SimulationConfig
    judging: JudgingConfig
    batch: BatchConfig
    attack: AttackConfig
    report: ReportConfig
    view: ViewConfig
    templates: TemplatesConfig
    blueprints: BlueprintsConfig
    shards: ShardsConfig
    seeds: SeedsConfig
    kb: KbConfig
    retriever: RetrieverConfig
    ratings: RatingsConfig
    align: AlignConfig
    panel: PanelConfig
    crisp: CrispConfig
    reward: RewardConfig
    policy: PolicyConfig
    grpo: GrpoConfig
    rewards: ScorersConfig
    best_of_n: BestOfNConfig
    norm_match: NormMatchConfig
    external: ExternalConfig
    estimate: EstimateConfig
    bootstrap: BootstrapConfig
    tracking: TrackingConfig
    workspace: Place
    seed: Annotated[int, Field(ge=0)]
    region: Selected
    identity: Selected
    domain: Selected
    subdomain: Selected
    age: Selected
    gender: Selected
    split: Selected
    ids: Selected
    query: Query | None
    """What stage *kb* looks up and prints."""
    precision: Annotated[float, Field(ge=1e-6)] | None
    """Full width that every interval must come down to before judging stops; ``None`` judges everything."""
    limit: PositiveInt | None
    budget: Annotated[float, Field(ge=0, le=1e9)] | None
    """US dollars that the whole command may spend; ``None``: no bound."""
    on_job_failure: Literal["continue", "stop"]
    """What a sweep does after a job that failed or was refused."""
    dry_run: bool

    @model_validator(mode="before")
    @classmethod
    def _cast_roles(cls, values: Any) -> Any:
        """Give the roles that the request gives to nobody: simulator, generator, auditor, translator, reasoner, judge.

        A model that needs no key plays every role itself, so that nothing is paid unasked; a model behind
        a key meets the paper's simulator and judge, so that results of different assistants compare.
        """
        if not isinstance(values, dict) or not isinstance(values.get("model"), dict):
            return values
        model, standard = values["model"], values.get("standard") or {}
        keyless = model.get("api_key_env") is None
        simulator = values.get("simulator") or (model if keyless else standard.get("simulator"))
        generator = values.get("generator") or (model if keyless else standard.get("simulator"))
        judge = values.get("judge")
        if judge is None:
            judge = dict(standard.get("judge") or {})
            if keyless:
                judge |= {"name": model.get("name"), "members": {model.get("name"): model}}
        cast = {"simulator": simulator, "generator": generator, "judge": judge}
        for role in ("auditor", "translator"):
            cast[role] = values.get(role) or generator
        cast["reasoner"] = values.get("reasoner") or model
        return values | cast

    @property
    def policies(self) -> dict[str, ModelConfig]:
        """The models whose answers stage *responses* collects, by name."""
        return self.crisp.responses.policies or {self.model.name: self.model}

    def prompt_style(self, model: ModelConfig) -> str:
        """Return the folder of prompts that a model gets: ``<version>/<style>``."""
        style = self.prompt.small if model.size == "small" else self.prompt.large
        return f"{self.prompt.version}/{style}"
