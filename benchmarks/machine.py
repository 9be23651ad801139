"""Where a measurement was made."""

from __future__ import annotations

import datetime as dt
import os
import platform
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

PACKAGES = ("litellm", "openai", "aiohttp", "pydantic", "numpy", "scipy", "hydra-core", "mlflow", "pandas", "jinja2")


def facts() -> Iterator[tuple[str, str]]:
    """Yield the rows of the page's first table."""
    from ccfw import __version__

    yield "Processor", _processor()
    yield "Cores", str(os.cpu_count())
    yield "Memory", f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.0f} GiB"
    yield "System", f"{_system()}, {platform.system()} {platform.release()}"
    yield "Load over the minute before", f"{os.getloadavg()[0]:.1f}"
    yield "Python", f"{platform.python_implementation()} {platform.python_version()}"
    yield "Packages", ", ".join([f"ccfw {__version__}", *(f"{name} {version(name)}" for name in PACKAGES)])
    yield "Date", dt.datetime.now(dt.UTC).date().isoformat()


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text("utf-8").splitlines() if info.exists() else []
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or platform.machine()


def _system() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.platform()
