"""Costs are those of litellm's own arithmetic, and no call costs more than was set aside for it."""

from __future__ import annotations

import json
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ccfw.llm import prices
from ccfw.llm.litellm_client import _litellm
from ccfw.llm.prices import Rates, Tariff, batch_tariff, price_list, tariff
from ccfw.llm.types import Usage
from ccfw.records import Message
from ccfw.settings.models import ModelConfig
from tests.samples import ROOT, chat_request, model_config

MODELS = {path.stem: model_config(path.stem) for path in sorted((ROOT / "conf" / "model").glob("*.yaml"))}
LISTED = [name for name, model in MODELS.items() if model.price is None and tariff(model) is not None]
pytestmark = pytest.mark.filterwarnings("ignore:Items? .* on TypedDict class")


def entry(**fields: Any) -> Tariff | None:
    """Return the tariff of an entry of the list."""
    return prices._read(fields)


FLAT = {"input_cost_per_token": 2e-6, "output_cost_per_token": 8e-6, "litellm_provider": "openai"}


# ---- against litellm


def litellms(model: ModelConfig, prompt: int, cached: int, completion: int) -> float:
    litellm, types = _litellm(), import_module("litellm.types.utils")
    details = types.PromptTokensDetailsWrapper(cached_tokens=cached)
    usage = types.Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        total_tokens=prompt + completion,
        prompt_tokens_details=details,
    )
    return float(sum(litellm.cost_per_token(model=model.provider_model, usage_object=usage)))


@st.composite
def counts(draw: st.DrawFn, name: str) -> tuple[int, int, int]:
    """Draw tokens of prompt, cache and completion, often about the thresholds of the model's rates."""
    found = tariff(MODELS[name])
    assert found is not None
    edges = [least + step for least, _ in found.above for step in (-1, 0, 1)]
    prompt = draw(st.integers(1, 2_000_000) | (st.sampled_from(edges) if edges else st.nothing()))
    return prompt, draw(st.integers(0, prompt)), draw(st.integers(0, 200_000))


@pytest.mark.parametrize("name", LISTED)
def test_a_listed_model_costs_what_litellm_says(name: str) -> None:
    found = tariff(MODELS[name])
    assert found is not None

    @given(counts(name))
    def check(tokens: tuple[int, int, int]) -> None:
        prompt, cached, completion = tokens
        expected = litellms(MODELS[name], prompt, cached, completion)
        assert found.cost(Usage(prompt, completion, cached)) == pytest.approx(expected, rel=1e-12, abs=0)

    check()


def test_nearly_every_shipped_model_has_a_price() -> None:
    assert [name for name, model in MODELS.items() if tariff(model) is None] == ["qwen36flash"]  # a table of tiers


@pytest.mark.long
def test_every_entry_that_has_a_tariff_costs_what_litellm_says() -> None:
    """Not those of three providers.

    Fireworks: litellm halves the price of a cached token where the list names none. Perplexity: it leaves out the
    context tiers. GitHub's: it asks for a login.
    """
    differing, checked = [], 0
    for name, content in price_list().items():
        provider = str(content.get("litellm_provider"))
        full = name if name.startswith(f"{provider}/") else f"{provider}/{name}"
        found = prices._listed(full)
        if found is None or provider in ("fireworks_ai", "perplexity", "github_copilot"):
            continue
        model = model_config(provider_model=full)
        edges = [least + step for least, _ in found.above for step in (-1, 0)]
        for prompt, cached in [(1000, 0), (1000, 400), *((edge, edge // 3) for edge in edges)]:
            try:
                expected = litellms(model, prompt, cached, 50)
            except Exception:  # noqa: BLE001 a name that litellm itself cannot call
                break
            checked += 1
            cost = found.cost(Usage(prompt, 50, cached))
            if cost != pytest.approx(expected, rel=1e-12, abs=0):
                differing.append((full, prompt, cached, expected, cost))
    assert differing == []
    assert checked > 5_000


# ---- by hand


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        pytest.param(Usage(1_000_000, 500_000, None), 3.0 + 6.0, id="plain"),
        pytest.param(Usage(1_000_000, 500_000, 400_000), 0.6 * 3.0 + 0.4 * 0.3 + 6.0, id="cached"),
        pytest.param(Usage(1_000_000, 0, 1_000_000), 0.3, id="all-cached"),
        pytest.param(Usage(1_000_000, 0, 400_000, 100_000), 0.5 * 3.0 + 0.4 * 0.3 + 0.1 * 3.0, id="written"),
        pytest.param(Usage(100, 0, 1_000_000), 0.3e-4, id="more-cached-than-sent"),
        pytest.param(Usage(100, 0, 40, 1_000_000), 0.12e-4 + 1.8e-4, id="more-written-than-sent"),
        pytest.param(Usage(0, 0, 0), 0.0, id="nothing"),
        pytest.param(Usage(None, 5, None), None, id="unknown-prompt"),
        pytest.param(Usage(5, None, None), None, id="unknown-completion"),
    ],
)
def test_a_price_of_ones_own_is_dollars_per_million_tokens(usage: Usage, cost: float | None) -> None:
    found = tariff(model_config(price={"input": 3.0, "output": 12.0, "cached_input": 0.3}))
    assert found is not None
    assert found.cost(usage) == (None if cost is None else pytest.approx(cost, rel=1e-12))


def test_without_a_price_of_its_own_a_cached_token_costs_as_any_other() -> None:
    found = tariff(model_config(price={"input": 3.0, "output": 12.0, "cached_input": None}))
    assert found is not None
    assert found.cost(Usage(1_000_000, 0, 900_000)) == pytest.approx(3.0)


def test_what_is_free_is_free_also_where_nobody_counts() -> None:
    found = tariff(model_config(price={"input": 0.0, "output": 0.0, "cached_input": None}))
    assert found is not None
    assert found.cost(Usage(None, None, None)) == 0.0
    assert found.most(chat_request("a" * 1000), 4096) == 0.0


TIERS = {
    "input_cost_per_token_above_200k_tokens": 4e-6,
    "cache_read_input_token_cost": 2e-7,
    "output_cost_per_token_above_512_tokens": 9e-6,
    "output_cost_per_token_above_200k_tokens_batches": 1.0,
    "input_cost_per_audio_token_above_128k_tokens": 1.0,
}
LOW = Rates(2e-6, 2e-7, 2e-6, 8e-6)
MIDDLE, HIGH = Rates(2e-6, 2e-7, 2e-6, 9e-6), Rates(4e-6, 2e-7, 4e-6, 9e-6)


@pytest.mark.parametrize(
    ("provider", "steps"),
    [
        pytest.param("openai", [(512, LOW), (513, MIDDLE), (200_000, MIDDLE), (200_001, HIGH)], id="beyond"),
        pytest.param("xai", [(511, LOW), (512, MIDDLE), (199_999, MIDDLE), (200_000, HIGH)], id="from"),
    ],
)
def test_a_tier_holds_for_the_whole_call_and_what_it_does_not_name_is_as_below_it(
    provider: str, steps: list[tuple[int, Rates]]
) -> None:
    found = entry(**FLAT | TIERS | {"litellm_provider": provider})
    assert found is not None
    assert [(tokens, found.at(tokens)) for tokens, _ in steps] == steps


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"tiered_pricing": [{"range": [0, 1]}]}, id="table"),
        pytest.param({"off_peak_pricing": {"hours": "16:30-00:30"}}, id="hours"),
        pytest.param({"input_cost_per_character": 1e-6}, id="characters"),
        pytest.param({"input_cost_per_second": 1e-6}, id="seconds"),
        pytest.param({"output_cost_per_reasoning_token": 9e-6}, id="thinking-apart"),
        pytest.param({"output_cost_per_token": 0.0}, id="free-output"),
        pytest.param({"output_cost_per_token": None}, id="no-output"),
        pytest.param({"input_cost_per_token": None}, id="no-input"),
        pytest.param({"input_cost_per_token": "2e-6"}, id="text"),
    ],
)
def test_a_price_that_says_more_or_less_than_rates_is_unknown(fields: dict[str, Any]) -> None:
    assert entry(**FLAT) == Tariff(Rates(2e-6, 2e-6, 2e-6, 8e-6))
    assert entry(**FLAT | fields) is None


@pytest.mark.parametrize(
    "name",
    ["openai/no-such-model", "nobody/gpt-5-mini-2025-08-07", "no-such-model", "openai/", ""],
)
def test_a_model_that_the_list_lacks_has_no_price(name: str) -> None:
    assert tariff(model_config(provider_model=name, price=None)) is None


def test_a_batch_costs_what_the_list_says_or_a_share_of_ones_own_price() -> None:
    listed = batch_tariff(MODELS["gpt54"], 0.5)
    assert listed is not None
    assert listed.rates == Rates(1.25e-6, 1.3e-7, 1.25e-6, 7.5e-6)
    assert listed.at(272_001) == Rates(2.5e-6, 2.5e-7, 2.5e-6, 1.125e-5)
    own = batch_tariff(model_config(price={"input": 3.0, "output": 12.0, "cached_input": 0.3}), 0.25)
    assert own is not None
    assert own.cost(Usage(1_000_000, 1_000_000, None)) == pytest.approx(3.75)
    assert batch_tariff(MODELS["deepseek_v31"], 0.5) is None


# ---- the list


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A litellm whose price list a test writes."""
    package = tmp_path / "site" / "litellm"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    monkeypatch.setattr("importlib.util.find_spec", lambda _: _Spec(package / "__init__.py"))
    price_list.cache_clear()
    monkeypatch.setattr(prices, "price_list", price_list.__wrapped__)
    return package / "model_prices_and_context_window_backup.json"


class _Spec:
    def __init__(self, path: Path) -> None:
        self.origin = str(path)


@pytest.mark.parametrize(
    ("content", "found"),
    [
        pytest.param(None, {}, id="none"),
        pytest.param(b"", {}, id="empty"),
        pytest.param(b'{"a": {', {}, id="cut"),
        pytest.param(b"\xff\xfe", {}, id="no-text"),
        pytest.param(b"[1, 2]", {}, id="a-list"),
        pytest.param(b'{"a": {"mode": "chat"}, "b": 1, "c": null}', {"a": {"mode": "chat"}}, id="odd-entries"),
    ],
)
def test_a_broken_price_list_has_no_prices(installed: Path, content: bytes | None, found: dict[str, Any]) -> None:
    if content is not None:
        installed.write_bytes(content)
    assert prices.price_list() == found


# ---- what a call may cost at most


@lru_cache
def tokenizers() -> dict[str, Any]:
    """Return tokenizers of three families that litellm's package holds, as counting functions."""
    litellm, hf = _litellm(), import_module("tokenizers")
    folder = Path(litellm.__file__).parent / "litellm_core_utils" / "tokenizers"
    openai, claude = (
        import_module("litellm.litellm_core_utils.default_encoding").encoding,
        hf.Tokenizer.from_file(str(folder / "anthropic_tokenizer.json")),
    )
    deepseek = hf.Tokenizer.from_file(str(folder / "deepseek_tokenizer.json"))
    return {
        "cl100k": lambda text: len(openai.encode(text, disallowed_special=())),
        "claude": lambda text: len(claude.encode(text).ids),
        "deepseek": lambda text: len(deepseek.encode(text).ids),
    }


SCRIPTS = st.sampled_from(
    "a \n\t{}\"'0é漢字谢おはよう한국어สวัสดีதமிழ்بِسْمِ😀👨\u200d👩\u200d👧ﷺ㍿ﬃ½\U0001d160\u0958\u2028\x00�"
)
TEXTS = st.text(SCRIPTS, max_size=200) | st.text(st.characters(exclude_categories=["Cs"]), max_size=60)
ONE_DOLLAR = Tariff(Rates(1.0, 1.0, 1.0, 0.0))


@pytest.mark.parametrize("name", ["cl100k", "claude", "deepseek"])
def test_a_prompt_has_no_more_tokens_than_are_reckoned_with(name: str) -> None:
    count = tokenizers()[name]

    @given(TEXTS)
    def check(text: str) -> None:
        unseen = ONE_DOLLAR.most(chat_request(""), 0)
        assert count(text) <= ONE_DOLLAR.most(chat_request(text), 0) - unseen

    check()


def test_a_character_that_a_tokenizer_takes_apart_counts_as_all_its_parts() -> None:
    text = "\ufdfa" * 100  # one Arabic letter of 3 bytes, which NFKC writes as 18 of 33 bytes
    assert ONE_DOLLAR.most(chat_request(text), 0) - ONE_DOLLAR.most(chat_request(""), 0) == 3300
    assert tokenizers()["claude"](text) > len(text.encode())


@given(
    st.lists(TEXTS | st.just("\ud83d" * 30), min_size=1, max_size=4),
    st.lists(st.tuples(st.integers(1, 3_000), st.tuples(*[st.floats(0, 1)] * 4)), max_size=3),
    st.data(),
)
def test_no_call_costs_more_than_is_set_aside_for_it(
    texts: list[str], above: list[tuple[int, tuple[float, float, float, float]]], data: st.DataObject
) -> None:
    """Whatever the rates of its tiers, and however its tokens split into cached, written and plain ones."""
    tiers = tuple((least, Rates(*rates)) for least, rates in sorted(above))
    found = Tariff(Rates(0.5, 0.25, 0.75, 1.0), tiers)
    messages = tuple(Message.model_construct(role="user", content=text) for text in texts)
    request = chat_request(messages=messages, schema_name="s", schema={"enum": texts})
    content = "".join(texts) + json.dumps({"enum": texts}, ensure_ascii=False)
    most_tokens = len(content.encode("utf-8", "surrogatepass")) + 16 * len(texts) + 1024
    prompt = data.draw(st.integers(0, most_tokens))
    cached = data.draw(st.integers(0, prompt))
    written = data.draw(st.integers(0, prompt - cached))
    completion = data.draw(st.integers(0, 50))
    cost = found.cost(Usage(prompt, completion, cached, written))
    assert cost is not None
    assert cost <= found.most(request, 50) * (1 + 1e-12)
