"""Frozen keys, and frozen values of estimators, which no simplification may change.

`python tests/frozen.py [NAME ...]` writes tests/golden/frozen anew; tests/golden/README.md says
when that is allowed. CALHARNESS_DATA must name a folder with all packs of images, because the keys
of problems that are fitted to files follow from these files.
"""

from __future__ import annotations

import csv
import fnmatch
import hashlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import yaml

import harness
from harness import list_estimators

FOLDER = Path(__file__).parent / "golden" / "frozen"
ROOT = FOLDER.parents[2]
CELLS = 200
OF_CONTENT = (
    "fitted_*",
    "cifar10_one_vs_rest*",
)  # problems whose keys depend on the content of their files

# Estimators whose values depend on the processor or on the steps of a minimisation:
# pattern -> (relative tolerance, why)
EXACT = 1e-12
LOOSER = {
    "*kkr*": (
        1e-3,
        "nearly singular ridge systems and a search: 1e-4 with other kernels of BLAS",
    ),
    "best*": (1e-9, "weights that are minimised: 7e-12"),
    "ici": (1e-9, "eigenvalues of the normal equations of each local fit"),
    "tuned_*": (1e-9, "a search chooses"),
    "variational_*": (1e-9, "calibrators that are minimised: 2e-12"),
    "*_variational_*": (1e-9, "calibrators that are minimised"),
}
# estimators of more than about 1.5 CPU seconds on these inputs
SLOW = (
    "best", "certified_interval_perturbed", "consistency_skce", "tuned_variational",
    "variational_catboost", "variational_extra_trees", "variational_random_forest",
)  # fmt: skip


def cells() -> list[dict]:
    """CELLS cells with their keys, evenly spread over each run of runs.yaml."""
    from harness.configure.compose import compose
    from harness.plan.plan import plan

    runs = yaml.safe_load((FOLDER / "runs.yaml").read_text())
    sys.path.insert(0, str(FOLDER))
    try:
        plans = {
            name: plan(compose([text.format(here=FOLDER) for text in texts]))
            for name, texts in runs.items()
        }
    finally:
        sys.path.remove(str(FOLDER))
        sys.modules.pop("own_code", None)
    share, rest = divmod(CELLS, len(runs))
    rows = []
    for position, (name, planned) in enumerate(plans.items()):
        cells = list(planned.cells)
        wanted = min(len(cells), share + (position < rest))
        rows += [{"run": name, **cells[i * len(cells) // wanted]._asdict()} for i in range(wanted)]
    return rows


def component_keys() -> list[dict]:
    """Return the key of every problem and estimator of conf/, and a digest of keys for a family."""
    from omegaconf import OmegaConf

    from harness.configure.options import ids, option
    from harness.errors import BadInputError
    from harness.plan.components import build_component, component
    from harness.problems.base import list_members

    rows = []
    for group in ("problem", "estimator"):
        for name in ids(group):
            config = OmegaConf.to_container(
                OmegaConf.create(option(group, name).config), resolve=True
            )
            try:
                whole = build_component(group, name, config)
                members = list_members(whole.object) if group == "problem" else None
            except BadInputError:  # its file is given on the command line, or absent
                continue
            parts = (
                [whole]
                if members is None
                else [component(group, *item) for item in members.items()]
            )
            key = whole.key if members is None else _digest([part.key for part in parts])
            rows.append(
                {
                    "group": group,
                    "id": name,
                    "members": len(parts),
                    "key": "" if _is_without_file(name, parts) else key,
                }
            )
    return rows


def _is_without_file(name: str, parts: list) -> bool:
    """True if the keys depend on the content of a file that is absent here."""
    from harness.problems.base import ProblemSpec

    depends = any(fnmatch.fnmatch(name, pattern) for pattern in OF_CONTENT)
    return depends and any(ProblemSpec.of(part.object).unavailable for part in parts)


def experiment_keys() -> list[dict]:
    """Return the rows of all experiments whose files are present."""
    from harness.configure.compose import compose
    from harness.configure.options import ids
    from harness.errors import BadInputError
    from harness.plan.plan import plan

    rows = []
    for name in ids("experiment"):
        try:
            rows.append(experiment_row(name, plan(compose([f"experiment={name}"]))))
        except BadInputError:  # its files are absent
            continue
    return [row for row in rows if row]


def experiment_row(name: str, planned) -> dict | None:
    """Number of cells, and a digest of the keys of all components, or None without its files."""
    if any(_is_without_file(part.origin, [part]) for part in planned.problems.values()):
        return None
    parts = [*planned.problems.items(), *planned.estimators.items()]
    content = [
        len(planned.cells),
        planned.settings.seed,
        sorted((name, part.key) for name, part in parts),
    ]
    return {
        "experiment": name,
        "cells": len(planned.cells),
        "components": len(parts),
        "digest": _digest(content),
    }


def _digest(content: object) -> str:
    return hashlib.blake2b(json.dumps(content).encode(), digest_size=8).hexdigest()


def tolerance(estimator: str) -> float:
    return next(
        (value for pattern, (value, _) in LOOSER.items() if fnmatch.fnmatch(estimator, pattern)),
        EXACT,
    )


def chosen_estimators() -> list[str]:
    """Return the first estimator of every composition of classes that no paper's authors have.

    Authors' variants, whose ids or classes name a paper, equal golden numbers of these authors.
    Tests of one class (closed forms, invariances, numbers of other libraries) do not see how
    classes are put together, such as a loss, a calibrator and an interval; these rows do. Packages
    that are not installed are left out.
    """
    from omegaconf import OmegaConf

    from harness.configure.options import option
    from harness.estimators.base import EstimatorSpec

    papers = [path.name for path in (ROOT / "experiments").iterdir() if path.is_dir()]
    first: dict[tuple[str, ...], str] = {}
    for name in list_estimators():
        config = OmegaConf.to_container(
            OmegaConf.create(option("estimator", name).config), resolve=True
        )
        classes = tuple(_targets(config))
        of_paper = any(paper in text for paper in papers for text in (name, *classes))
        if not of_paper and not EstimatorSpec.of(harness.load_estimator(name)).unavailable:
            first.setdefault(classes, name)
    return list(first.values())


def _targets(config: object) -> Iterator[str]:
    """Yield all `_target_` of a configuration, in its order."""
    if isinstance(config, dict):
        yield from filter(None, [config.get("_target_")])
    parts = config.values() if isinstance(config, dict) else config
    for part in parts if isinstance(config, (dict, list)) else ():
        yield from _targets(part)


def estimator_values(name: str) -> list[dict]:
    """Return the first estimand, with bounds, for the first and the last notion of an estimator.

    The data are predictions.csv. Binary predictions are the first class against the others. An
    error is recorded by its type.
    """
    from harness.errors import BadInputError, UndefinedError
    from harness.estimators.application import apply
    from harness.estimators.base import EstimatorSpec

    table = np.loadtxt(FOLDER / "predictions.csv", delimiter=",", skiprows=1)
    p, y = table[:, :3], table[:, 3].astype(int)
    estimator = harness.load_estimator(name)
    spec = EstimatorSpec.of(estimator)
    rows = []
    for notion in dict.fromkeys([spec.notions[0], spec.notions[-1]]):
        given = (p[:, 0], (y == 0).astype(int)) if notion == "binary" else (p, y)
        problem = harness.load_problem(
            "score_sine_perturbed"
            if notion in ("binary", "top_label")
            else "dirichlet3_overconfident"
        )
        rng = spec.replication_rng(0) if spec.replication_rng else np.random.default_rng(0)
        try:
            estimates = apply(estimator, *harness.reduce(*given, notion), notion, rng, problem)
        except (BadInputError, UndefinedError) as error:
            found = {"estimand": "", "value": type(error).__name__, "low": "", "high": ""}
        else:
            estimand, estimate = next(iter(estimates.items()))
            numbers = {end: _text(getattr(estimate, end)) for end in ("value", "low", "high")}
            found = {"estimand": estimand, **numbers}
        rows.append({"estimator": name, "notion": notion, **found})
    return rows


def _text(number: float | None) -> str:
    return "" if number is None else f"{number:.15g}"


def read(name: str) -> list[dict]:
    with (FOLDER / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def frozen_ids(group: str) -> list[str]:
    """Return the problems or estimators with a frozen key: not those that were added later."""
    return [row["id"] for row in read("components") if row["group"] == group]


TABLES = {
    "cells": cells,
    "components": component_keys,
    "experiments": experiment_keys,
    "values": lambda: [row for name in chosen_estimators() for row in estimator_values(name)],
}


def write(name: str) -> None:
    rows = TABLES[name]()
    with (FOLDER / f"{name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    if "CALHARNESS_DATA" not in os.environ:
        sys.exit(
            "CALHARNESS_DATA is not set: keys of problems that are fitted to files would lack."
        )
    for chosen in sys.argv[1:] or TABLES:
        write(chosen)
