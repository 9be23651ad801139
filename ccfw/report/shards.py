"""What the report on stage *shards* calls what it tells of. Pure."""

from __future__ import annotations

from ccfw.report.drafts import Words

WORDS = Words("Shards", "blueprints have shards", "scenario")
