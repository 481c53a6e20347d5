"""Frozen keys, values, verdicts and schema of judge, which no simplification may change.

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
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

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
    "variational_catboost*_berta2026": (
        1e-5,
        "a quadratic scaling by lbfgs with its default tolerance: 3e-6",
    ),
    "variational_lightgbm*_berta2026": (
        1e-5,
        "a quadratic scaling by lbfgs with its default tolerance: 3e-6",
    ),
    "variational_*": (1e-9, "calibrators that are minimised: 2e-12"),
    "*_variational_*": (1e-9, "calibrators that are minimised"),
}
# estimators of more than about 0.2 CPU seconds on these inputs
SLOW = (
    "*catboost*", "*lightgbm*", "*_trees*", "*_forest*", "best*", "bootstrap_*", "certified_*",
    "consistency_*",
    "half_*", "hulc_*", "kde_top_label", "monte_carlo_*", "nw_jensen_histogram", "subsampling_*",
    "variational_isotonic_berta2026", "tuned_*gruber2025", "tuned_variational*",
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


def experiment_keys(names: list[str] | None = None) -> list[dict]:
    """Number of cells, and a digest of the keys of all components, of every experiment."""
    from harness.configure.compose import compose
    from harness.configure.options import ids
    from harness.errors import BadInputError
    from harness.plan.plan import plan

    rows = []
    for name in names or ids("experiment"):
        try:
            planned = plan(compose([f"experiment={name}"]))
        except BadInputError:  # its files are absent
            continue
        if any(_is_without_file(part.origin, [part]) for part in planned.problems.values()):
            continue
        parts = [*planned.problems.items(), *planned.estimators.items()]
        content = [
            len(planned.cells),
            planned.settings.seed,
            sorted((name, part.key) for name, part in parts),
        ]
        rows.append(
            {
                "experiment": name,
                "cells": len(planned.cells),
                "components": len(parts),
                "digest": _digest(content),
            }
        )
    return rows


def _digest(content: object) -> str:
    return hashlib.blake2b(json.dumps(content).encode(), digest_size=8).hexdigest()


def is_slow(estimator: str) -> bool:
    return any(fnmatch.fnmatch(estimator, pattern) for pattern in SLOW)


def tolerance(estimator: str) -> float:
    return next(
        (value for pattern, (value, _) in LOOSER.items() if fnmatch.fnmatch(estimator, pattern)),
        EXACT,
    )


def estimator_values(names: list[str]) -> list[dict]:
    """Return values and bounds of estimators on predictions.csv for each notion that they take.

    An error is recorded by its type. Binary predictions are the first class against the others.
    Estimators that cannot run here are left out.
    """
    import harness
    from harness.errors import BadInputError, UndefinedError
    from harness.estimators.application import apply
    from harness.estimators.base import EstimatorSpec

    table = np.loadtxt(FOLDER / "predictions.csv", delimiter=",", skiprows=1)
    p, y = table[:, :3], table[:, 3].astype(int)
    binary, classes = (
        harness.load_problem("score_sine_perturbed"),
        harness.load_problem("dirichlet3_overconfident"),
    )
    rows = []
    for name in names:
        estimator = harness.load_estimator(name)
        spec = EstimatorSpec.of(estimator)
        for notion in () if spec.unavailable else spec.notions:
            given = (p[:, 0], (y == 0).astype(int)) if notion == "binary" else (p, y)
            problem = binary if notion in ("binary", "top_label") else classes
            rng = spec.replication_rng(0) if spec.replication_rng else np.random.default_rng(0)
            try:
                estimates = apply(estimator, *harness.reduce(*given, notion), notion, rng, problem)
            except (BadInputError, UndefinedError) as error:
                rows.append(
                    {
                        "estimator": name,
                        "notion": notion,
                        "estimand": "",
                        "value": type(error).__name__,
                    }
                )
                continue
            for estimand, estimate in estimates.items():
                numbers = {end: _text(getattr(estimate, end)) for end in ("value", "low", "high")}
                rows.append({"estimator": name, "notion": notion, "estimand": estimand, **numbers})
    return rows


def _text(number: float | None) -> str:
    return "" if number is None else f"{number:.15g}"


def verdicts() -> dict:
    """{paper: {source: {verdict: number of rows}}} of the stored results."""
    from harness.evaluation.outcomes import count_by_source

    stored = sorted((ROOT / "results").glob("*/reproduction.csv"))
    return {path.parent.name: count_by_source(pd.read_csv(path)) for path in stored}


def judge_schema() -> dict:
    """Return {path: types of the values there} of `judge --json`.

    The judgements have a value in every field, or in none. `[]` stands for every item of a list,
    `*` for every name of a number; `names of numbers` has the names.
    """
    import judged

    from harness.judging.as_json import as_json

    types: dict[str, set[str]] = {}
    names: dict[str, None] = {}
    for judgement in (
        judged.judgement(3, 60),
        judged.judgement(2, 60),
        judged.compared(3, 60),
        judged.nothing(),
    ):
        values = json.loads(json.dumps(as_json(judgement)))
        names |= dict.fromkeys(values["numbers"])
        _add_types(types, "", {**values, "numbers": {"*": list(values["numbers"].values())}})
    return {
        **{path: " ".join(sorted(kinds)) for path, kinds in sorted(types.items())},
        "names of numbers": list(names),
    }


def _add_types(types: dict[str, set[str]], path: str, value: object) -> None:
    kinds = {
        dict: "object",
        list: "array",
        str: "string",
        bool: "boolean",
        int: "number",
        float: "number",
    }
    types.setdefault(path, set()).add("null" if value is None else kinds[type(value)])
    items = (
        value.items()
        if isinstance(value, dict)
        else [("[]", item) for item in value]
        if isinstance(value, list)
        else []
    )
    for name, item in items:
        _add_types(types, f"{path}/{name}", item)


def read(name: str) -> list[dict]:
    with (FOLDER / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


TABLES = {
    "cells": cells,
    "components": component_keys,
    "experiments": experiment_keys,
    "values": lambda: estimator_values([name for name in list_estimators() if not is_slow(name)]),
    "values_slow": lambda: estimator_values([name for name in list_estimators() if is_slow(name)]),
}
MAPPINGS = {"verdicts": verdicts, "judge": judge_schema}


def write(name: str) -> None:
    if name in MAPPINGS:
        (FOLDER / f"{name}.json").write_text(json.dumps(MAPPINGS[name](), indent=1) + "\n")
        return
    rows = TABLES[name]()
    with (FOLDER / f"{name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(max(rows, key=len)), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    if "CALHARNESS_DATA" not in os.environ:
        sys.exit(
            "CALHARNESS_DATA is not set: keys of problems that are fitted to files would lack."
        )
    for chosen in sys.argv[1:] or [*TABLES, *MAPPINGS]:
        write(chosen)
