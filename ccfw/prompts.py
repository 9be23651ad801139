"""Prompt files: found by style and role, rendered strictly, known by their hash.

A role's prompt is ``<role>.system.md.j2``, ``<role>.examples.md.j2`` (user and assistant texts in turn, parted by
lines of ``---``) and ``<role>.user.md.j2``, each of which may be absent, under ``prompts/<version>/<style>/``. A name
that the role's view lacks is an error, so a prompt cannot reach for what its role may not see. ``quoted`` writes a text
of others as a JSON string of one line.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from ccfw.errors import PromptError
from ccfw.records import Message
from ccfw.views import one_line

_PARTS = ("system", "examples", "user")
_INCLUDE = re.compile(r"\{%-?\s*include\s+[\"']([^\"']+)[\"']\s*-?%\}")


class PromptSet:
    """The prompts of one style of one version."""

    def __init__(self, root: Path, style: str) -> None:
        """Open ``root/style``; raise ``PromptError`` when there is no such folder."""
        self.style = style
        self._digests: dict[str, str] = {}
        self._roles: dict[str, tuple[tuple[str, str], ...]] = {}
        self.folder = root / style
        if not self.folder.is_dir():
            options = sorted(f"{p.parent.name}/{p.name}" for p in root.glob("*/*") if p.is_dir())
            raise PromptError(f"prompt={style}: no such prompts; options: {', '.join(options)}")

    @cached_property
    def _environment(self) -> Any:
        import jinja2

        environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader([self.folder, self.folder.parent]),
            undefined=jinja2.StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
            keep_trailing_newline=True,  # else what follows an include is glued to its last line
            autoescape=False,  # noqa: S701 plain text for a model; untrusted text is framed by its view
        )
        environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False}
        environment.filters["quoted"] = one_line
        return environment

    def render(self, role: str, fields: Mapping[str, Any]) -> tuple[Message, ...]:
        """Render a role's messages from its view's fields.

        Raises ``PromptError`` when the role has no file or a file names an unknown field.
        """
        import jinja2

        messages = []
        for part, name in self._files(role):
            try:
                text = self._environment.get_template(name).render(fields)
            except jinja2.TemplateError as error:
                raise PromptError(f"prompts/{self.style}/{name}: {error}") from error
            messages.extend(_messages(part, text))
        if not messages:
            raise PromptError(f"prompts/{self.style}/{role}.*.md.j2: no such file")
        return tuple(messages)

    def _files(self, role: str) -> tuple[tuple[str, str], ...]:
        """Return the parts that a role's prompt has, each with its file; looked up once a job."""
        if role not in self._roles:
            names = ((part, f"{role}.{part}.md.j2") for part in _PARTS)
            self._roles[role] = tuple((part, name) for part, name in names if (self.folder / name).is_file())
        return self._roles[role]

    def has(self, role: str) -> bool:
        """Return whether the style has a prompt of the role."""
        return any(part == "user" for part, _ in self._files(role))

    def digest(self, prefix: str) -> str:
        """Return the hash of every file whose path under the style starts with ``prefix``, includes put in.

        A style that includes another's wording for a role has that wording's digest, so what rests on it is shared.
        """
        if prefix not in self._digests:
            names = {path.relative_to(self.folder).as_posix() for path in self.folder.rglob("*.md.j2")}
            sha = hashlib.sha256()
            for name in sorted(name for name in names if name.startswith(prefix)):
                sha.update(f"{name}\0{self._resolved(name)}\0".encode())
            self._digests[prefix] = sha.hexdigest()[:16]
        return self._digests[prefix]

    def _resolved(self, name: str, within: tuple[str, ...] = ()) -> str:
        """Return a file's text with the files that it includes in place of their tags, blanks at its end aside."""
        if name in within:
            return name  # files that include each other cannot be rendered, and still have a hash
        source: str = self._environment.loader.get_source(self._environment, name)[0]
        return _INCLUDE.sub(lambda tag: self._resolved(tag[1], (*within, name)), source).rstrip()


def _messages(part: str, text: str) -> list[Message]:
    if part == "examples":
        texts = [block.strip() for block in text.split("\n---\n")]
        return [Message(role="assistant" if i % 2 else "user", content=block) for i, block in enumerate(texts)]
    return [Message(role="system" if part == "system" else "user", content=text.strip())]
