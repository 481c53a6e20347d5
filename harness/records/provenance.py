"""Where a number comes from: git state, versions, processor, threads, configuration."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
import sys
import time
import uuid
from pathlib import Path
from typing import Any

from harness.common.paths import CHECKOUT
from harness.common.version import VERSION
from harness.common.writing import write_json
from harness.configure.settings import Settings
from harness.records import buckets

PACKAGES = ("numpy", "scipy", "scikit-learn", "pandas", "pyarrow", "duckdb", "joblib", "hydra-core", "matplotlib")


def start(out: Path, settings: Settings, counts: dict[str, int]) -> str:
    """Write runs/<run id>.json and return the run id. `counts`: what the plan found (cells, to do, done, skipped)."""
    run_id = f"{time.strftime('%Y%m%dT%H%M%S')}-{uuid.uuid4().hex[:8]}"
    content = {
        "run_id": run_id,
        "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
        "state": "running",
        "cells": counts,
        **surroundings(),
        "config": settings.to_dict(),
    }
    write_json(path_of(out, run_id), content)
    buckets.send(path_of(out, run_id))
    return run_id


def finish(out: Path, run_id: str, state: str, seconds: float) -> None:
    """Complete the run's file: state finished | interrupted | failed, and the wall time."""
    import json

    path = path_of(out, run_id)
    content = json.loads(path.read_text())
    write_json(path, {**content, "state": state, "seconds": round(seconds, 3)})
    buckets.send(path)


def read(out: Path, run_id: str) -> dict[str, Any]:
    """What a run's file holds; nothing where it is absent or broken."""
    import json

    try:
        found: dict[str, Any] = json.loads(path_of(out, run_id).read_text())
        return found
    except (OSError, ValueError):
        return {}


def surroundings() -> dict[str, Any]:
    """Git state, versions, processor, threads and command of this process."""
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
    """Commit and whether the tree (its results aside) differs from it; empty outside a checkout."""
    if CHECKOUT is None:
        return {}
    try:
        commit = _git("rev-parse", "HEAD")
        return {"commit": commit, "dirty": bool(_git("status", "--porcelain", "--untracked-files=no", "--", ".", ":!results"))}
    except (OSError, subprocess.SubprocessError) as error:
        return {"unknown": f"{type(error).__name__}: {error}"}


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(CHECKOUT), *arguments], capture_output=True, text=True, timeout=10, check=True)
    return done.stdout.strip()


def processor() -> str:
    """Model name of the processor."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def version(package: str) -> str | None:
    """Installed version of a package, None without it."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def path_of(out: Path, run_id: str) -> Path:
    """Where what is known of a run is kept."""
    return Path(out) / "runs" / f"{run_id}.json"
