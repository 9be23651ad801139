"""The embedded model: llama.cpp in this process, served on loopback, started on first use, stopped at exit.

Greedy text depends on prefix reuse and on parallel slots, so one slot is served; prefix reuse is the model
option's choice (``extra_body.cache_prompt``).
"""

from __future__ import annotations

import importlib.util
import threading
from functools import lru_cache
from pathlib import Path
from typing import Any

from ccfw.errors import RequestError
from ccfw.settings.models import Embedded, ModelConfig

_TEMPERATURE = 0.2
"""SmolLM2's own model card: low temperature, top-p 0.9; used where a request names no temperature."""
_TOP_P = 0.9
_lock = threading.Lock()


def missing(model: ModelConfig) -> list[str]:
    """Return what an embedded model lacks on this machine, one line each with the command that mends it."""
    if model.embedded is None:
        return []
    problems = []
    if importlib.util.find_spec("xllamacpp") is None:
        problems.append(f"model={model.name}: the package xllamacpp is not installed: pip install 'ccfw[local]'")
    try:
        gguf_path(model.embedded)
    except FileNotFoundError as error:
        problems.append(f"model={model.name}: {error}: {model.embedded.install}")
    return problems


def gguf_path(embedded: Embedded) -> Path:
    """Return the path of the weights; raise ``FileNotFoundError`` when package or file is missing."""
    spec = importlib.util.find_spec(embedded.package)
    if spec is None or spec.origin is None:
        raise FileNotFoundError(f"the package {embedded.package}, which holds the weights, is not installed")
    path = Path(spec.origin).parent / embedded.gguf
    if not path.is_file():
        raise FileNotFoundError(f"the package {embedded.package} holds no {embedded.gguf}")
    return path


def base_url(model: ModelConfig) -> str:
    """Start the model's server if it is not running and return its OpenAI-compatible base URL."""
    if model.embedded is None:
        raise ValueError(f"{model.name} is not an embedded model")
    problems = missing(model)
    if problems:
        raise RequestError(problems)
    with _lock:
        return f"{_server(model.embedded).listening_address}/v1"


@lru_cache(maxsize=4)
def _server(embedded: Embedded) -> Any:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(gguf_path(embedded))
    params.n_ctx = embedded.context
    params.n_parallel = 1
    params.cpuparams.n_threads = embedded.threads
    params.cpuparams_batch.n_threads = embedded.threads
    params.sampling.temp = _TEMPERATURE
    params.sampling.top_p = _TOP_P
    params.verbosity = -1
    return xllamacpp.Server(params)


def stop() -> None:
    """Stop every embedded server of this process."""
    _server.cache_clear()
