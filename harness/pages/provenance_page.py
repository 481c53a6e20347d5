"""Page on the origin of the numbers (versions, stored records, data), and page of the docs."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.common.paths import CHECKOUT
from harness.errors import BadInputError
from harness.pages import index
from harness.pages.sources import Files, Sources
from harness.pages.templating import page
from harness.records import provenance, tables
from harness.sources import packs

DOCS = "docs/index.html"
UNBUILT = "calharness: the documentation is not built"  # comment inside the placeholder page


def pages(sources: Sources) -> Files:
    """Yield provenance.html, and a placeholder docs/index.html if no documentation is built."""
    about = provenance.surroundings()
    yield "provenance.html", page(
        "provenance.html.j2", "provenance.html", "Provenance", tables=True,
        description="Versions, stored records, available data, and how numbers are counted.",
        about=about, versions=_versions(about), stored=list(_stored(sources.root)),
        packs=packs.packs().values(), runs=len(list((sources.root / "runs").glob("*.json"))),
        built=datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        checkout=CHECKOUT is not None, **index.MEANINGS,
    )  # fmt: skip
    path = sources.out / DOCS
    if not path.is_file() or UNBUILT in path.read_text(encoding="utf-8"):
        readme = (CHECKOUT / "README.md").read_text(encoding="utf-8") if CHECKOUT else None
        values: dict[str, Any] = {"unbuilt": UNBUILT, "readme": readme}
        description = "How to build the documentation."
        yield DOCS, page("docs.html.j2", DOCS, "Documentation", description=description, **values)


def _versions(about: dict[str, Any]) -> list[tuple[str, str]]:
    """Return (name, version) of Python, the machine, the commit and the packages."""
    commit = about["git"].get("commit")
    changed = " with changes" if about["git"].get("dirty") else ""
    versions = {
        "Python": about["python"], "platform": about["platform"], "processor": about["processor"],
        "cores": about["cores"], "commit": f"{commit}{changed}" if commit else None,
        **about["versions"],
    }  # fmt: skip
    return [(name, str(value)) for name, value in versions.items() if value is not None]


def _stored(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield a description of every file of stored records: cells, runs, last day, commits, size."""
    for place in (tables.FOLDER, "baseline"):
        for path in sorted((folder / place).glob("*.parquet")):
            try:
                metadata = tables.metadata(path)
            except BadInputError:  # not a file of stored records
                continue
            runs = metadata.get("runs") or {}
            commits = {run.get("git", {}).get("commit", "")[:8] for run in runs.values()} - {""}
            yield {
                "experiment": path.stem, "folder": place, "cells": int(metadata["cells"]),
                "runs": len(runs), "day": _day(max(runs, default="")),
                "commits": ", ".join(sorted(commits)), "version": metadata.get("version", ""),
                "kb": round(path.stat().st_size / 1000),
            }  # fmt: skip


def _day(run_id: str) -> str:
    """Return the day of a run id: '2026-11-22' for 20261122T104337-5dd30bc4."""
    return f"{run_id[:4]}-{run_id[4:6]}-{run_id[6:8]}" if run_id[:8].isdigit() else ""
