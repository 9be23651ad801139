"""The settings of one job: a frozen mirror of ``conf/``. Past this line nobody sees OmegaConf.

No field has a default here: every value is written, with its reason, in YAML.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, PositiveInt, model_validator

from ccfw.settings.align import AlignConfig, PanelConfig, RatingsConfig
from ccfw.settings.authoring import BlueprintsConfig, SeedsConfig, ShardsConfig, TemplatesConfig
from ccfw.settings.crisp import CrispConfig
from ccfw.settings.dialogues import (
    AttackConfig,
    BatchConfig,
    DatasetConfig,
    JudgingConfig,
    LanguageConfig,
    ModeConfig,
    PromptConfig,
    SimulationConfig,
    TrapConfig,
)
from ccfw.settings.knowledge import KbConfig, RetrieverConfig
from ccfw.settings.models import JudgeConfig, ModelConfig, Standard
from ccfw.settings.node import Node, Place, Query, Selected, StageConfig
from ccfw.settings.results import BootstrapConfig, EstimateConfig, ReportConfig, TrackingConfig, ViewConfig
from ccfw.settings.training import (
    BestOfNConfig,
    ExternalConfig,
    GrpoConfig,
    NormMatchConfig,
    PolicyConfig,
    RewardConfig,
    ScorersConfig,
)


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
    supervisor: RewardConfig
    grpo: GrpoConfig
    rewards: ScorersConfig
    best_of_n: BestOfNConfig
    norm_match: NormMatchConfig
    external: ExternalConfig
    estimate: EstimateConfig
    bootstrap: BootstrapConfig
    tracking: TrackingConfig
    workspace: Place
    seed: Annotated[int, Field(ge=0, lt=2**32)]
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

    @property
    def rewarding(self) -> JudgeConfig:
        """The judge whose scores are rewards: that of ``rewards.judge``, or the job's own."""
        return self.rewards.judge or self.judge

    def prompt_style(self, model: ModelConfig) -> str:
        """Return the folder of prompts that a model gets: ``<version>/<style>``."""
        style = self.prompt.small if model.size == "small" else self.prompt.large
        return f"{self.prompt.version}/{style}"
