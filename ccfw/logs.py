"""How a log line is written: whatever a message holds, it shows as what it is and tells no secret."""

from __future__ import annotations

import logging

from ccfw.secrets import scrub
from ccfw.terminal import printable

_FURTHER = "\n    "


class SafeFormatter(logging.Formatter):
    """The formatter of every handler, named in ``conf/hydra``, so that no call has to think of it.

    Messages hold text of files, models and providers. Control characters become visible marks, secrets the names of
    their variables, and every line but the first is indented: only a log call begins a line with a time.
    """

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as text, with its traceback if it has one."""
        return printable(scrub(super().format(record))).replace("\n", _FURTHER)
