"""Repositories of data on the Hugging Face Hub: the only import of huggingface_hub."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from ccfw.errors import RequestError

SUFFIXES = (".parquet", ".jsonl", ".json")
"""Files that may hold the published dataset."""
_NAME = re.compile(r"([A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)(?:@([\w./-]+))?", re.ASCII)


class Repository(NamedTuple):
    """A repository by its name, at a revision: a branch, a tag or a commit."""

    name: str
    revision: str | None

    @classmethod
    def of(cls, text: str) -> Repository | None:
        """Read ``organisation/name`` or ``organisation/name@revision``."""
        found = _NAME.fullmatch(text)
        return cls(found[1], found[2]) if found else None


@lru_cache(maxsize=8)
def snapshot(repository: Repository) -> Path:
    """Return the folder with a repository's files, which are downloaded unless they are there, once a process.

    The library's own cache and settings hold (``HF_HOME``, ``HF_HUB_OFFLINE``, ``HF_ENDPOINT``). Raises
    ``RequestError`` with what keeps it from being there.
    """
    asked = f"dataset.path={repository.name}{f'@{repository.revision}' if repository.revision else ''}"
    try:
        from httpx import HTTPError
        from huggingface_hub import snapshot_download
    except ImportError:
        raise RequestError(
            [f"{asked}: no such file or folder; to load it from the Hugging Face Hub: pip install huggingface_hub"]
        ) from None
    wanted = [f"*{suffix}" for suffix in SUFFIXES]
    try:
        found = snapshot_download(
            repository.name, repo_type="dataset", revision=repository.revision, allow_patterns=wanted
        )
    except (HTTPError, OSError, ValueError) as error:
        reason = " ".join(str(error).split())[:300]
        raise RequestError([f"{asked}: no such file or folder, and the Hugging Face Hub says: {reason}"]) from None
    return Path(found)
