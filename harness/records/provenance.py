"""Record the provenance of a run: commit, versions, processor, threads and configuration."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import time
import uuid
from datetime import datetime
from pathlib import Path
from typing import Any

from harness.common import buckets
from harness.common.paths import CHECKOUT
from harness.common.version import VERSION
from harness.configure.settings import Settings
from harness.errors import BadInputError

PACKAGES = (
    "numpy", "scipy", "scikit-learn", "pandas", "pyarrow", "duckdb", "joblib", "hydra-core",
    "matplotlib",
)  # fmt: skip


def start(
    out: Path, settings: Settings, counts: dict[str, int], todo: dict[str, dict[str, int]]
) -> str:
    """Write runs/<run id>.json for a run that starts now, and return the new run id.

    `counts` contains the numbers of cells of the plan (see `pending.Tally`), and `todo` those to
    compute by estimator and by problem: {"estimator": {id: number}, "problem": {id: number}}.
    """
    # microseconds: ids of runs that start in the same second are sorted by their start
    run_id = f"{datetime.now():%Y%m%dT%H%M%S%f}-{uuid.uuid4().hex[:8]}"
    content = {
        "run_id": run_id,
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "state": "running",
        "cells": counts,
        "todo": todo,
        **surroundings(),
        "config": settings.to_dict(),
    }
    buckets.write_json(out, _name(run_id), content)
    return run_id


def finish(out: Path, run_id: str, state: str, seconds: float) -> None:
    """Add the final state and the wall-clock seconds to runs/<run id>.json.

    `state` is finished, interrupted or failed.
    """
    try:
        content = json.loads(buckets.read(out, _name(run_id)))
    except FileNotFoundError:
        raise BadInputError(
            f"{buckets.location(out)} was deleted or moved during the run, with its records; give "
            "the same command again."
        ) from None
    content |= {"state": state, "seconds": round(seconds, 3)}
    buckets.write_json(out, _name(run_id), content)


def read(out: Path, run_id: str) -> dict[str, Any]:
    """Return the content of runs/<run id>.json, or {} if it is absent or broken."""
    try:
        content: dict[str, Any] = json.loads(buckets.read(out, _name(run_id)))
        return content
    except (OSError, ValueError):
        return {}


def run_path(out: Path, run_id: str) -> Path:
    """Return the path of runs/<run id>.json in a folder of results on this host."""
    return Path(out) / _name(run_id)


def _name(run_id: str) -> str:
    return f"runs/{run_id}.json"


def surroundings() -> dict[str, Any]:
    """Return the commit, versions, processor, threads and command line of this process."""
    return {
        "git": git_state(),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "threads_per_worker": 1,
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
        "versions": {"calharness": VERSION, **{name: version(name) for name in PACKAGES}},
    }


def git_state() -> dict[str, Any]:
    """Return the commit of the checkout, and whether files outside results/ differ from it.

    Return {} for an installed package.
    """
    if CHECKOUT is None:
        return {}
    try:
        commit = _git("rev-parse", "HEAD")
        changes = _git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!results")
        return {"commit": commit, "dirty": bool(changes)}
    except (OSError, subprocess.SubprocessError) as error:
        return {"unknown": f"{type(error).__name__}: {error}"}


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(CHECKOUT), *arguments]
    process = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    return process.stdout.strip()


def processor() -> str:
    """Return the model name of the processor."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def version(package: str) -> str | None:
    """Return the version of a package, or None if it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
