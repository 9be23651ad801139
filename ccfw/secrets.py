"""Secrets come from the environment and reach no file, log, tracker or terminal."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from urllib.parse import unquote

_NAME = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL)", re.IGNORECASE)
_PROXY = re.compile(r".+_proxy", re.IGNORECASE)
_LOGIN = re.compile(r"://[^\s/?#]+@")
SHORTEST = 8
"""Shorter values are words like ``none`` or ``true``: replacing them would eat ordinary text."""


def scrub(text: str) -> str:
    """Return the text without secrets.

    The value of every secret-looking environment variable, and the login of every proxy, becomes the variable's name;
    the login in any other URL goes too.
    """
    for value, name in sorted(set(_secrets()), key=lambda pair: (-len(pair[0]), pair[1])):  # one may begin another
        text = text.replace(value, f"<{name}>")
    return _LOGIN.sub("://<login>@", text)


def sendable(key: str) -> bool:
    """Return whether a key can stand in an HTTP header as it is; most that cannot were pasted with a blank too many."""
    return key == key.strip() and key.isascii() and key.isprintable()


def _secrets() -> Iterator[tuple[str, str]]:
    """Yield secrets in all the forms in which a text may show them, with the names of their variables."""
    for name, value in os.environ.items():
        shown = [value] if _NAME.search(name) else _logins(value) if _PROXY.fullmatch(name) else []
        for secret in shown:
            forms = (secret, secret.strip(), " ".join(secret.split()))
            yield from ((form, name) for form in forms if len(form) >= SHORTEST)


def _logins(url: str) -> list[str]:
    """Return a proxy's login and its password, as the URL has them and as they are; a password may hold any sign."""
    login = (url.partition("://")[2] or url).rpartition("@")[0]
    password = login.partition(":")[2]
    return [login, unquote(login), password, unquote(password)]
