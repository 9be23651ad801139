"""Secrets come from the environment and reach no file, log, tracker or terminal."""

from __future__ import annotations

import os
import re

_NAME = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL)", re.IGNORECASE)
_SHORTEST = 8
"""Shorter values are words like ``none`` or ``true``: replacing them would eat ordinary text."""


def scrub(text: str) -> str:
    """Return the text with the value of every secret-looking environment variable replaced by its name."""
    for name, value in os.environ.items():
        if _NAME.search(name) and len(value) >= _SHORTEST and value in text:
            text = text.replace(value, f"<{name}>")
    return text
