"""Which transport a model is asked through: the one that its YAML names."""

from __future__ import annotations

from ccfw.llm import local
from ccfw.llm.types import ChatClient
from ccfw.settings.models import ModelConfig


def open_transport(model: ModelConfig) -> ChatClient:
    """Return the transport of a model, starting an embedded one.

    Raises ``RequestError`` when an embedded model is not installed.
    """
    base = local.base_url(model) if model.embedded else model.api_base
    if model.transport == "openai_http":
        from ccfw.llm.openai_http import OpenAIHttpClient

        return OpenAIHttpClient(model, base)
    from ccfw.llm.litellm_client import LitellmClient

    return LitellmClient(model, base)


async def close() -> None:
    """Close the HTTP sessions of this loop, of whichever transport was used."""
    from ccfw.llm import litellm_client, openai_http

    await openai_http.close()
    await litellm_client.close()
