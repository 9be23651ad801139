"""Secrets come from the environment and reach no file, log, tracker or terminal."""

from __future__ import annotations

import os
import re

_NAME = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL)", re.IGNORECASE)
SHORTEST = 8
"""Shorter values are words like ``none`` or ``true``: replacing them would eat ordinary text."""


def scrub(text: str) -> str:
    """Return the text with the value of every secret-looking environment variable replaced by its name."""
    secrets = [(v, n) for n, v in os.environ.items() if _NAME.search(n) and len(v) >= SHORTEST]
    for value, name in sorted(secrets, key=lambda pair: -len(pair[0])):  # one may be the head of another
        text = text.replace(value, f"<{name}>")
    return text
