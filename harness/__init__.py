"""Benchmark of estimators of calibration error on problems with known truth.

Your own predictions:

    harness.judge(p, y)                                      a judgement: is it calibrated, how far
                                                             off, and where?
    harness.ece(p, y, notion="top_label", bins=15)           the plain binned error
    harness.estimate("binned15", p, y, notion="top_label")   {estimand: Estimate}
    harness.reduce(p, y, notion)                             the (p, y) of a notion, validated
    harness.paired_difference(p_first, p_second, y, rng)     {estimand: interval of the difference
                                                             of two models' errors}
    harness.perturb(p, h, rng)                               scores after the sech perturbation, for
                                                             which bounds need no assumptions

Components by their ids, and runs:

    harness.list_problems()   harness.list_estimators()   harness.list_experiments()
    harness.load_problem("beta_overconfident", **overrides)
    harness.load_estimator("binned15", **overrides)
    harness.run(["experiment=smoke", "reps=2"])              DataFrame of records, one row per
                                                             estimate
    harness.load_records(path)                               the records of a results folder
    harness.compare("my_module.mine")                        your estimator in the arena, by setting
    harness.evaluate(records)                                bias, sd, rmse, coverage ... by
                                                             problem, notion, n, estimator, estimand
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from harness import errors
from harness.common.version import VERSION
from harness.errors import BadInputError, UndefinedError

if TYPE_CHECKING:
    import pandas as pd

    from harness.estimators.base import Estimate, Estimator
    from harness.estimators.paired import paired_difference
    from harness.evaluation.summary import evaluate
    from harness.judging.ece import ece, estimate
    from harness.judging.judge import judge
    from harness.judging.judgement import Judgement
    from harness.math.notions import reduce
    from harness.math.sech_noise import perturb
    from harness.problems.base import Problem, Truth
    from harness.records.reader import load_records

__version__ = VERSION
__all__ = [
    "BadInputError", "Estimate", "Judgement", "Truth", "UndefinedError", "compare", "ece",
    "estimate", "evaluate", "judge", "list_estimators", "list_experiments", "list_problems",
    "load_estimator", "load_problem", "load_records", "paired_difference", "perturb", "reduce",
    "run",
]  # fmt: skip


# Modules of the other names. They are imported on first use, so that the command line starts fast.
_LAZY = {
    "Judgement": "harness.judging.judgement",
    "ece": "harness.judging.ece",
    "estimate": "harness.judging.ece",
    "judge": "harness.judging.judge",
    "Estimate": "harness.estimators.base",
    "Truth": "harness.problems.base",
    "evaluate": "harness.evaluation.summary",
    "load_records": "harness.records.reader",
    "paired_difference": "harness.estimators.paired",
    "perturb": "harness.math.sech_noise",
    "reduce": "harness.math.notions",
}


def __getattr__(name: str) -> Any:
    """Import a name of __all__, or a module of the package (`harness.math`), on first use."""
    if name in ("BadInput", "Undefined"):  # of version 0.1
        renamed: Any = getattr(errors, name)
        return renamed
    if name in _LAZY:
        value = getattr(importlib.import_module(_LAZY[name]), name)
    else:
        try:
            value = importlib.import_module(f"harness.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"harness.{name}":
                raise
            raise AttributeError(f"module 'harness' has no attribute {name!r}") from None
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load_problem(name: str, **overrides: Any) -> Problem:
    """Make the problem with an id.

    Parameters
    ----------
    name : str
        An id of `list_problems()`.
    **overrides
        Parameters that replace the configured ones.

    Raises
    ------
    BadInputError
        If there is no such id or parameter.

    Examples
    --------
    >>> import numpy as np
    >>> problem = load_problem("beta_overconfident", a=1.0, b=1.0)
    >>> p, y = problem.sample(1000, np.random.default_rng(0))
    >>> p.shape, y.shape
    ((1000,), (1000,))
    """
    from harness.plan.components import load

    problem: Problem = load("problem", name, overrides)
    return problem


def load_estimator(name: str, **overrides: Any) -> Estimator:
    """Make the estimator with an id.

    Parameters
    ----------
    name : str
        An id of `list_estimators()`.
    **overrides
        Parameters that replace the configured ones.

    Raises
    ------
    BadInputError
        If there is no such id or parameter.

    Examples
    --------
    >>> load_estimator("binned15", bins=30).bins
    30
    """
    from harness.plan.components import load

    estimator: Estimator = load("estimator", name, overrides)
    return estimator


def list_problems() -> list[str]:
    """Return the ids of all problems, for `load_problem`.

    Examples
    --------
    >>> "beta_overconfident" in list_problems()
    True
    """
    from harness.configure.options import ids

    return ids("problem")


def list_estimators() -> list[str]:
    """Return the ids of all estimators, for `load_estimator` and `estimate`.

    Examples
    --------
    >>> "binned15" in list_estimators()
    True
    """
    from harness.configure.options import ids

    return ids("estimator")


def list_experiments() -> list[str]:
    """Return the ids of all experiments, for run(["experiment=ID"]).

    Examples
    --------
    >>> "smoke" in list_experiments()
    True
    """
    from harness.configure.options import ids

    return ids("experiment")


def run(overrides: list[str], quiet: bool = True) -> pd.DataFrame:
    """Run a configuration and return its records.

    Cells that the results folder already holds are not computed again.

    Parameters
    ----------
    overrides : list of str
        Options as on the command line, in Hydra's grammar.
    quiet : bool
        Show no progress.

    Returns
    -------
    pandas.DataFrame
        One row per estimate, with the name of the experiment. A cell without an estimate has one
        row with the reason.

    Raises
    ------
    BadInputError
        If an option cannot be used.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     options = ["problem=beta_wavy", "estimator=binned15", "n=100", "reps=2", "jobs=1"]
    ...     records = run([*options, f"out={folder}"])
    >>> records[records["estimand"] == "l1"][["problem", "n", "rep", "status"]].values.tolist()
    [['beta_wavy', 100, 0, 'ok'], ['beta_wavy', 100, 1, 'ok']]
    """
    from harness.commands.experiment import Experiment

    experiment = Experiment.of(overrides)
    experiment.compute(quiet=quiet)
    records: pd.DataFrame = experiment.records()
    return records


def compare(
    estimator: str | Estimator | None = None,
    *,
    problem: str | Problem | None = None,
    calibrator: Any = None,
    **options: Any,
) -> pd.DataFrame:
    """Compare your estimator, problem or calibrator with the arena's stored baseline.

    Only the cells of your component are computed.

    Parameters
    ----------
    estimator : str, callable
        "module.Name", an id, a function or class of a module, or an instance of a dataclass. Code
        typed at a prompt runs in this process, without a time limit, and its records are not kept.
    problem : str or object, optional
        A problem instead, on which the arena's cheap estimators are run.
    calibrator : str or object, optional
        A calibrator instead, which is judged in the variational estimator.
    **options
        n, reps, family, notion, estimand: parts of the arena, values or lists. out, jobs, limit
        (seconds of a cell), baseline: as in `calharness compare`.

    Returns
    -------
    DataFrame
        One row per family, problem, k, notion, n, estimand and estimator: reps, bias, sd, rmse,
        rmse_se, regret (the RMSE divided by that of the best published estimator), best, over,
        coverage, width, cpu_seconds and others (`harness.evaluation.arena.settings`). There are
        rows for your estimator and for the best published one of each setting. For a problem,
        there are rows for all estimators.

    Raises
    ------
    BadInputError
        If it fails, hangs or is no estimator; or if there is no baseline, or one of another arena.

    Notes
    -----
    A page, a figure and a LaTeX table are written to compare/<name> of the results folder. The page
    says where it wins and loses, with a false discovery rate of 5 %.

    Examples
    --------
    >>> compare("my_module.mine", n=[200, 1000], notion="binary")  # doctest: +SKIP
    """
    from harness.commands import comparison

    given = {"estimator": estimator, "problem": problem, "calibrator": calibrator}
    kinds = [kind for kind, target in given.items() if target is not None]
    if len(kinds) != 1:
        raise BadInputError(
            "compare takes one of estimator, problem and calibrator, found "
            f"{', '.join(kinds) or 'none'}."
        )
    table: pd.DataFrame = comparison.compare(given[kinds[0]], kinds[0], **options)
    return table
