"""What the report on stage *blueprints* calls what it tells of. Pure."""

from __future__ import annotations

from ccfw.report.drafts import Words

WORDS = Words("Blueprints", "seeds have a blueprint", "blueprint")
