"""What the user ran: variations, sweeps and comparisons, the newest first; a list beside the results, and the site's pages."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.common.writing import whole_file
from harness.configure import variations
from harness.pages import layout, paper_pages
from harness.pages.index import OWN_RUNS
from harness.pages.sources import Content, Sources, files_of

KINDS = {
    "variations": "Variations and runs of your own",
    "sweeps": "Sweeps",
    "compare": "Comparisons with the arena",
}
TITLE = "Your runs"


@dataclass(frozen=True)
class Run:
    """A folder of results of the user's own: `differs` are pairs (setting, (as configured or "", here)); `made` is in UTC;
    `said` is the first sentence of a comparison."""

    kind: str
    name: str
    title: str
    page: str  # below the folder of results
    picture: Path | None
    of: str
    differs: tuple[tuple[str, tuple[str, str]], ...]
    made: str
    said: str


def found(folder: Path) -> list[Run]:
    """All of a folder of results, the newest first."""
    pages = [(path.stat().st_mtime, kind, path) for kind in KINDS for path in _pages(folder / kind)]
    return [
        _run(folder, kind, path, when)
        for when, kind, path in sorted(pages, key=lambda one: (-one[0], one[2].name))
    ]


def _pages(folder: Path) -> Iterator[Path]:
    """The page of every run: what was moved aside keeps the name it had, before a ~."""
    for one in sorted(folder.glob("*/")):
        path = one / f"{one.name.split('~')[0]}.html"
        if path.is_file():
            yield path


def _run(folder: Path, kind: str, path: Path, when: float) -> Run:
    held = variations.kept(path.parent, path.stem) or {}
    swept = [(name, ("", ", ".join(values))) for name, values in (held.get("swept") or {}).items()]
    picture = path.with_suffix(".png")
    of = (
        {"compare": "all of the arena"}.get(kind)
        or held.get("experiment")
        or "no experiment: a run of its own"
    )
    made = datetime.datetime.fromtimestamp(when, datetime.UTC).strftime("%Y-%m-%d %H:%M UTC")
    return Run(
        kind, path.parent.name, held.get("title") or path.stem, path.relative_to(folder).as_posix(),
        picture if picture.is_file() else None, of,
        (*swept, *_changed(held.get("differs") or {})), made, _said(path) if kind == "compare" else "",
    )  # fmt: skip


def _changed(differs: dict[str, list[Any]]) -> list[tuple[str, tuple[str, str]]]:
    """What differs, problems and estimators that are left out or added in one line each.

    Examples
    --------
    >>> _changed({"reps": [20, 5], "problem.a": [{"x": 1}, None], "problem.b": [{"x": 2}, None]})
    [('reps', ('20', '5')), ('left out', ('', 'problem.a, problem.b'))]
    """
    whole = {
        name: pair
        for name, pair in differs.items()
        if name.startswith(("problem.", "estimator.")) and None in pair
    }
    found = [
        (name, (variations.brief(was), variations.brief(now)))
        for name, (was, now) in differs.items()
        if name not in whole
    ]
    for words, place in (("left out", 1), ("added", 0)):
        names = [name for name, pair in whole.items() if pair[place] is None]
        found += [(words, ("", variations.brief(", ".join(names), 160)))] if names else []
    return found


def _said(page: Path) -> str:
    """The first sentence that a comparison gives for quoting."""
    try:
        return page.with_suffix(".txt").read_text(encoding="utf-8").split("\n\n")[0].strip()
    except OSError:
        return ""


def save(folder: Path) -> Path:
    """Write <folder>/own_runs.html, the list without the site: after every run, in milliseconds."""
    runs = found(folder)
    pictures = {
        run.page: (run.picture.relative_to(folder).as_posix(), 0, 0) for run in runs if run.picture
    }
    path = folder / OWN_RUNS
    path.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(path) as temporary:
        temporary.write_text(_page(runs, pictures, OWN_RUNS, "", alone=True), encoding="utf-8")
    return path


def pages(root: Sources) -> Iterator[tuple[str, Content]]:
    """runs.html, its thumbnails, and copies of the pages."""
    runs = found(root.root)
    pictures = {}
    for run in runs:
        path = f"runs/{run.kind}_{run.name}.png"
        made, content = paper_pages.thumbnail(run.picture, path, root.out)
        if made is not None:
            pictures[run.page] = made
            yield path, content
    yield "runs.html", _page(runs, pictures, "runs.html", "results/", alone=False)
    for run in runs:
        yield from files_of(root.root / run.kind / run.name, f"results/{run.kind}/{run.name}")


def _page(
    runs: list[Run], pictures: dict[str, tuple[str, int, int]], path: str, base: str, alone: bool
) -> str:
    body = layout.render(
        "runs.html.j2", path, runs=runs, pictures=pictures, kinds=KINDS, base=base, alone=alone
    )
    says = "Variations, sweeps and comparisons that were run here, with what differs in each."
    return layout.page(TITLE, body, path, description=says, alone=alone)
