"""Bases of the estimators of other libraries."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from importlib import metadata
from typing import Any, NamedTuple

import numpy as np

from harness.common.seeds import as_seed
from harness.errors import BadInputError, UndefinedError
from harness.estimators.base import Estimate, check_choice
from harness.math.notions import checked_for

SCALAR = ("binary", "top_label", "classwise")


def installed(package: str) -> str | None:
    """Return the version of an installed distribution, or None if it is not installed.

    Examples
    --------
    >>> installed("numpy") is not None, installed("no-such-package") is None
    (True, True)
    """
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


class Peer:
    """Base of the estimators that call another library.

    A subclass sets `package`, the name of the library's distribution. It defines `value`, which
    calls the library.
    """

    package: str
    notions: tuple[str, ...] = SCALAR

    def value(self, p: np.ndarray, y: np.ndarray, rng: Any) -> dict[str, float]:
        """Return {estimand: number} from the library, for checked predictions p and labels y."""
        raise NotImplementedError

    @property
    def unavailable(self) -> str | None:
        """Reason why the estimator cannot run here. None if the library is installed."""
        if installed(self.package) is not None:
            return None
        return f"the package {self.package} is not installed; install calharness[peers]"

    @property
    def revision(self) -> tuple[int, str]:
        """The installed version of the library, because another version may give other numbers."""
        return (1, installed(self.package) or "absent")

    def __call__(self, p: np.ndarray, y: np.ndarray, rng: Any = None) -> dict[str, Estimate]:
        p, y = checked_for(self.notions, p, y)
        if self.unavailable is not None:
            raise BadInputError(f"{type(self).__name__} cannot run: {self.unavailable}.")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            values = {
                name: float(value) for name, value in self.value(p.copy(), y.copy(), rng).items()
            }
        if not np.isfinite([*values.values()]).all():
            text = ", ".join(f"{name} = {value}" for name, value in values.items())
            raise UndefinedError(f"the package {self.package} returned no finite number: {text}")
        return {name: Estimate(value) for name, value in values.items()}


class Measure(NamedTuple):
    """Properties of one measure of a library, as in `harness.estimators.base.EstimatorSpec`."""

    estimands: tuple[str, ...]
    determinism: str = "rounding"
    null_bias: float = 0.1
    max_n: int | None = None


class PeerOfMeasures(Peer):
    """Base of the estimators with a field `measure`, which selects a measure of the library.

    A subclass sets `measures`, the properties of each allowed measure.
    """

    measure: str
    measures: dict[str, Measure]

    def __post_init__(self) -> None:
        check_choice("measure", self.measure, self.measures)

    @property
    def estimands(self) -> tuple[str, ...]:
        return self.measures[self.measure].estimands

    @property
    def determinism(self) -> str:
        return self.measures[self.measure].determinism

    @property
    def null_bias(self) -> float:
        return self.measures[self.measure].null_bias

    @property
    def max_n(self) -> int | None:
        return self.measures[self.measure].max_n


@contextlib.contextmanager
def seed_globally(rng: Any) -> Iterator[None]:
    """Seed numpy's global generator from `rng` during the block, and restore its state afterwards.

    Some libraries draw from the global generator.
    """
    state = np.random.get_state()
    np.random.seed(as_seed(rng))
    try:
        yield
    finally:
        np.random.set_state(state)
