"""The site's page on the arena, which links to the arena's page and its leaderboard."""

from __future__ import annotations

from typing import Any

from harness.evaluation import arena
from harness.pages.arena import data as arena_data
from harness.pages.sources import Files, Sources
from harness.pages.templating import page


def pages(sources: Sources) -> Files:
    """Yield arena/index.html."""
    results = arena_data.read()
    values: dict[str, Any] = {"results": results, "arena": arena_page(sources)}
    if results:
        values |= {
            "estimators": arena.count_estimators(results.settings["estimator"]),
            "problems": results.settings["problem"].nunique(),
            "sizes": sorted(int(n) for n in results.settings["n"].unique()),
        }
    path = "arena/index.html"
    description = "Estimators of calibration error on problems with known truth."
    yield path, page("arena_overview.html.j2", path, "The arena", description=description, **values)


def arena_page(sources: Sources) -> str | None:
    """Return the link from the root of the site to the page of the arena, or None if not drawn.

    The page is that of `calharness results arena_index`. It says which estimator to use, and has
    the leaderboard, bounds, intervals, tests and pairs of models.
    """
    path = "arena/index.html"
    return f"{sources.results}{path}" if (sources.root / path).is_file() else None
