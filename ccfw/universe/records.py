"""The universe that scenarios come from: regions, identities, personas, domains and templates (sections 3.2 and 3.3).

``source`` says of a name whether the paper prints it or it is ours.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from ccfw.records import PaperRecord, Persona, Record, Region, Template, Text, Tier

Source = Literal["paper", "ccfw"]
Script = Literal["Hans", "Jpan", "Kore", "Thai", "Latn", "Taml", "Tibt", "Arab"]


class Term(Record):
    """A word for a relative, as used in the community."""

    term: Text
    native: Text | None
    meaning: Text


class Honorific(Record):
    """A word of address."""

    term: Text
    native: Text | None
    use: Text


class Identity(Record):
    """A community within a region: membership, not strictness."""

    code: Annotated[str, Field(pattern=r"^[A-Z][A-Za-z]+(_[A-Za-z]+)*$")]
    source: Source
    label: Text
    native_language: Text
    script: Script
    description: Text
    shared: tuple[Text, ...]
    """What membership makes likely, so that an assistant may infer it."""
    not_implied: tuple[Text, ...]
    """What it does not imply."""
    kinship: tuple[Term, ...]
    honorifics: tuple[Honorific, ...]
    speech: Text


class RegionIdentities(Record):
    """The identities of a region."""

    region: Region
    name: Text
    identities: Annotated[tuple[Identity, ...], Field(min_length=1)]


class Neighbour(Record):
    """How a region stands in a cross-cultural scenario."""

    name: Text
    secondary: Annotated[tuple[Region, ...], Field(min_length=1)]
    """Regions that its people meet in travel, work, family or trade."""


class Personas(Record):
    """What crosses with the identities."""

    ages: tuple[Text, ...]
    genders: tuple[Literal["Female", "Male"], ...]
    regions: dict[Region, Neighbour]


class CultureWords(Record):
    """Words of one place or faith, in lower case, parted by blanks."""

    faiths: str
    places: str
    things: str

    @property
    def all(self) -> frozenset[str]:
        """Every one of them."""
        return frozenset(f"{self.faiths} {self.places} {self.things}".split())


class Subdomain(Record):
    """One of a domain's six fields of life."""

    code: Annotated[str, Field(pattern=r"^[A-Z]{4}$")]
    name: Text
    source: Source
    description: Text


class Domain(Record):
    """One of the seven domains."""

    code: Annotated[str, Field(pattern=r"^[A-Z]{3}$")]
    name: Text
    source: Source
    subdomains: tuple[Subdomain, ...]


class Domains(Record):
    """The seven domains."""

    domains: tuple[Domain, ...]


class Compatibility(PaperRecord):
    """Which traps a template can carry."""

    trap_compatible: bool = Field(alias="trap_compatible")
    applicable_trap_types: tuple[Tier, ...] = Field(alias="applicable_trap_types")


class LibraryTemplate(PaperRecord):
    """A template with what the generator is told of it (Appendix E.1)."""

    template_id: Annotated[str, Field(pattern=r"^TPL_[A-Z]{3}_[A-Z]{4}_\d{2}$")]
    template_text: Text = Field(alias="template_text")
    slot_definitions: Annotated[dict[str, Text], Field(min_length=1)]
    potential_cultural_dimensions: Annotated[tuple[Text, ...], Field(min_length=1)]
    multi_hop_potential: Text
    challenge_compatibility: Compatibility
    applicable_regions: Annotated[tuple[Region, ...], Field(min_length=1)]

    @property
    def domain_code(self) -> str:
        """The domain's three letters."""
        return self.template_id.split("_")[1]

    @property
    def subdomain_code(self) -> str:
        """The subdomain's four letters."""
        return self.template_id.split("_")[2]

    def admits(self, tier: Tier) -> bool:
        """Return whether the template can carry a challenge of a tier."""
        if tier is Tier.STANDARD:
            return True
        compatibility = self.challenge_compatibility
        return compatibility.trap_compatible and tier in compatibility.applicable_trap_types


class Universe(Record):
    """Everything that seeds are made of, in a fixed order."""

    regions: tuple[RegionIdentities, ...]
    domains: tuple[Domain, ...]
    personas: tuple[Persona, ...]
    templates: tuple[LibraryTemplate, ...]
    secondary: dict[Region, tuple[Region, ...]]
    culture_words: frozenset[str]
    """Words that no template may hold."""

    def identity(self, region: Region, code: str) -> Identity:
        """Return an identity; raise ``KeyError`` when there is none of that name."""
        for each in self.regions:
            if each.region is region:
                found = [identity for identity in each.identities if identity.code == code]
                if found:
                    return found[0]
        raise KeyError(f"no identity {code} in {region}")

    def template(self, template: LibraryTemplate) -> Template:
        """Return a template as a scenario carries it: with the names of its domain and subdomain."""
        domain = next(each for each in self.domains if each.code == template.domain_code)
        subdomain = next(each for each in domain.subdomains if each.code == template.subdomain_code)
        return Template(
            template_id=template.template_id,
            domain=domain.name,
            subdomain=subdomain.name,
            template_text=template.template_text,
            slot_definitions={f"{{{name}}}": text for name, text in template.slot_definitions.items()},
        )
