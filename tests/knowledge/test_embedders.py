"""The embedder of a provider, over HTTP."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from ccfw.errors import ProviderError, RequestError
from ccfw.knowledge.embedders import open_embedder
from ccfw.settings import EmbedderConfig
from tests.e2e.running import ccfw
from tests.fakes.provider import FakeProvider


def config(base: str, key: str | None = None) -> EmbedderConfig:
    return EmbedderConfig(kind="api", model="openai/letters", threads=1, api_base=base, api_key_env=key)


def test_vectors_come_in_the_order_of_the_texts_and_of_length_one() -> None:
    with FakeProvider() as provider:
        found = open_embedder(config(provider.base_url)).passages(["aab", "b"])
    assert found.shape == (2, 26)
    assert np.allclose(found[:, :2], np.array([[2 / 5**0.5, 1 / 5**0.5], [0, 1]]))


def test_a_query_goes_under_its_instruction() -> None:
    with FakeProvider() as provider:
        open_embedder(config(provider.base_url)).queries(["what to bring"], "Find customs")
        assert provider.embedded == ["Instruct: Find customs\nQuery: what to bring"]


def test_a_busy_provider_is_asked_again_and_a_lasting_refusal_is_raised() -> None:
    with FakeProvider() as provider:
        embedder = open_embedder(config(provider.base_url))
        provider.refused_embeddings = 2
        assert embedder.passages(["a"]).shape == (1, 26)
        provider.refused_embeddings = 100
        with pytest.raises(ProviderError, match="slow down"):
            embedder.passages(["a"])
        assert provider.refused_embeddings == 91  # nine tries


def test_without_a_key_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LETTERS_KEY", raising=False)
    with pytest.raises(RequestError) as caught:
        open_embedder(config("http://127.0.0.1:9/v1", "LETTERS_KEY"))
    assert caught.value.problems == (
        "retriever.embedder.model=openai/letters: the environment variable LETTERS_KEY holds no key",
    )


def test_what_was_embedded_is_paid_for_once(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("api")
    with FakeProvider() as provider:
        asked = ("stage=kb", "query=wedding gifts", "region=MY", "retriever=api")
        more = (f"retriever.embedder.api_base={provider.base_url}", "retriever.embedder.api_key_env=null")
        first = ccfw(folder, *asked, *more)
        count = len(provider.embedded)
        again = ccfw(folder, *asked, *more)
        assert (first.code, again.code) == (0, 0), first.err + again.err
        assert count > 1000
        assert len(provider.embedded) - count <= 3  # one text tells the dimension of each file
    assert first.out == again.out
    told = (
        "retriever.embedder.model=openai/text-embedding-3-small: what embedding costs is not in cost= nor under budget="
    )
    assert told in first.err


@pytest.mark.skipif(importlib.util.find_spec("sentence_transformers") is not None, reason="it is installed")
def test_what_is_not_installed_is_named_with_how_to_install_it(tmp_path_factory: pytest.TempPathFactory) -> None:
    done = ccfw(tmp_path_factory.mktemp("none"), "stage=kb", "query=rice", "retriever=sentence_transformers")
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        "ccfw: retriever.embedder.kind=sentence_transformers: No module named 'sentence_transformers'; "
        "pip install -e '.[embed]' (in a clone)\n"
    )
