"""Pages of the user's own runs: papers, variations, sweeps and comparisons, the newest first."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.common.writing import whole_file, write_json
from harness.configure import variations
from harness.configure.identity import Identity
from harness.configure.settings import RESERVED
from harness.pages.index import OWN_RUNS
from harness.pages.sources import Files, Sources
from harness.pages.templating import page

KINDS = {
    "papers": "Papers and studies of your own",
    "variations": "Variations and runs of your own",
    "sweeps": "Sweeps",
    "compare": "Comparisons with the arena",
}
Difference = tuple[str, tuple[str, str]]  # (setting, (configured value or "", value in the run))


@dataclass(frozen=True)
class Run:
    """Results of a run of the user.

    Parameters
    ----------
    kind, name, title : str
        Key of KINDS, name of the folder, and title.
    page, picture : str
        Paths below the folder of results. `picture` is "" if there is none.
    experiment : str
        Id of the experiment on which the run is based.
    differs : tuple
        (setting, (configured value or "", value in this run)) for each setting that differs.
    time : str
        Time at which the page was last written, in UTC.
    quote : str
        First sentence of the results, for a comparison.
    """

    kind: str
    name: str
    title: str
    page: str
    picture: str
    experiment: str
    differs: tuple[Difference, ...]
    time: str
    quote: str


def runs(folder: Path) -> list[Run]:
    """Return all runs of the user in a folder of results, the newest first."""
    paths = [
        # The folder of older results has a suffix that begins with ~; the page has not.
        (kind, path / f"{path.name.split('~')[0]}.html")
        for kind in KINDS
        for path in (folder / kind).glob("*/")
    ]
    paths += [("papers", path) for path in _pages_of_papers(folder)]
    pages = [
        (-path.stat().st_mtime, path.name, kind, path) for kind, path in paths if path.is_file()
    ]
    return [_run(folder, kind, path, -age) for age, _, kind, path in sorted(pages)]


def describe_item(identity: Identity) -> None:
    """Write <stem>.json next to the page of an item of the user's own paper."""
    settings = identity.settings
    content = {"paper": settings.paper, "experiment": settings.experiment, "title": identity.title}
    write_json(identity.page.with_suffix(".json"), content)


def _pages_of_papers(folder: Path) -> Iterator[Path]:
    """Yield the pages of items of the user's own papers."""
    for path in folder.glob("*/*.json"):
        if path.parent.name not in (*RESERVED, *KINDS):
            stored = variations.read_description(path.parent, path.stem) or {}
            if stored.get("paper") == path.parent.name:
                yield path.with_suffix(".html")


def _run(folder: Path, kind: str, path: Path, seconds: float) -> Run:
    stored = variations.read_description(path.parent, path.stem) or {}
    swept = [
        (name, ("", ", ".join(values))) for name, values in (stored.get("swept") or {}).items()
    ]
    picture, sentences = path.with_suffix(".png"), path.with_suffix(".txt")
    experiment = stored.get("experiment") or "no experiment"
    quote = ""
    if kind == "compare":
        experiment = "the arena"
        if sentences.is_file():
            quote = sentences.read_text(encoding="utf-8").split("\n\n")[0].strip()
    time = datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    return Run(
        kind, path.parent.name, stored.get("title") or path.stem,
        path.relative_to(folder).as_posix(),
        picture.relative_to(folder).as_posix() if picture.is_file() else "",
        experiment, (*swept, *_differences(stored.get("differs") or {})), time, quote,
    )  # fmt: skip


def _differences(differs: dict[str, list[Any]]) -> Iterator[Difference]:
    """Yield the settings that differ from the configured experiment.

    Problems that are left out or added share one line, and so do estimators.

    Examples
    --------
    >>> configured = {"problem.a": [{"x": 1}, None], "problem.b": [{"x": 2}, None]}
    >>> list(_differences({"reps": [20, 5], **configured}))
    [('reps', ('20', '5')), ('left out', ('', 'problem.a, problem.b'))]
    """
    chosen: dict[str, list[str]] = {"left out": [], "added": []}
    for name, (configured, here) in differs.items():
        if name.startswith(("problem.", "estimator.")) and None in (configured, here):
            chosen["left out" if here is None else "added"].append(name)
        else:
            yield name, (variations.shorten(configured), variations.shorten(here))
    for words, names in chosen.items():
        if names:
            yield words, ("", variations.shorten(", ".join(names), 160))


def save(folder: Path) -> Path:
    """Write <folder>/own_runs.html, the list of runs as a page outside of the site.

    Every run calls this function, so that the list is up to date.
    """
    path = folder / OWN_RUNS
    with whole_file(path) as temporary:
        temporary.write_text(_page(runs(folder), OWN_RUNS, "", alone=True), encoding="utf-8")
    return path


def pages(sources: Sources) -> Files:
    """Yield runs.html."""
    yield "runs.html", _page(runs(sources.root), "runs.html", sources.results, alone=False)


def _page(every: list[Run], path: str, base: str, alone: bool) -> str:
    description = "Your papers, variations, sweeps and comparisons, with the settings that differ."
    values: dict[str, Any] = {"runs": every, "kinds": KINDS, "base": base, "alone": alone}
    return page("runs.html.j2", path, "Your runs", description=description, **values)
