"""calharness: one place where every estimator of calibration error meets every problem on which it can be judged.

harness.load_problem("beta_overconfident", **overrides)     harness.load_estimator("binned15", **overrides)
harness.list_problems()   harness.list_estimators()   harness.list_experiments()
harness.reduce(p, y, notion)
harness.run(["experiment=smoke", "reps=2"]) -> DataFrame, one row per estimate
harness.load_records(path) -> DataFrame
harness.paired_difference(p_first, p_second, y, rng) -> {estimand: interval of the difference of two models' errors}
harness.perturb(p, h, rng) -> scores after the sech perturbation, for which bounds without assumptions on the model exist
harness.evaluate(records) -> bias, sd, rmse, coverage ... by problem, notion, n, estimator, estimand
"""

import importlib

from harness.common.version import VERSION
from harness.errors import BadInputError, UndefinedError

__version__ = VERSION
__all__ = [
    "BadInputError", "Estimate", "Truth", "UndefinedError", "evaluate", "list_estimators", "list_experiments", "list_problems",
    "load_estimator", "load_problem", "load_records", "paired_difference", "perturb", "reduce", "run",
]  # fmt: skip


# where the rest of __all__ is defined: imported when first asked for, so that the command line completes and helps at once
_LAZY = {
    "Estimate": "harness.estimators.base", "Truth": "harness.problems.base", "evaluate": "harness.report.evaluation",
    "load_records": "harness.runs.records", "paired_difference": "harness.estimators.variational", "perturb": "harness.math.sech_noise",
    "reduce": "harness.math.notions",
}  # fmt: skip


def __getattr__(name: str):
    """A name of __all__, or a module of the package (`harness.math.divergences`), imported when first asked for."""
    if name in _LAZY:
        found = getattr(importlib.import_module(_LAZY[name]), name)
    else:
        try:
            found = importlib.import_module(f"harness.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"harness.{name}":
                raise
            raise AttributeError(f"module 'harness' has no attribute {name!r}") from None
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load_problem(name: str, **overrides):
    """The problem of conf/problem/<name>.yaml, with fields replaced: load_problem("beta_overconfident", a=1.0, b=1.0)."""
    from harness.runs.components import load

    return load("problem", name, overrides)


def load_estimator(name: str, **overrides):
    """The estimator of conf/estimator/<name>.yaml, with fields replaced: load_estimator("binned15", bins=30)."""
    from harness.runs.components import load

    return load("estimator", name, overrides)


def list_problems() -> list[str]:
    """Ids of all problems, for load_problem."""
    from harness.runs.catalogue import ids

    return ids("problem")


def list_estimators() -> list[str]:
    """Ids of all estimators, for load_estimator."""
    from harness.runs.catalogue import ids

    return ids("estimator")


def list_experiments() -> list[str]:
    """Ids of all experiments, for run(["experiment=ID"])."""
    from harness.runs.catalogue import ids

    return ids("experiment")


def run(overrides: list[str], quiet: bool = True):
    """Run a configuration (overrides in Hydra's grammar, as on the command line) and return its records as a DataFrame, one row
    per estimate, with the experiment's name. Cells that the results folder already holds are not computed again."""
    from harness.commands.experiment import Experiment

    experiment = Experiment.of(overrides)
    experiment.compute(quiet=quiet)
    return experiment.records()
