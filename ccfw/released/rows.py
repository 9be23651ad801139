"""A row of the published dataset → a scenario of ours. Pure.

The paper prints three kinds of record: a blueprint in sections (Figure 14, Appendix G.2.1), its shards under
``Simulation_Script`` (Figure 15, Appendix G.3.1), and what a transcript adds (Figure 16), which is no scenario. A row
may hold a blueprint, its shards, or both; the sections may stand in the row or in its ``Blueprint``, and the fields of
``Meta_Data`` in the row too. Our own records differ from the paper's in few names, and are read as well.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ccfw.authoring.blueprints import NOTE
from ccfw.records import Scenario
from ccfw.released.shaping import an_object, opened, present, shaped

_SECTIONS = ("Scenario_Instantiation", "Public_Context", "User_Private_Context", "Evaluator_Oracle_Context")
_SEED = ("Seed_ID", "Template_ID", "Split", "Persona", "Challenge_Config")
_PLACE = ("Template_ID", "Domain", "Subdomain")
_META = (*_SEED, "Domain", "Subdomain", "Multi_Hop_Chain", "Validation")
"""What ``Meta_Data`` holds that a scenario is made of; a row may have it without that section."""
_SHARDS = ("Simulation_Script", "Interaction_Sequence")
_KNOWN = {*_SECTIONS, *_META, *_SHARDS, "Blueprint", "Meta_Data", "Linguistic_Instruction"}
MARKS = frozenset({"Blueprint", *_SECTIONS, *_SHARDS})
"""A row without any of these is of another kind: a seed, a template, a transcript."""
NOT_GIVEN = "Not given."
_VARIETY = re.compile(r"\(([^()]+)\)\s*$")
_SPELLED = (
    ("Blueprint.Scenario_Instantiation.Parent_Template.Domain", "Meta_Data.Domain"),
    ("Blueprint.Scenario_Instantiation.Parent_Template.Subdomain", "Meta_Data.Subdomain"),
    ("Blueprint.Seed.", "Meta_Data."),
    ("Blueprint.Multi_Hop_Chain", "Meta_Data.Multi_Hop_Chain"),
    ("Blueprint.Validation", "Meta_Data.Validation"),
    ("Blueprint.", ""),
    ("Interaction_Sequence", "Simulation_Script.Interaction_Sequence"),
)
"""Our names and where the paper has them."""


class Halves(NamedTuple):
    """What a row holds of a scenario, and where it stands; either half may be in another row."""

    seed_id: str
    blueprint: dict[str, Any] | None
    shards: Any
    """The list of shards as the row has it; ``None``: there is none."""


@dataclass(frozen=True)
class Told:
    """What was said of fields, and how often: those left out, and those that others stand in for."""

    unused: Counter[str] = field(default_factory=Counter)
    filled: Counter[str] = field(default_factory=Counter)


class RowError(ValueError):
    """What keeps a row from being read as any of its kinds."""


def halves(row: Any) -> Halves | None:
    """Return what a row holds of a scenario, or ``None`` if it is of another kind.

    Raises ``RowError`` with what keeps the row from being either.
    """
    if not isinstance(row, Mapping):
        raise RowError("not an object with fields")
    said = present(row)
    if not MARKS & said.keys():
        return None
    shards = opened(said.get("Simulation_Script", said.get("Interaction_Sequence")))
    if isinstance(shards, Mapping):
        shards = opened(shards.get("Interaction_Sequence"))
    blueprint = an_object(said["Blueprint"]) if "Blueprint" in said else said if said.keys() & {*_SECTIONS} else None
    names = [_seed_id(each) for each in (said, blueprint or {})]
    found = list(dict.fromkeys(name for name in names if name is not None))
    if len(found) > 1:
        raise RowError(f"Seed_ID: {found[0]} and {found[1]} in one row")
    if not found:
        raise RowError("Seed_ID: Field required")
    outside = {key: each for key, each in said.items() if key not in (*_SHARDS, "Blueprint", "Secondary_Subdomains")}
    return Halves(found[0], None if blueprint is None else outside | blueprint, shards)


def _seed_id(content: Mapping[str, Any]) -> str | None:
    places = (content, *(an_object(content.get(name)) for name in ("Meta_Data", "Seed")))
    found = dict.fromkeys(str(each["Seed_ID"]).strip() for each in places if each.get("Seed_ID"))
    if len(found) > 1:
        raise RowError(f"Seed_ID: {' and '.join(list(found)[:2])} in one row")
    return next(iter(found), None)


def scenario(
    blueprint: Mapping[str, Any], shards: Any, split: str | None, languages: Mapping[tuple[str, str], str], told: Told
) -> Scenario:
    """Return the scenario of a blueprint and its shards; raise ``ValidationError`` for what is none.

    ``split`` is that of the file, for a record that names none; ``languages`` are known by region and identity.
    """
    unused = Counter[str]()
    content = {"Blueprint": _nested(blueprint, unused), "Interaction_Sequence": _sequence(shards)}
    raw = shaped(present(content), Scenario, "", unused)
    told.unused.update({spelled(name): count for name, count in unused.items()})
    _order(_part(_part(raw, "Blueprint"), "Scenario_Instantiation"))
    _fill(raw, split, languages, told.filled)
    return Scenario.model_validate(raw)


def spelled(name: str) -> str:
    """Return the paper's path of a field of ours."""
    for ours, theirs in _SPELLED:
        if name.startswith(ours):
            return theirs + name[len(ours) :]
    return name


def _nested(held: Mapping[str, Any], unused: Counter[str]) -> dict[str, Any]:
    """Return a blueprint in our nesting: the seed apart, and the template with the names of its domain."""
    seed, meta = an_object(held.get("Seed")), an_object(held.get("Meta_Data"))
    unused.update(key for key in held if key not in _KNOWN and key != "Seed")
    unused.update(f"Meta_Data.{key}" for key in meta if key not in (*_META, "Seed_ID"))
    meta = {key: held[key] for key in _META if key in held} | meta
    made = an_object(held.get("Scenario_Instantiation"))
    parent = {key: meta[key] for key in _PLACE if key in meta} | an_object(made.get("Parent_Template"))
    made["Parent_Template"] = {"Slot_Definitions": {}} | parent
    return {
        **{key: held[key] for key in (*_SECTIONS, "Linguistic_Instruction") if key in held},
        "Seed": {key: meta[key] for key in _SEED if key in meta} | seed,
        "Scenario_Instantiation": made if "Scenario_Instantiation" in held else None,
        "Multi_Hop_Chain": meta.get("Multi_Hop_Chain"),
        "Validation": _validation(meta.get("Validation")),
    }


def _validation(value: Any) -> dict[str, Any]:
    found = an_object(value)
    flags = an_object(found.pop("Flags", None))
    return {"Issues": [], "Validators": [name for name, passed in flags.items() if passed is True]} | found


def _sequence(shards: Any) -> Any:
    if not isinstance(shards, list):
        return shards
    return [_renamed(found) if (found := an_object(each)) else each for each in shards]


def _renamed(shard: dict[str, Any]) -> dict[str, Any]:
    """Spell a shard's transitions as Figure 15 does; Appendix G.3.1 calls them ``Transition_Logic``."""
    logic = shard.pop("Transition_Logic", None)
    return shard if logic is None else {"Transition_Guide": logic} | shard


def _order(made: Mapping[str, Any]) -> None:
    """Put slots into the order of the template's text: a Parquet file has one order for the slots of all its rows."""
    parent = _part(made, "Parent_Template")
    text = str(parent.get("template_text", ""))
    for part, key in ((made, "Slot_Filling"), (parent, "Slot_Definitions")):
        slots = _part(part, key)
        for name in sorted(slots, key=lambda name: (text.find(name) % (len(text) + 1), name)):
            slots[name] = slots.pop(name)


def _fill(raw: Any, split: str | None, languages: Mapping[tuple[str, str], str], filled: Counter[str]) -> None:
    """Let other fields stand in for those of ours that a record lacks, and count it."""
    fill = _Filler(filled)
    blueprint = _part(raw, "Blueprint")
    told = _part(blueprint, "Linguistic_Instruction", make=True)
    _fill_seed(_part(blueprint, "Seed"), told, split, languages, fill)
    _fill_contexts(blueprint, fill)
    _fill_instruction(told, _part(_part(blueprint, "Seed"), "Persona").get("Native_Language"), fill)
    shards = raw.get("Interaction_Sequence")
    for shard in shards if isinstance(shards, list) else []:
        _fill_directive(_part(shard, "User_Instruction"), told, fill)


@dataclass(frozen=True)
class _Filler:
    filled: Counter[str]

    def __call__(self, part: dict[str, Any], key: str, value: Any, name: str) -> None:
        if key not in part and value is not None:
            part[key] = value
            self.filled[name] += 1


def _fill_seed(
    seed: dict[str, Any],
    told: Mapping[str, Any],
    split: str | None,
    languages: Mapping[tuple[str, str], str],
    fill: _Filler,
) -> None:
    persona = _part(seed, "Persona")
    _part(seed, "Challenge_Config").setdefault("Secondary_Region", None)
    fill(seed, "Split", split, "Meta_Data.Split (the file's name)")
    known = languages.get((str(persona.get("Region")), str(persona.get("Identity"))))
    language = known or _in_brackets(an_object(told.get("Native_Language")).get("Variety"))
    fill(persona, "Native_Language", language, "Meta_Data.Persona.Native_Language (that of the identity)")


def _fill_contexts(blueprint: dict[str, Any], fill: _Filler) -> None:
    made, public = _part(blueprint, "Scenario_Instantiation"), _part(blueprint, "Public_Context")
    private, oracle = _part(blueprint, "User_Private_Context"), _part(blueprint, "Evaluator_Oracle_Context")
    fill(private, "Background", public.get("User_Goal"), "User_Private_Context.Background (User_Goal)")
    chain = blueprint.get("Multi_Hop_Chain")
    hops = "; ".join(map(str, chain)) if isinstance(chain, list) else None
    fill(oracle, "Cultural_Context", hops, "Evaluator_Oracle_Context.Cultural_Context (Multi_Hop_Chain)")
    for key in ("Fairness_Justification", "Challenge_Rationale"):
        fill(oracle, key, NOT_GIVEN, f"Evaluator_Oracle_Context.{key} ({NOT_GIVEN})")
    oracle.setdefault("Safety_Tripwires", [])
    fill(_part(blueprint, "Validation"), "Verdict", "PASS", "Meta_Data.Validation.Verdict (PASS)")
    for part, key in ((made, "Instantiated_Summary"), (public, "Initial_User_Message")):
        if isinstance(part.get(key), str):
            part[key] = {"Global_English": part[key]}
        both = _part(part, key)
        fill(both, "Native_Language", both.get("Global_English"), f"{key}.Native_Language (Global_English)")


def _fill_instruction(told: dict[str, Any], language: str | None, fill: _Filler) -> None:
    plain = {"Global_English": "Clean international English.", "Native_Language": f"{language}, in its own script."}
    for key, text in plain.items():
        if key in told:
            told[key] = _told(told[key])
        fill(told, key, text, f"Linguistic_Instruction.{key} ({text if key == 'Global_English' else 'its name'})")
    fill(told, "Note", NOTE, "Linguistic_Instruction.Note (ours)")


def _fill_directive(user: dict[str, Any], told: Mapping[str, Any], fill: _Filler) -> None:
    directive = _part(user, "Linguistic_Directive", make=bool(user))
    where = "Simulation_Script.Interaction_Sequence.User_Instruction.Linguistic_Directive"
    for key in ("Global_English", "Native_Language"):
        if key in directive:
            directive[key] = _told(directive[key])
        fill(directive, key, told.get(key), f"{where}.{key} (Linguistic_Instruction)")


def _told(value: Any) -> Any:
    """Return an instruction in one text, where the paper has several fields for it."""
    found = an_object(value)
    return "; ".join(each for each in found.values() if isinstance(each, str)) if found else value


def _in_brackets(variety: Any) -> str | None:
    """Return the language that a variety names: ``Full_Native_Script (Thai)`` (Appendix G.2.1)."""
    found = _VARIETY.search(variety) if isinstance(variety, str) else None
    return found[1].strip() if found else None


def _part(content: Any, key: str, *, make: bool = False) -> dict[str, Any]:
    """Return an object within an object, to change it; where there is none, one that nobody keeps unless asked to."""
    if not isinstance(content, dict):
        return {}
    if make and key not in content:
        content[key] = {}
    found = content.get(key)
    return found if isinstance(found, dict) else {}
