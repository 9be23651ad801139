"""Roles are cast when nobody is named; what decides replies is known."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from ccfw.settings import Settings
from ccfw.settings.models import ModelConfig
from tests.samples import ROOT, model_config, raw_model

KEYED, KEYLESS = "haiku45", "smollm2"


def option(group: str, name: str) -> Any:
    return yaml.safe_load((ROOT / "conf" / group / f"{name}.yaml").read_text("utf-8"))


def judge(*members: str, name: str = "panel", aggregation: str = "mean") -> dict[str, Any]:
    return {
        "name": name,
        "rubric": "cultureconverse",
        "aggregation": aggregation,
        "members": {member: raw_model(member) for member in members},
    }


def content(model: str, prompt: str = "auto", **changes: Any) -> dict[str, Any]:
    config: Any = yaml.safe_load((ROOT / "conf" / "config.yaml").read_text("utf-8"))
    plain = {key: value for key, value in config.items() if key not in ("defaults", "hydra")}
    defaults = {group: name for each in config["defaults"] if isinstance(each, dict) for group, name in each.items()}
    named = {group for group in defaults if group.isidentifier()} - {"model", "judge", "prompt", "experiment"}
    groups = {group: defaults[group] for group in sorted(named)} | {"tracking": "none"}
    return (
        plain
        | {group: option(group, name) for group, name in groups.items()}
        | {"supervisor": option("reward", defaults["reward@supervisor"])}
        | {"prompt": option("prompt", prompt), "model": raw_model(model)}
        | {"standard": {"simulator": raw_model("gpt5mini"), "judge": judge("gpt5mini", name="gpt5mini")}}
        | changes
    )


def cast(model: str, **changes: Any) -> tuple[str, str, list[str]]:
    settings = Settings.model_validate(content(model, **changes))
    assert settings.model.name == model
    return settings.simulator.name, settings.judge.name, [m.name for m in settings.judge.members.values()]


def test_a_model_without_a_key_plays_every_role_itself() -> None:
    assert cast(KEYLESS) == (KEYLESS, KEYLESS, [KEYLESS])


def test_a_model_behind_a_key_meets_the_papers_simulator_and_judge() -> None:
    assert cast(KEYED) == ("gpt5mini", "gpt5mini", ["gpt5mini"])


@pytest.mark.parametrize("model", [KEYED, KEYLESS])
def test_whoever_is_named_plays(model: str) -> None:
    named = cast(model, simulator=raw_model("grok420"), judge=judge("gpt54nano", "grok420"))
    assert named == ("grok420", "panel", ["gpt54nano", "grok420"])


def test_naming_the_simulator_alone_leaves_the_judge_to_the_rule() -> None:
    assert cast(KEYLESS, simulator=raw_model("grok420")) == ("grok420", KEYLESS, [KEYLESS])
    assert cast(KEYED, simulator=raw_model(KEYLESS)) == (KEYLESS, "gpt5mini", ["gpt5mini"])


def test_naming_the_judge_alone_leaves_the_simulator_to_the_rule() -> None:
    assert cast(KEYLESS, judge=judge("grok420")) == (KEYLESS, "panel", ["grok420"])


def test_nobody_behind_a_key_is_cast_for_a_model_without_one() -> None:
    settings = Settings.model_validate(content(KEYLESS))
    cast_models = [settings.simulator, *settings.judge.members.values()]
    assert {model.api_key_env for model in cast_models} == {None}


def test_a_model_that_judges_itself_keeps_the_rubric_of_the_standard_judge() -> None:
    settings = Settings.model_validate(content(KEYLESS))
    assert (settings.judge.rubric, settings.judge.aggregation) == ("cultureconverse", "mean")


def test_casting_leaves_the_request_as_it_was() -> None:
    asked = content(KEYLESS)
    Settings.model_validate(asked)
    assert (asked["simulator"], asked["judge"]) == (None, None)


def test_settings_written_out_are_read_back_the_same() -> None:
    settings = Settings.model_validate(content(KEYED))
    assert Settings.model_validate(settings.model_dump(mode="json")) == settings


def test_mistakes_are_all_reported_with_their_keys() -> None:
    asked = content(KEYED, limit=0, workspac="x", seed="seven")
    asked["model"]["size"] = "huge"
    with pytest.raises(ValidationError) as caught:
        Settings.model_validate(asked)
    assert {(".".join(map(str, e["loc"])), e["msg"]) for e in caught.value.errors()} == {
        ("model.size", "Input should be 'small' or 'large'"),
        ("reasoner.size", "Input should be 'small' or 'large'"),  # the same model, which the request names once
        ("seed", "Input should be a valid integer, unable to parse string as an integer"),
        ("limit", "Input should be greater than 0"),
        ("workspac", "Extra inputs are not permitted"),
    }


OPTIMIZERS = "'adamw_torch', 'adamw_torch_fused', 'adafactor', 'adagrad', 'rmsprop' or 'sgd'"
SCHEDULES = "'constant', 'constant_with_warmup', 'cosine', 'cosine_with_restarts', 'inverse_sqrt', 'linear' or "
RATE = "Input should be less than or equal to 100"
LOCAL = "Value error, revision=main is that of a name on the Hub, and path gives none"


@pytest.mark.parametrize(
    ("group", "changes", "message"),
    [
        pytest.param("reward", {"optimizer": "galore_adamw"}, f"Input should be {OPTIMIZERS}", id="optimizer"),
        *(
            pytest.param(group, {"schedule": name}, f"Input should be {SCHEDULES}'polynomial'", id=f"{group}-{name}")
            for group, name in (("reward", "greedy"), ("supervisor", "lineal"), ("grpo", "reduce_lr_on_plateau"))
        ),
        pytest.param("reward", {"learning_rate": 1e38}, RATE, id="rate"),
        pytest.param("grpo", {"learning_rate": 101}, RATE, id="rate-of-a-policy"),
    ],
)
def test_terms_of_training_that_no_library_could_train_by_are_refused(
    group: str, changes: dict[str, Any], message: str
) -> None:
    asked = content(KEYED)
    asked[group] |= changes
    with pytest.raises(ValidationError) as caught:
        Settings.model_validate(asked)
    assert [(each["loc"], each["msg"]) for each in caught.value.errors()] == [((group, *changes), message)]


MOST = "Input should be less than or equal to"
WIDTH = "Value error, hidden=6 is no multiple of 8, as weights drawn by the seed need"


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("grpo", "toy_hack"), 1e308, f"{MOST} 1000"),
        (("grpo", "lam"), 1e308, f"{MOST} 1000"),
        (("grpo", "format_weight"), 1e308, f"{MOST} 1000"),
        (("grpo", "epsilon"), 1e300, f"{MOST} 1"),
        (("policy", "weights"), {"scratch": "toy", "hidden": 6}, WIDTH),
    ],
)
def test_numbers_that_optimisation_cannot_reckon_with_are_refused(
    place: tuple[str, str], value: Any, message: str
) -> None:
    asked, (group, key) = content(KEYED), place
    if isinstance(value, dict):
        value = asked[group][key] | {"path": None, "package": None, "gguf": None} | value
    asked[group][key] = value
    with pytest.raises(ValidationError) as caught:
        Settings.model_validate(asked)
    assert [(each["loc"], each["msg"]) for each in caught.value.errors()] == [(place, message)]


def test_only_a_name_has_a_revision() -> None:
    asked = content(KEYED)
    asked["reward"]["weights"]["revision"] = "main"
    with pytest.raises(ValidationError) as caught:
        Settings.model_validate(asked)
    assert [(each["loc"], each["msg"]) for each in caught.value.errors()] == [(("reward", "weights"), LOCAL)]


def test_a_seed_is_one_that_every_library_takes() -> None:
    assert Settings.model_validate(content(KEYED, seed=2**32 - 1)).seed == 4_294_967_295
    for seed, message in ((2**32, "less than 4294967296"), (-1, "greater than or equal to 0")):
        with pytest.raises(ValidationError) as caught:
            Settings.model_validate(content(KEYED, seed=seed))
        assert [each["msg"] for each in caught.value.errors()] == [f"Input should be {message}"]


def test_a_judge_without_members_is_refused() -> None:
    with pytest.raises(ValidationError) as caught:
        Settings.model_validate(content(KEYED, judge=judge()))
    assert [(error["loc"], error["msg"]) for error in caught.value.errors()] == [
        (("judge", "members"), "Dictionary should have at least 1 item after validation, not 0")
    ]


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="Instance is frozen"):
        Settings.model_validate(content(KEYED)).seed = 1  # type: ignore[misc]


@pytest.mark.parametrize(
    ("prompt", "small", "large"),
    [
        pytest.param("auto", "v1/compact", "v1/paper", id="auto"),
        pytest.param("paper", "v1/paper", "v1/paper", id="paper"),
        pytest.param("compact", "v1/compact", "v1/compact", id="compact"),
    ],
)
def test_prompts_follow_the_size_of_the_model(prompt: str, small: str, large: str) -> None:
    settings = Settings.model_validate(content(KEYED, prompt))
    assert settings.prompt_style(model_config(size="small")) == small
    assert settings.prompt_style(model_config(size="large")) == large


def embedded(**changes: object) -> dict[str, Any]:
    return raw_model("smollm2")["embedded"] | changes  # type: ignore[no-any-return]


SAME = [
    pytest.param({"name": "other", "label": "Other"}, id="name"),
    pytest.param({"price": None}, id="price"),
    pytest.param({"max_in_flight": 7}, id="limit"),
    pytest.param({"min_in_flight": 1}, id="floor"),
    pytest.param({"transport": "litellm"}, id="transport"),
    pytest.param({"timeout_s": 1, "deadline_s": 2, "attempts": 9}, id="patience"),
    pytest.param({"embedded": embedded(threads=8)}, id="threads"),
    pytest.param({"embedded": embedded(install="pip install it")}, id="how-to-install"),
]
DIFFERENT = [
    pytest.param({"provider_model": "openai/other"}, id="provider-model"),
    pytest.param({"api_base": "http://127.0.0.1:1/v1"}, id="base-url"),
    pytest.param({"max_output_tokens": 64}, id="output-bound"),
    pytest.param({"extra_body": {"top_p": 0.1}}, id="extra-body"),
    pytest.param({"accepts": {"temperature": False, "seed": True, "structured": "none"}}, id="accepted-parameters"),
    pytest.param({"embedded": embedded(gguf="SmolLM2-135M-Instruct.Q8_0.gguf")}, id="weights"),
    pytest.param({"embedded": embedded(package="llm_other")}, id="package-of-the-weights"),
]


def smollm2(changes: dict[str, object]) -> ModelConfig:
    return model_config("smollm2", **changes)


@pytest.mark.parametrize("changes", SAME)
def test_what_decides_no_reply_is_no_part_of_the_identity(changes: dict[str, object]) -> None:
    assert smollm2(changes).identity == smollm2({}).identity


@pytest.mark.parametrize("changes", DIFFERENT)
def test_what_decides_replies_is_part_of_the_identity(changes: dict[str, object]) -> None:
    assert smollm2(changes).identity != smollm2({}).identity


@pytest.mark.parametrize(
    ("changes", "where", "words"),
    [
        pytest.param({"transport": "http"}, "transport", "Input should be 'litellm' or 'openai_http'", id="transport"),
        pytest.param({"min_in_flight": 0}, "min_in_flight", "Input should be greater than 0", id="floor"),
        pytest.param(
            {"price": {"input": 1, "output": 1}}, "price.cached_input", "Field required", id="cached-left-out"
        ),
        pytest.param(
            {"price": {"input": 1, "output": 1, "cached_input": -1}},
            "price.cached_input",
            "Input should be greater than or equal to 0",
            id="cached-negative",
        ),
        pytest.param(
            {"price": {"input": 1e300, "output": 1, "cached_input": None}},
            "price.input",
            "Input should be less than or equal to 1000000",
            id="price-absurd",
        ),
        pytest.param({"api_base": ""}, "api_base", "String should have at least 1 character", id="empty-address"),
        pytest.param(
            {"max_output_tokens": 10**400},
            "max_output_tokens",
            "Input should be less than or equal to 1000000000",
            id="output-absurd",
        ),
    ],
)
def test_how_a_model_is_reached_and_priced_is_checked(changes: dict[str, object], where: str, words: str) -> None:
    with pytest.raises(ValidationError) as caught:
        smollm2(changes)
    assert [(".".join(map(str, e["loc"])), e["msg"]) for e in caught.value.errors()] == [(where, words)]


SELECTIONS = ("region", "identity", "domain", "subdomain", "age", "gender", "split", "ids")


@pytest.mark.parametrize("key", SELECTIONS)
def test_an_empty_list_selects_nothing_and_is_refused(key: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Settings.model_validate(content(KEYED) | {key: []})
    assert [(error["loc"], error["msg"]) for error in caught.value.errors()] == [
        ((key,), "empty: leave it out to take all")
    ]
    assert getattr(Settings.model_validate(content(KEYED) | {key: None}), key) == ()
    assert getattr(Settings.model_validate(content(KEYED) | {key: "a"}), key) == ("a",)


@pytest.mark.parametrize("budget", [None, 0, 0.5, 25])
def test_a_budget_is_dollars_or_none(budget: float | None) -> None:
    assert Settings.model_validate(content(KEYED, budget=budget)).budget == budget


@pytest.mark.parametrize("budget", [-1, "a lot", float("nan"), float("inf"), 1.1e9, 1e308], ids=str)
def test_no_other_budget_is_taken(budget: object) -> None:
    with pytest.raises(ValidationError) as caught:
        Settings.model_validate(content(KEYED, budget=budget))
    assert [error["loc"] for error in caught.value.errors()] == [("budget",)]
