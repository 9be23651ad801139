"""The command line → settings, or every mistake in it at once, before anything runs.

Hydra stops at the first mistake it meets and, in a sweep, meets a mistake of job 7 only after six paid jobs. So
the request is read here first: every group option and key is looked up, every distinct choice that did not
ship with ccfw is composed and validated, and only then does Hydra start.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, get_args, get_origin

import yaml
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from pydantic import BaseModel, ValidationError

from ccfw.errors import RequestError
from ccfw.resources import resource
from ccfw.settings import Settings

_MISSING = object()
_QUERY = re.compile(r"(\+{0,2}query=)(.*)", re.DOTALL)
_QUOTED = r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
_ALL_QUOTED = re.compile(rf"\s*{_QUOTED}\s*(?:,\s*{_QUOTED}\s*)*", re.DOTALL)
"""One value in quotation marks, or a sweep over several."""
_CAST = ("simulator", "generator", "auditor", "translator", "reasoner", "judge")
"""Roles that somebody gets when the request names nobody."""
_NULLABLE = frozenset({"judge", "judge@rewards.judge", "experiment", *(f"model@{role}" for role in _CAST[:-1])})
"""Groups that may be left open; what fills them is in ``conf/config.yaml``."""
_SCOPE = {"dataset", "trap", "region", "identity", "domain", "subdomain", "age", "gender", "split", "ids"}
"""What decides which scenarios a job takes."""
_UNPAID = frozenset(f"stage={name}" for name in ("align", "panel", "reward", "supervisor", "norm_match"))
"""Stages that call nobody, whatever the judge: options that ship need no trying for them."""
_DEEPEST = 50
"""Levels of a YAML file: beyond a few hundred, the libraries that read it run out of stack."""
_MOST = 100_000
"""Values of a YAML file: a few lines of nested aliases stand for more than any memory holds."""


def to_settings(config: DictConfig, search: Sequence[str] = ()) -> Settings:
    """Turn a composed config into settings; raise ``RequestError`` with one line per mistake.

    ``search`` are overrides under which options of one's own are found, where the application has not seen to it.
    """
    missing = sorted(key for key in OmegaConf.missing_keys(config) if not key.startswith("hydra."))
    if missing:
        raise RequestError(f"{key}: must be given, as in {key}=…" for key in missing)
    try:
        content = OmegaConf.to_container(config, resolve=True)
    except OmegaConfBaseException as error:
        raise RequestError([" ".join(str(error).split())]) from None
    assert isinstance(content, dict)
    content.pop("hydra", None)
    _name_policies(content, search)
    try:
        return Settings.model_validate(content)
    except ValidationError as error:
        cast = tuple(role for role in _CAST if content.get(role) is None)
        raise RequestError(_invalid(error, cast)) from None


def _name_policies(content: dict[Any, Any], search: Sequence[str]) -> None:
    """Put the models that ``crisp.responses.policies`` names in place of their names.

    Raises ``RequestError`` with a line for each name that is no option of the model group.
    """
    terms = (content.get("crisp") or {}).get("responses")
    if not isinstance(terms, dict):
        return
    named = terms.get("policies")
    if isinstance(named, str):
        named = [named]
    if not isinstance(named, list):
        return
    from hydra.core.global_hydra import GlobalHydra
    from hydra.types import RunMode

    key, loader = "crisp.responses.policies", GlobalHydra.instance().config_loader()
    options = sorted(loader.get_group_options("model", config_name="config", overrides=list(search)))
    wanted = list(dict.fromkeys(map(str, named)))
    unknown = [name for name in wanted if name not in options]
    if unknown:
        raise RequestError(
            f"{key}={name}: no such option{_close(name, options)}; options: {_listed(options)}" for name in unknown
        )
    terms["policies"] = found = {}
    for name in wanted:
        made = loader.load_configuration("config", [*search, f"model={name}"], RunMode.RUN)
        found[name] = OmegaConf.to_container(made.model, resolve=True)


def _invalid(error: ValidationError, cast: tuple[str, ...]) -> list[str]:
    """Write validation errors one a line; those of a role that is only a copy of another are the other's."""
    lines: dict[str, None] = {}
    for fault in error.errors(include_url=False):
        location = [str(part) for part in fault["loc"]]
        if location and location[0] in cast:
            continue
        key = ".".join(location) or "settings"
        hidden = fault["type"] == "missing" or location[-1:] == ["api_key_env"]  # it may be a key, pasted by mistake
        hidden |= fault["type"] == "value_error" and isinstance(fault["input"], dict)  # its message names the values
        given = "" if hidden else f"={json.dumps(fault['input'], ensure_ascii=False, default=str)[:80]}"
        lines[f"{key}{given}: {_reason(fault)}"] = None
    return list(lines)


def _reason(fault: Any) -> str:
    if fault["type"] == "extra_forbidden":
        return "no such setting"
    if fault["type"] == "missing":
        return "must be given"
    text = str(fault["msg"]).removeprefix("Value error, ")
    return text[0].lower() + text[1:]


@dataclass(frozen=True)
class Request:
    """A parsed command line."""

    overrides: tuple[str, ...]
    config_dir: Path | None
    multirun: bool


def literal(override: str) -> str:
    """Return an override as Hydra takes it: what a ``query`` says counts as it stands, whatever Hydra would read in it.

    A query in quotation marks of its own, ``null`` and nothing at all are Hydra's.
    """
    match = _QUERY.fullmatch(override)
    if match is None or match[2] in ("", "null") or _ALL_QUOTED.fullmatch(match[2]):
        return override
    text = re.sub(r"(\\*)\$\{", r"\1\1\\${", match[2])  # else OmegaConf looks up what stands in the braces
    text = re.sub(r'(\\*)"', r'\1\1\\"', text)
    text = re.sub(r"(\\+)$", r"\1\1", text)
    return f'{match[1]}"{text}"'


def check(request: Request) -> None:
    """Raise ``RequestError`` with every mistake of a request; return when Hydra may start."""
    from hydra import initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra

    if request.config_dir is not None and not request.config_dir.is_dir():
        raise RequestError([f"--config-dir={request.config_dir}: no such folder"])
    GlobalHydra.instance().clear()
    with initialize_config_dir(version_base="1.3", config_dir=str(resource("conf"))):
        _Check(request).run()


class _Check:
    """The mistakes of one request, gathered."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.problems: list[str] = []
        self.scopes: set[str] = set()
        self.search = (
            [f"hydra.searchpath=[file://{request.config_dir.resolve()}]"] if request.config_dir is not None else []
        )

    def run(self) -> None:
        self._own_files()
        choices = self._choices()
        groups = [values[0] for values, is_group in choices if is_group and values]
        values = [values[0] for values, is_group in choices if not is_group and values]
        faultless = not self.problems
        config = self._tried([*groups, *values]) if faultless else None
        if config is None or self._misnamed(groups, config):
            config, values = self._explained(groups, values)
            faultless = not self.problems
        if config is not None:
            self._validate(config)
        if faultless:
            self._validate_rest(choices, [*groups, *values])
        if self.problems:
            raise RequestError(dict.fromkeys(self.problems))

    def _tried(self, overrides: Sequence[str]) -> DictConfig | None:
        """Compose as Hydra will, and return nothing if that fails: the reasons are then looked for step by step."""
        config = self._composed(overrides)
        if config is None:
            self.problems.clear()
        return config

    def _explained(self, groups: Sequence[str], values: Sequence[str]) -> tuple[DictConfig | None, list[str]]:
        """Name every mistake among the choices; return what composes without the values that are no settings."""
        base = self._composed(groups)
        if base is None:
            return None, []
        self.problems += self._misnamed(groups, base)
        known = [value for value in values if self._known_key(value, base)]
        return self._composed([*groups, *known]), known

    def _own_files(self) -> None:
        """Refuse files of one's own that are no text, or are named like shipped ones, which would be taken instead."""
        own, shipped = self.request.config_dir, resource("conf")
        for path in sorted(own.rglob("*.yaml")) if own is not None else ():
            name = path.relative_to(own) if own is not None else path
            if (shipped / name).is_file():
                self.problems.append(f"{path}: ccfw ships an option of that name; name yours otherwise")
        unreadable = list(_unreadable(own)) if own is not None else []
        if unreadable:  # nothing can be composed, so nothing else can be looked at
            raise RequestError([*self.problems, *unreadable])

    def _choices(self) -> list[tuple[list[str], bool]]:
        """Return, per override, the plain overrides that it expands to and whether it names a group."""
        from hydra.core.override_parser.overrides_parser import OverridesParser
        from hydra.errors import HydraException

        parser = OverridesParser.create()
        found = []
        for text in self.request.overrides:
            try:
                override = parser.parse_override(text)
            except (HydraException, RecursionError) as error:
                reason = str(error).splitlines()[0]
                self.problems.append(
                    f"{text}: not readable as key=value ({reason}); quote what has spaces or other letters"
                )
                continue
            options = self._options(override.key_or_group)
            if options is not None and not override.is_delete():
                found.append((self._group_choices(override, options), True))
            else:
                found.append((self._value_choices(override, text), False))
        return found

    def _options(self, group: str) -> list[str] | None:
        from hydra.core.global_hydra import GlobalHydra

        loader = GlobalHydra.instance().config_loader()
        options = list(loader.get_group_options(group))
        if self.request.config_dir is not None:
            options += [path.stem for path in (self.request.config_dir / group).glob("*.yaml")]
        return sorted(set(options)) or None

    def _group_choices(self, override: Any, options: list[str]) -> list[str]:
        from hydra.core.override_parser.types import Glob

        key = override.get_key_element().lstrip("+")
        value = override.value()
        if isinstance(value, Glob):
            names = value.filter(options)
            if not names:
                self.problems.append(
                    f"{override.input_line}: matches no option, a sweep of 0 jobs; options: {_listed(options)}"
                )
        elif override.is_sweep_override():
            names = list(override.sweep_string_iterator())
        elif isinstance(value, list):
            names = [str(item) for item in value]
            each = ",".join(names)
            self.problems.append(f"{override.input_line}: one option at a time; a sweep is: -m {key}={each}")
        else:
            names = [] if value is None else [str(value)]
            if value is None and key not in _NULLABLE:
                self.problems.append(f"{key}: must be given")
        if override.is_sweep_override() and not self.request.multirun:
            self.problems.append(f"{override.input_line}: a sweep needs -m: python -m ccfw -m …")
        for name in names:
            if name not in options and name != "null":
                self.problems.append(
                    f"{key}={name}: no such option{_close(name, options)}; options: {_listed(options)}"
                )
        return [f"{key}={name}" for name in names if name in options]

    def _value_choices(self, override: Any, text: str) -> list[str]:
        if not override.is_sweep_override():
            return [text]
        if not self.request.multirun:
            self.problems.append(f"{text}: several values are a sweep and need -m; a list is '{_as_list(text)}'")
        key = override.get_key_element()
        if key.lstrip("+") == "budget":
            self.problems.append(f"{text}: the jobs of a sweep share one budget; give one value")
        try:
            return [f"{key}={value}" for value in override.sweep_string_iterator()]
        except Exception as error:  # noqa: BLE001 glob() over something that is no group
            self.problems.append(f"{text}: not a sweep over values: {error}")
            return []

    def _composed(self, overrides: Sequence[str]) -> DictConfig | None:
        from hydra import compose
        from hydra.errors import HydraException

        try:
            return compose("config", overrides=[*self.search, *overrides])
        except yaml.YAMLError as error:
            self.problems.append(f"not readable as YAML: {' '.join(str(error).split())}")
            return None
        except (HydraException, OmegaConfBaseException, ValueError, RecursionError) as error:
            # ValueError: a list of defaults is none, or YAML's own kinds of values are no settings
            self.problems.append(" ".join(str(error).split()) or f"not readable as settings: {error.__cause__!r}")
            return None

    def _known_key(self, text: str, base: DictConfig) -> bool:
        key = text.split("=", 1)[0].lstrip("+~").split("@")[0]
        if key.startswith("hydra.") or key == "hydra":
            return True
        if (
            text.startswith("+")
            or OmegaConf.select(base, key, default=_MISSING) is not _MISSING
            or _is_missing(base, key)
        ):
            return True
        if _takes_new_names(key) and OmegaConf.select(base, key.rpartition(".")[0]) is not None:
            self.problems.append(f"{key}: a name of your own is added with a + before it: +{key}=…")
        else:
            self.problems.append(f"{key}: no such setting{_close(key, _keys(base))}")
        return False

    def _misnamed(self, groups: Sequence[str], config: DictConfig) -> list[str]:
        """Hold each chosen option's ``name`` against its file's: outputs and tables go by it."""
        problems = []
        chosen = dict(choice.split("=", 1) for choice in groups)  # of two for one group the last holds
        for key, option in chosen.items():
            group, _, package = key.partition("@")
            said = OmegaConf.select(config, f"{package or group}.name", default=option)
            if said != option:
                problems.append(f"{key}={option}: {group}/{option}.yaml says name: {said}; it must say name: {option}")
        return problems

    def _validate(self, config: DictConfig) -> None:
        with self._gathered():
            settings = to_settings(config, self.search)
            if self.request.multirun and not settings.dry_run:
                self._check_job(settings)

    def _check_job(self, settings: Settings) -> None:
        """Check what a job needs; scenarios are looked at once for all jobs that take the same ones."""
        from ccfw.job import check_prerequisites, check_selection  # they bring in the stages: not for a help page
        from ccfw.stages.checked import check_knowledge, gather
        from ccfw.stages.checked_crisp import check_situated

        checks = (check_prerequisites, check_knowledge, check_situated)
        with self._gathered():
            gather(partial(each, settings) for each in checks)
        scope = settings.model_dump_json(include=_SCOPE)
        if scope not in self.scopes:
            self.scopes.add(scope)
            with self._gathered():
                check_selection(settings)

    @contextmanager
    def _gathered(self) -> Iterator[None]:
        try:
            yield
        except RequestError as error:
            self.problems.extend(error.problems)

    def _validate_rest(self, choices: list[tuple[list[str], bool]], first: Sequence[str]) -> None:
        """Validate the later choices of each sweep, one at a time; a job that pays nobody trusts those that ship."""
        own = self.request.config_dir
        stages = {value for values, _ in choices for value in values if value.startswith("stage=")}
        pays = "dry_run=true" not in self.request.overrides and not (stages and stages <= _UNPAID)
        for values, is_group in choices:
            for value in values[1:]:
                group, _, name = value.partition("=")
                if pays or not is_group or (own is not None and (own / group.split("@")[0] / f"{name}.yaml").is_file()):
                    config = self._composed([value if text == values[0] else text for text in first])
                    if config is not None:
                        self._validate(config)


def _unreadable(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*.yaml")):
        try:
            text = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            yield f"{path}: not readable as UTF-8 text: {error}"
        else:
            if fault := _boundless(text) or _mistagged(text):
                yield f"{path}: {fault}"


def _boundless(text: str) -> str | None:
    """Return why YAML would be too much to read, aliases written out; what is no YAML is said when it is composed."""
    deep = f"nested more than {_DEEPEST} levels deep, or contains itself"
    try:
        root = yaml.compose(text, yaml.SafeLoader)
    except RecursionError:
        return deep
    except yaml.YAMLError:
        return None
    level: dict[int, tuple[yaml.Node | None, int]] = {id(root): (root, 1)}
    total = 0
    for _ in range(_DEEPEST):
        total += sum(times for _, times in level.values())
        if total > _MOST:
            return f"stands for more than {_MOST:,} values, its aliases written out"
        below: dict[int, tuple[yaml.Node | None, int]] = {}
        for node, times in level.values():
            for part in _parts(node):
                below[id(part)] = (part, times + below.get(id(part), (part, 0))[1])
        level = below
    return deep if level else None


def _mistagged(text: str) -> str | None:
    """Return the complaint of a value that is not what its tag says; what is no YAML is said when it is composed."""
    try:
        yaml.safe_load(text)
    except (yaml.YAMLError, ValueError):
        return None
    except (AttributeError, LookupError, TypeError):  # PyYAML's own, over !!bool maybe
        return "a value is not of the kind that its tag says"
    return None


def _parts(node: yaml.Node | None) -> Iterator[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        yield from (part for pair in node.value for part in pair)
    elif isinstance(node, yaml.SequenceNode):
        yield from node.value


def _takes_new_names(key: str) -> bool:
    """Tell whether a key stands in a table whose names are the user's own, as the regions of a list."""
    node: Any = Settings
    for part in key.split(".")[:-1]:
        field = node.model_fields.get(part)
        kinds = (field.annotation, *get_args(field.annotation)) if field is not None else ()
        if any(get_origin(kind) is dict for kind in kinds):
            return True
        node = next((kind for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseModel)), None)
        if node is None:
            return False
    return False


def _is_missing(base: DictConfig, key: str) -> bool:
    return key in OmegaConf.missing_keys(base)


def _keys(config: DictConfig, prefix: str = "") -> list[str]:
    keys = []
    for name in config:
        path = f"{prefix}{name!s}"
        keys.append(path)
        child = config._get_node(name)
        if isinstance(child, DictConfig) and not child._is_none() and not child._is_missing():
            keys += _keys(child, f"{path}.")
    return keys


def _close(name: str, options: Sequence[str]) -> str:
    same = [option for option in options if sorted(option) == sorted(name)]  # a trio in another order
    close = same or difflib.get_close_matches(name, options, n=1, cutoff=0.6)
    return f" (did you mean {close[0]}?)" if close else ""


def _as_list(text: str) -> str:
    key, _, values = text.partition("=")
    return f"{key}=[{values}]"


def _listed(options: Sequence[str]) -> str:
    trios = [option for option in options if option.startswith("trio_")]
    others = [option for option in options if option not in trios]
    return ", ".join([*others, *([f"and {len(trios)} trios as {trios[0]}"] if trios else [])])
