"""Benchmark of estimators of calibration error on problems with known truth.

Functions for your predictions p and labels y:

    harness.judge(p, y)                                      judge the calibration: is p calibrated,
                                                             how large is the error, and where?
    harness.judge(classifier, x, y)                          judge a fitted classifier
    harness.judge(p_val, y_val, p_test, y_test)              fit calibrators, judge them
    harness.SklearnCalibrator(calibrator)                    a calibrator for scikit-learn
    harness.ece(p, y, notion="top_label", bins=15)           the plain binned error
    harness.reliability_diagram(p, y, ax=None)               a reliability diagram, as Axes
    harness.estimate("binned15", p, y, notion="top_label")   {estimand: Estimate} by an estimator
    harness.estimate_stream(parts, "binned15")               the same of rows that come in parts
    harness.reduce(p, y, notion)                             validated p and y, reduced to a notion
    harness.paired_difference(p_first, p_second, y, rng)     the difference of the errors of two
                                                             models, with an interval
    harness.perturb(p, h, rng)                               perturbed scores, for certified bounds

Functions for problems, estimators and runs:

    harness.list_problems()                                  ids of all problems
    harness.list_estimators()                                ids of all estimators
    harness.list_experiments()                               ids of all experiments
    harness.load_problem("beta_overconfident", **fields)     the problem of an id
    harness.load_estimator("binned15", **fields)             the estimator of an id
    harness.run(["experiment=smoke", "reps=2"])              DataFrame of records, one row per
                                                             estimate
    harness.load_records(path)                               DataFrame of the records in a folder
    harness.compare("my_module.mine")                        compare your estimator with the arena
    harness.evaluate(records)                                bias, sd, RMSE, coverage ... for every
                                                             problem, notion, n, estimator, estimand
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from harness import errors
from harness.common.version import VERSION
from harness.errors import BadInputError, UndefinedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import pandas as pd
    from numpy.typing import ArrayLike

    from harness.calibrators.scikit import SklearnCalibrator
    from harness.estimators.base import Estimate, Estimator
    from harness.estimators.paired import paired_difference
    from harness.evaluation.summary import evaluate
    from harness.judging.diagram import reliability_diagram
    from harness.judging.ece import ece
    from harness.judging.judge import judge
    from harness.judging.judgement import Judgement
    from harness.math.notions import reduce
    from harness.math.sech_noise import perturb
    from harness.problems.base import Problem, Truth
    from harness.records.reader import load_records
    from harness.workflow.streams import estimate_stream

__version__ = VERSION
__all__ = [
    "BadInputError", "Estimate", "Judgement", "SklearnCalibrator", "Truth", "UndefinedError",
    "compare", "ece", "estimate", "estimate_stream", "evaluate", "judge", "list_estimators",
    "list_experiments", "list_problems", "load_estimator", "load_problem", "load_records",
    "paired_difference", "perturb", "reduce", "reliability_diagram", "run",
]  # fmt: skip


# Modules that define the public names. They are imported on first use, so that the command line
# starts fast.
_LAZY = {
    "Judgement": "harness.judging.judgement",
    "SklearnCalibrator": "harness.calibrators.scikit",
    "ece": "harness.judging.ece",
    "judge": "harness.judging.judge",
    "Estimate": "harness.estimators.base",
    "Truth": "harness.problems.base",
    "estimate_stream": "harness.workflow.streams",
    "evaluate": "harness.evaluation.summary",
    "load_records": "harness.records.reader",
    "paired_difference": "harness.estimators.paired",
    "perturb": "harness.math.sech_noise",
    "reduce": "harness.math.notions",
    "reliability_diagram": "harness.judging.diagram",
}


def __getattr__(name: str) -> Any:
    """Import a public name, or a module of the package such as `harness.math`, on first use."""
    if name in ("BadInput", "Undefined"):  # names of version 0.1
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
    return sorted(__all__)


def load_problem(name: str, **overrides: Any) -> Problem:
    """Return the problem with an id.

    Parameters
    ----------
    name : str
        An id of `list_problems()`.
    **overrides
        Parameters of the problem that replace those of its configuration.

    Returns
    -------
    Problem
        An object with the method `sample(n, rng)`.

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
    """Return the estimator with an id.

    Parameters
    ----------
    name : str
        An id of `list_estimators()`.
    **overrides
        Parameters of the estimator that replace those of its configuration.

    Returns
    -------
    Estimator
        An object that can be called as (p, y, rng).

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


def estimate(
    estimator: str | Estimator,
    p: ArrayLike,
    y: ArrayLike,
    notion: str = "top_label",
    rng: np.random.Generator | int | None = None,
    classes: Sequence[Any] | None = None,
    group_rows: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> dict[str, Estimate]:
    """Estimate the calibration errors of predictions with one estimator.

    Parameters
    ----------
    estimator : str or callable
        An id in `list_estimators()`, an estimator, or a function (p, y) -> float, whose value is
        taken as l1.
    p : array_like of shape (n,) or (n, k)
        Predicted probabilities: of class 1, or of k classes with rows that sum to 1. With shape
        (n,) and the notion "top_label", p holds confidences, and y tells which predictions were
        right.
    y : array_like of shape (n,)
        Labels: integers in {0, 1} or in 0..k-1, or names of classes.
    notion : {"top_label", "binary", "classwise", "canonical"}
        The reduction of (p, y) that is judged: the confidence in the predicted class, the
        probability of class 1, each class by itself (the mean over the classes is returned), or
        the whole vector.
    rng : numpy.random.Generator or int, optional
        Random generator, or its seed, for an estimator that draws random numbers. The default seed
        is 0, so that the same call gives the same numbers.
    classes : sequence, optional
        Names of the k classes. Label j and column j of an array belong to the j-th name. Columns
        of a data frame that are named by class (cat, p_cat, prob_cat) are matched by name.
    group_rows : array_like (n,), optional
        Group of each row, such as its patient. Rows of a group may depend on one another. Every
        point estimate then gets a 95 % interval from 200 random halves of the groups, in place of
        its own (a cluster bootstrap). With fewer than 20 groups it has none.
    sample_weight : array_like (n,), optional
        Weights of the rows, at least 0, for an estimator that takes them: one whose call has an
        argument of this name. Other estimators refuse them.

    Returns
    -------
    dict of str to Estimate
        {estimand: estimate}, in the unit of the estimand, not in percent.

    Raises
    ------
    BadInputError
        If p, y or notion cannot be used, or the estimator does not accept them.
    UndefinedError
        If the estimator has no value for this sample.

    Notes
    -----
    `calharness info ID` shows bias, cost and source of an estimator. The value does not depend on
    `group_rows`, even if the estimator holds out single rows of a group.

    Examples
    --------
    >>> import harness
    >>> p, y = [0.9, 0.8, 0.3, 0.6], [1, 1, 0, 0]
    >>> round(harness.estimate("binned15", p, y, notion="binary")["l1"].value, 3)
    0.3
    >>> def gap_of_means(p, y):
    ...     return abs(p.mean() - y.mean())
    >>> round(harness.estimate(gap_of_means, p, y, notion="binary")["l1"].value, 3)
    0.15
    """
    from harness.judging import ece

    name = estimator if isinstance(estimator, str) else None
    function = load_estimator(estimator) if isinstance(estimator, str) else estimator
    return ece.estimate(
        function, p, y, notion, rng, classes, group_rows, name, sample_weight=sample_weight
    )


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

    Cells whose records are already in the results folder are not computed again.

    Parameters
    ----------
    overrides : list of str
        Options as on the command line, in the grammar of Hydra.
    quiet : bool
        True shows no progress.

    Returns
    -------
    pandas.DataFrame
        One row per estimate, with the id of the experiment. A cell without an estimate has one row
        with the reason.

    Raises
    ------
    BadInputError
        If an option is unknown or has a wrong value.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     options = ["problem=beta_wavy", "estimator=binned15", "n=100", "reps=2", "jobs=1"]
    ...     records = run([*options, f"out={folder}"])
    >>> records[records["estimand"] == "l1"][["problem", "n", "rep", "status"]].values.tolist()
    [['beta_wavy', 100, 0, 'ok'], ['beta_wavy', 100, 1, 'ok']]
    """
    from harness.workflow.experiment import Experiment

    experiment = Experiment.of(overrides)
    experiment.compute(quiet=quiet)
    records: pd.DataFrame = experiment.records.read()
    return records


def compare(
    estimator: str | Estimator | None = None,
    *,
    problem: str | Problem | None = None,
    calibrator: Any = None,
    **options: Any,
) -> pd.DataFrame:
    """Compare your estimator, problem or calibrator with the stored records of the arena.

    The arena is all estimators on all problems with known truth; its stored records are the
    baseline. Only the cells of your component are computed. Give exactly one of `estimator`,
    `problem` and `calibrator`.

    Parameters
    ----------
    estimator : str or callable, optional
        "module.Name", an id, a function or class of a module, or an instance of a dataclass. Code
        that was typed at a prompt runs in this process without a time limit, and its records are
        not stored.
    problem : str or object, optional
        A problem. The cheap estimators of the arena are run on it.
    calibrator : str or object, optional
        A calibrator. The variational estimator with this calibrator is compared.
    **options
        `n`, `reps`, `family`, `notion` and `estimand`, values or lists, select a part of the arena.
        Without them, `quick=False` uses the whole arena, and `quick=True` (the default) a small
        part of it. `limit` is the time limit of a cell in seconds. `out`, `jobs` and `baseline` are
        as in `calharness compare`.

    Returns
    -------
    pandas.DataFrame
        One row per family, problem, k, notion, n, estimand and estimator. Its columns include reps,
        bias, sd, rmse, rmse_se, regret, best, over, coverage, width and cpu_seconds, as described
        in `harness.evaluation.arena.settings`. The regret is the RMSE divided by the RMSE of the
        best published estimator in the same setting. There are rows for your estimator and for the
        best published estimator of each setting. For a problem, there are rows for all estimators.

    Raises
    ------
    BadInputError
        If your component fails, exceeds the time limit or does not keep the contract, or if there
        is no baseline, or a baseline of another arena.

    Notes
    -----
    A page, a figure and a LaTeX table are written to compare/<name> in the results folder. The page
    tells whether your component is more or less accurate than `best` and than the best published
    estimators, by tests over families with a joint error rate of 5 %.

    Examples
    --------
    >>> compare("my_module.mine", n=[200, 1000], notion="binary")  # doctest: +SKIP
    """
    from harness.comparing import comparison

    given = {"estimator": estimator, "problem": problem, "calibrator": calibrator}
    kinds = [kind for kind, target in given.items() if target is not None]
    if len(kinds) != 1:
        raise BadInputError(
            "compare takes exactly one of estimator, problem and calibrator; it got "
            f"{' and '.join(kinds) or 'none of them'}."
        )
    table: pd.DataFrame = comparison.compare(given[kinds[0]], kinds[0], **options)
    return table
