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
"""What a selection admits; empty admits everything."""


class Node(BaseModel):
    """A frozen group of settings that refuses unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


StageName = Literal["kb", "templates", "seeds", "blueprints", "simulate", "evaluate", "attack", "report"]


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


class EstimateConfig(Node):
    """What ``dry_run`` assumes (``ccfw.estimate``)."""

    turns_per_shard: PositiveFloat
    assistant: Assumed
    simulator: Assumed
    judge: Assumed
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
    templates: TemplatesConfig
    blueprints: BlueprintsConfig
    seeds: SeedsConfig
    kb: KbConfig
    retriever: RetrieverConfig
    estimate: EstimateConfig
    bootstrap: BootstrapConfig
    tracking: TrackingConfig
    workspace: Place
    seed: Annotated[int, Field(ge=0)]
    region: Values
    identity: Values
    domain: Values
    subdomain: Values
    age: Values
    gender: Values
    split: Values
    ids: Values
    query: Annotated[str, StringConstraints(min_length=1)] | None
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
        """Give the roles of simulator, generator, auditor, translator and judge to somebody when the request does not.

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
        return values | cast

    def prompt_style(self, model: ModelConfig) -> str:
        """Return the folder of prompts that a model gets: ``<version>/<style>``."""
        style = self.prompt.small if model.size == "small" else self.prompt.large
        return f"{self.prompt.version}/{style}"
