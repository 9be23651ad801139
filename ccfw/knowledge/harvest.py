"""One page of a dump → the passages that it gives, or the reason why it gives none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from ccfw.knowledge import terms, wikitext
from ccfw.knowledge.export import Page, Site
from ccfw.knowledge.records import Passage
from ccfw.knowledge.regions import Classifier, Lists, Place, Rules
from ccfw.knowledge.rendering import Markup, Names
from ccfw.knowledge.splitting import Size, passages
from ccfw.knowledge.wikitext import Article, Section
from ccfw.records import Region

TOO_SHORT, NO_TOPIC = "too short", "no topic"
_UNDER = " › "


@dataclass(frozen=True)
class Recipe:
    """How passages are made, whatever the dump."""

    rules: Rules
    markup: Markup
    lists: Lists
    size: Size
    least: float
    """Share of a full passage below which a section is left out; a lead never is."""
    need_topic: bool
    """Whether a passage must have a tag, by its article or by its section's heading."""
    licence: str


@dataclass(frozen=True)
class Tools:
    """A recipe made ready for one wiki."""

    recipe: Recipe
    site: Site
    classifier: Classifier
    names: Names

    @classmethod
    def of(cls, recipe: Recipe, site: Site) -> Tools:
        """Compile the rules for a wiki's language."""
        classifier = Classifier(recipe.rules, site.language, recipe.lists)
        return cls(recipe, site, classifier, recipe.markup.names(site.language, site.namespaces))


@dataclass
class Harvest:
    """What came of a page."""

    dropped: str | None = None
    """Why the page gives nothing."""
    passages: list[Passage] = field(default_factory=list)
    """Their niche terms are candidates yet: how rare they are, the whole corpus says."""
    lost: Counter[str] = field(default_factory=Counter)
    """Passages left out, by reason."""
    repaired: bool = False
    """Whether markup was broken or boundless, and was taken out."""


def harvest(page: Page, tools: Tools) -> Harvest:
    """Return the passages of an article that belongs to a region and is no hub."""
    if page.malformed:
        return Harvest("malformed")
    if page.redirect is not None:
        return Harvest("redirect")
    if page.namespace != 0:
        return Harvest("namespace")
    if not page.text.strip():
        return Harvest("empty")
    categories = wikitext.categories(page.text, tools.names)
    place = tools.classifier.place(page.title, categories)
    if not place.regions:
        return Harvest("no region")
    kind = tools.classifier.hub(page.title, categories, wikitext.templates(page.text))
    if kind is not None:
        return Harvest(f"hub: {kind}")
    return _of_article(page, place, tools)


def _of_article(page: Page, place: Place, tools: Tools) -> Harvest:
    article = wikitext.read_article(page.text, tools.names, tools.recipe.markup, tools.site.language)
    result = Harvest(repaired=bool(article.repairs) or page.cut)
    for number, (section, text) in enumerate(_pieces(article, tools.recipe, result.lost)):
        tags = tuple(dict.fromkeys((*place.tags, *tools.classifier.tags(section.path))))
        if tools.recipe.need_topic and not tags:
            result.lost[NO_TOPIC] += 1
            continue
        found = terms.candidates(text, section.marked, section.links)
        result.passages += [
            Passage(
                passage_id=f"{tools.site.name}_{page.id}_{number}_{region}",
                region=region,
                title=_UNDER.join((page.title, *section.path)),
                tags=tags,
                identities=_identities(tools, place, region, section),
                niche_terms=found,
                text=text,
                check=None,
                source=f"{tools.site.name}:{page.title}",
                revision=page.revision or None,
                licence=tools.recipe.licence,
                language=tools.site.language,
            )
            for region in place.regions
        ]
    if not result.passages:
        result.dropped = NO_TOPIC if result.lost[NO_TOPIC] else "no prose"
    return result


def _identities(tools: Tools, place: Place, region: Region, section: Section) -> tuple[str, ...]:
    of_section = tools.classifier.identities(region, section.path)
    return tuple(dict.fromkeys((*place.identities[region], *of_section)))


def _pieces(article: Article, recipe: Recipe, lost: Counter[str]) -> Iterator[tuple[Section, str]]:
    """Yield the texts of passages in order; what is too short is counted and left out, unless it is the lead."""
    for section in article.sections:
        if section.path and recipe.size.of(section.text) < recipe.least:
            lost[TOO_SHORT] += 1
            continue
        for text in passages(section.text, recipe.size):
            yield section, text
