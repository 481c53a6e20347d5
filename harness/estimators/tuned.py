"""Estimation by a tuned estimator: Algorithm 1 of gruber2025."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.errors import BadInputError, UndefinedError
from harness.estimators.base import Estimate, EstimatorSpec, Wrapper, check_integer, is_positive
from harness.estimators.selection import (
    check_grid,
    fold_products,
    grid_settings,
    largest_diagnostics,
)
from harness.math.folds import assign_folds
from harness.math.notions import checked_for
from harness.math.risk import residuals, risk

OWN_REVISION = 1


@dataclass(frozen=True)
class Tuned(Wrapper):
    """Squared calibration error by the setting with the smallest calibration-estimation risk.

        l2_squared = 1/m sum_{i in test} h(f_i, f_i)   (eq. 21)
        rms        = sqrt(max(l2_squared, 0))

    f_i are the predictions of m test samples, which are set aside at random. h(f, f') estimates the
    expected product of the residuals at f and f'. A setting is a choice of fields of the estimator.
    Cross-validation on the other samples gives the mean validation risk of every setting (eq. 20).
    The setting with the smallest risk is selected, and h is the mean of its fits over the folds.

    Parameters
    ----------
    estimator : estimator
        An estimator with residual products (`estimators.selection`): DirichletKernel, KernelRidge,
        Binned or Variational. For Variational, h(f, f') = <f - q(f), f' - q(f')> with the
        recalibration map q.
    grid : dict, optional
        {field: values}. All combinations are settings. None takes the values that the estimator
        proposes.
    folds : int
        Number of cross-validation folds.
    test_share : float
        Share of the samples that is set aside for the estimate.

    Notes
    -----
    **Diagnostics** of the selected setting:

        choice         index of the setting
        <field>        value of a field of the setting, if it is a number
        risk           mean validation risk over the folds
        root_risk      mean over the folds of the root of the validation risk
        root_risk_se   standard error of root_risk; folds share training samples
        rms_sd         standard deviation over the folds of the root of the test estimate
        test_se        standard error of l2_squared over the test samples

    and the diagnostics of its fits. **Arrays** of l2_squared, over the settings: `risk`, the mean
    validation risk, and the fields that are numbers.

    **Bias.** It is the bias of the selected fit. If the outcomes are noisy, a small risk does not
    mean a small bias. **Cost.** One fit per fold and setting; the settings of one estimator share
    work.

    References
    ----------
    gruber2025, Algorithm 1, eqs. 20 and 21.

    Examples
    --------
    >>> import harness
    >>> from harness.estimators import Binned
    >>> p, y = harness.load_problem("beta_overconfident").sample(1000, np.random.default_rng(0))
    >>> estimates = Tuned(Binned(), grid={"bins": [5, 15]})(p, y, np.random.default_rng(1))
    >>> estimates["l2_squared"].diagnostics["bins"]
    5.0
    """

    estimator: Any
    grid: dict[str, Any] | None = None
    folds: int = 5
    test_share: float = 0.2

    estimands = ("l2_squared", "rms")
    determinism = "statistical"
    null_bias = 0.05

    def __post_init__(self) -> None:
        check_grid(self.estimator, self.grid)
        check_integer("folds", self.folds, 2)
        if not (is_positive(self.test_share) and self.test_share < 1.0):
            raise BadInputError(
                f"test_share is {self.test_share!r}; give a number between 0 and 1, such as 0.2."
            )

    @property
    def revision(self) -> Any:
        """The revision of the wrapper, combined with that of the wrapped estimator."""
        return OWN_REVISION + (self.inner.revision or 1) - 1

    @property
    def max_n(self) -> int | None:
        return min(self._all_values("max_n"), default=None)

    @property
    def max_classes(self) -> int | None:
        return min(self._all_values("max_classes"), default=None)

    @property
    def seconds(self) -> float:
        return sum(self._all_values("seconds")) or 0.01

    @property
    def unavailable(self) -> str | None:
        return next(iter(self._all_values("unavailable")), None)

    def _all_values(self, name: str) -> list[Any]:
        """Return the values of the property `name` for all settings. None is left out."""
        settings = grid_settings(self.grid or {})
        if "calibrator" not in (self.grid or {}):
            settings = settings[:1]  # only another calibrator changes the properties
        estimators = [dataclasses.replace(self.estimator, **setting) for setting in settings]
        values = [EstimatorSpec.read(estimator, name) for estimator in estimators]
        return [value for value in values if value is not None]

    def __call__(
        self, p: np.ndarray, y: np.ndarray, rng: np.random.Generator | None = None
    ) -> dict[str, Estimate]:
        p, y = checked_for(self.notions, p, y)
        if rng is None:
            raise BadInputError(
                "rng is missing; give a numpy Generator, which decides the split and the folds."
            )
        test_n = int(round(self.test_share * len(p)))
        if test_n < 1 or len(p) - test_n < 2 * self.folds:
            raise UndefinedError(
                f"{len(p)} samples are too few for {self.folds} folds of 2 samples and a test "
                f"share of {self.test_share:g}"
            )
        order = rng.permutation(len(p))
        test, rest = order[:test_n], order[test_n:]
        grid = self.estimator.search_space(p.ndim == 1) if self.grid is None else self.grid
        settings = grid_settings(grid)
        fold = assign_folds(y[rest], self.folds, False, rng)
        risks = np.empty((len(settings), self.folds))
        test_values = np.zeros((len(settings), self.folds, test_n))
        u = residuals(p, y)[rest]
        fits: list[list[dict[str, float] | None]] = [[] for _ in settings]
        for j, i, held_out, (test_products,) in fold_products(
            self.estimator, settings, p[rest], y[rest], fold, rng, [p[test]]
        ):
            risks[i, j] = risk(u[fold == j], held_out)
            test_values[i, j] = test_products.diagonal()
            fits[i].append(held_out.diagnostics)
        choice = int(risks.mean(axis=1).argmin())
        return summary(settings, risks, test_values, choice, largest_diagnostics(fits[choice]))


def summary(
    settings: Sequence[dict[str, Any]],
    risks: np.ndarray,
    test_values: np.ndarray,
    choice: int,
    fit_diagnostics: dict[str, float],
) -> dict[str, Estimate]:
    """Return the estimates of `Tuned` by the selected setting, with their diagnostics.

    Parameters
    ----------
    settings : sequence of dict
        All settings, {field: value}.
    risks : array (settings, folds)
        Validation risks.
    test_values : array (settings, folds, m)
        h(f, f) at every test sample.
    choice : int
        Index of the selected setting.
    fit_diagnostics : dict
        Diagnostics of its fits.
    """
    values = test_values[choice].mean(axis=0)
    value = float(values.mean())
    roots = np.sqrt(np.maximum(risks[choice], 0.0))
    per_fold = np.sqrt(np.maximum(test_values[choice].mean(axis=1), 0.0))
    diagnostics = {
        "risk": float(risks[choice].mean()), "root_risk": float(roots.mean()),
        "root_risk_se": float(roots.std(ddof=1) / np.sqrt(len(roots))),
        "rms_sd": float(per_fold.std(ddof=1)),
        "choice": choice, **numeric_fields(settings[choice]), **fit_diagnostics,
    }  # fmt: skip
    if len(values) > 1:
        diagnostics["test_se"] = float(values.std(ddof=1) / np.sqrt(len(values)))
    candidates = [numeric_fields(setting) for setting in settings]
    arrays = {
        name: np.array([fields.get(name, np.nan) for fields in candidates])
        for name in candidates[choice]
    }
    return {
        "l2_squared": Estimate(
            value, diagnostics=diagnostics, arrays={**arrays, "risk": risks.mean(axis=1)}
        ),
        "rms": Estimate(max(value, 0.0) ** 0.5, diagnostics=diagnostics),
    }


def numeric_fields(setting: dict[str, Any]) -> dict[str, float]:
    """Return the fields of a setting whose values are numbers, as floats."""
    return {
        name: float(v)
        for name, v in setting.items()
        if isinstance(v, (int, float)) and not isinstance(v, bool)
    }
