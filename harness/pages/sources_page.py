"""Where the numbers come from: versions, stored records, data at hand, how numbers are counted; and the documentation."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.common.paths import CHECKOUT
from harness.errors import BadInputError
from harness.evaluation import papers, reproduction
from harness.pages import layout
from harness.pages.sources import Sources
from harness.records import provenance, stored
from harness.sources import packs

DOCS = "docs/index.html"
UNBUILT = (
    "calharness: the documentation is not built"  # stands in the page that is there instead of it
)


def pages(root: Sources) -> Iterator[tuple[str, str]]:
    """provenance.html, and a page in place of the documentation where it is not built."""
    about = provenance.surroundings()
    body = layout.render(
        "provenance.html.j2", "provenance.html", about=about, versions=_versions(about), stored=list(_stored(root.root)),
        packs=list(_packs()), runs=len(list((root.root / "runs").glob("*.json"))), sources=reproduction.SOURCES,
        verdicts=reproduction.VERDICTS, how=papers.HOW,
        built=datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"), checkout=CHECKOUT is not None,
    )  # fmt: skip
    says = "Versions, stored records, data at hand, and how numbers are counted."
    yield (
        "provenance.html",
        layout.page("Provenance", body, "provenance.html", description=says, tables=True),
    )
    there = root.out / DOCS
    if not there.is_file() or UNBUILT in there.read_text(encoding="utf-8"):
        text = (CHECKOUT / "README.md").read_text(encoding="utf-8") if CHECKOUT else None
        said = layout.render("docs.html.j2", DOCS, unbuilt=UNBUILT, readme=text)
        yield (
            DOCS,
            layout.page("Documentation", said, DOCS, description="Where the documentation is."),
        )


def _versions(about: dict[str, Any]) -> list[tuple[str, str]]:
    known = {
        "Python": about["python"],
        "platform": about["platform"],
        "processor": about["processor"],
        "cores": about["cores"],
    }
    commit = about["git"].get("commit")
    if commit:
        known["commit"] = commit + (" with changes" if about["git"].get("dirty") else "")
    return [
        (name, str(value))
        for name, value in (*known.items(), *about["versions"].items())
        if value is not None
    ]


def _stored(folder: Path) -> Iterator[dict[str, Any]]:
    """Of every file of stored records: experiment, folder, cells, runs, the day of the last of them, commits, version, kB."""
    for where in (stored.FOLDER, "baseline"):
        for path in sorted((folder / where).glob("*.parquet")):
            try:
                told = stored.metadata(path)
            except BadInputError:  # put there by others
                continue
            runs = told.get("runs") or {}
            commits = {one.get("git", {}).get("commit", "")[:8] for one in runs.values()} - {""}
            yield {
                "experiment": path.stem, "folder": where, "cells": int(told["cells"]), "runs": len(runs),
                "day": _day(max(runs, default="")), "commits": ", ".join(sorted(commits)), "version": told.get("version", ""),
                "kb": round(path.stat().st_size / 1000),
            }  # fmt: skip


def _day(run: str) -> str:
    """'2026-11-22' of the run id 20261122T104337-5dd30bc4."""
    return f"{run[:4]}-{run[4:6]}-{run[6:8]}" if run[:8].isdigit() else ""


def _packs() -> Iterator[dict[str, Any]]:
    for pack in packs.packs().values():
        yield {"pack": pack, "here": pack.is_here}
