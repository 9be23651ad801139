"""Where ``conf/``, ``prompts/`` and ``data/`` are: inside an installed wheel, or beside the package in a checkout."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_SHIPPED = _PACKAGE / "_shipped"


def resource(name: str) -> Path:
    """Return the absolute path of a shipped folder: ``conf``, ``prompts`` or ``data``."""
    return (_SHIPPED if _SHIPPED.is_dir() else _PACKAGE.parent) / name
