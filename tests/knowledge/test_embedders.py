"""The embedder of a provider, over HTTP."""

from __future__ import annotations

import importlib.util

import pytest

from ccfw.errors import RequestError
from ccfw.knowledge.embedders import open_embedder
from ccfw.settings.knowledge import EmbedderConfig
from tests.e2e.running import ccfw
from tests.fakes.provider import FakeProvider


def config(base: str, key: str | None = None) -> EmbedderConfig:
    return EmbedderConfig(kind="api", model="openai/letters", threads=1, api_base=base, api_key_env=key)


def test_without_a_key_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LETTERS_KEY", raising=False)
    with pytest.raises(RequestError) as caught:
        open_embedder(config("http://127.0.0.1:9/v1", "LETTERS_KEY"))
    assert caught.value.problems == (
        "retriever.embedder.model=openai/letters: the environment variable LETTERS_KEY holds no key",
    )


def test_what_was_embedded_is_paid_for_once_and_a_busy_provider_is_asked_again(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """In a process of its own: litellm's client for embeddings leaves its connections open."""
    folder = tmp_path_factory.mktemp("api")
    with FakeProvider() as provider:
        asked = ("stage=kb", "query=wedding gifts", "region=MY", "retriever=api")
        more = (f"retriever.embedder.api_base={provider.base_url}", "retriever.embedder.api_key_env=null")
        provider.refused_embeddings = 2
        first = ccfw(folder, *asked, *more)
        count = len(provider.embedded)
        again = ccfw(folder, *asked, *more)
        assert (first.code, again.code) == (0, 0), first.err + again.err
        assert count > 1000
        assert sum(text.endswith("\nQuery: wedding gifts") for text in provider.embedded) >= 1
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
