"""Protocol of a problem, its optional attributes, base classes and truths."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from harness.common.user_code import error_place, error_text, is_ours
from harness.common.writing import stated_error
from harness.errors import BadInputError
from harness.math import estimands
from harness.math.notions import number


class Problem(Protocol):
    """A distribution of (p, y). Only `sample` is required; `ProblemSpec` lists the rest."""

    def sample(self, n: int, rng: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        """Draw predictions p, (n,) or (n, k), and labels y, (n,).

        With the same `rng`, a small sample is a prefix of a larger sample.
        """
        ...


@runtime_checkable
class Family(Protocol):
    """Several problems under a single name. A run replaces the family by its members."""

    def members(self) -> Mapping[str, Any] | None:
        """Return {id: problem}, or None if this object is a single problem after all."""
        ...


def list_members(problem: object) -> Mapping[str, Any] | None:
    """Return the members of a family as {id: problem}, or None for a single problem."""
    return problem.members() if isinstance(problem, Family) else None


def _attribute(name: str, default: Any, convert: Callable[[Any], Any] | None = None) -> Any:
    """Return a property that reads an attribute of the problem at the first access.

    A missing attribute is replaced by `default`. `convert`, if given, is applied to the attribute
    or to the default.
    """

    def read(spec: ProblemSpec) -> Any:
        value = getattr(spec.problem, name, default)
        return value if convert is None else convert(value)

    return cached_property(read)


class ProblemSpec:
    """Attributes that a problem may declare, with their defaults.

    An attribute is read at the first access only, because some problems must open a file for it.
    """

    def __init__(self, problem: object) -> None:
        self.problem: Any = problem

    @classmethod
    def of(cls, problem: object) -> ProblemSpec:
        """Return the spec of a problem."""
        return cls(problem)

    #: All notions under which the problem can be judged.
    notions: tuple[str, ...] = _attribute("notions", ("binary",), tuple)

    @cached_property
    def default_notions(self) -> tuple[str, ...]:
        """Notions that a run judges by default."""
        return tuple(getattr(self.problem, "default_notions", self.notions[:1]))

    #: Number of classes.
    classes: int = _attribute("classes", 2, int)
    #: Number, or tuple of numbers. It is raised when the samples or truths of the problem change.
    version: Any = _attribute("version", 0)
    #: Values that identify the problem, together with its class. None uses the dataclass fields.
    fingerprint: dict[str, Any] | None = _attribute("fingerprint", None)
    #: Default sample size of a run, or a tuple of sizes.
    default_n: Any = _attribute("default_n", 1000)
    #: Default number of replications of a run.
    default_reps: int = _attribute("default_reps", 10, int)
    #: Number of available samples; None if there is no limit.
    n_max: int | None = _attribute("n_max", None)

    @cached_property
    def sizes(self) -> tuple[int, ...] | None:
        """Sample sizes for which the problem exists; None means all sizes up to `n_max`."""
        sizes = getattr(self.problem, "sizes", None)
        return None if sizes is None else tuple(np.atleast_1d(sizes).tolist())

    #: Reason why the problem cannot run here, such as an absent file; its cells are skipped.
    unavailable: str | None = _attribute("unavailable", None)
    #: True if samples are rows of a prediction file, drawn without replacement. Such a problem is
    #: described, its estimates get bootstrap intervals, and reliability diagrams are drawn.
    rows_of_a_file: bool = _attribute("rows_of_a_file", False, bool)

    @property
    def shares_rows(self) -> bool:
        """True if all samples are rows of the same stored data, drawn without replacement.

        Replications are then not independent, so that their mean has no standard error.
        """
        return self.rows_of_a_file or bool(getattr(self.problem, "shares_rows", False))

    #: For a file, one line that says how it was read.
    described: str | None = _attribute("described", None)
    #: Names of the classes.
    names: tuple[str, ...] | None = _attribute("names", None)
    #: True if p (n,) holds confidences and y is 1 where the predicted class was right.
    top_label: bool = _attribute("top_label", False, bool)
    #: 16 hexadecimal digits that seed the random streams; None uses the key of the problem.
    content: str | None = _attribute("content", None)
    #: Name of a random stream that is shared with other problems; None if it is not shared.
    stream: str | None = _attribute("stream", None)
    #: Function from the replication number to the `rng` of `sample`, such as an author's integer
    #: seed. None gives `sample` a numpy Generator.
    replication_rng: Callable[[int], Any] | None = _attribute("replication_rng", None)
    #: Function from p to E[Y given p], with the shape of p; None if it is unknown.
    posterior: Callable[[NDArray[Any]], NDArray[Any]] | None = _attribute("posterior", None)
    #: Function from (n, rng) to the groups (n,) of the rows of `sample(n, rng)`, for an equal rng,
    #: such as a protected attribute; None if there are no groups.
    groups: Callable[[int, Any], NDArray[Any]] | None = _attribute("groups", None)
    #: Function from (width, order) to a quadrature over the distribution of the scores. It returns
    #: scores, their probabilities and their posteriors.
    quadrature: Callable[..., Any] | None = _attribute("quadrature", None)
    #: Total variation of E[Y given p] on [0, 1], or a bound on it; None if unknown.
    variation: float | None = _attribute("variation", None)
    #: Width h of the sech perturbation of the scores (harness.math.sech_noise), or None.
    perturbation: float | None = _attribute("perturbation", None)


CALIBRATED = "calibrated by construction"


class Generated:
    """Base of problems that draw unlimited samples from a distribution."""

    default_n = 1000
    default_reps = 10
    n_max: int | None = None
    perturbation: float | None = None

    @property
    def calibrated(self) -> bool:
        """True if every calibration error is 0."""
        return False

    def truth(self, estimand: str, notion: str | None = None) -> Truth | None:
        """Return the true value of an estimand, or None if it is unknown.

        The result is also None if the problem cannot be judged under the notion. BadInputError if
        the estimand is not defined for the notion.
        """
        notion = notion or ProblemSpec.of(self).default_notions[0]
        if notion not in ProblemSpec.of(self).notions:
            return None
        estimands.check_name(estimand, notion)
        if self.calibrated and estimands.is_distance(estimand):
            return Truth(0.0, 0.0, CALIBRATED)
        return self.compute_truth(estimand, notion)

    def compute_truth(self, estimand: str, notion: str) -> Truth | None:
        """Return the true value of an estimand; subclasses define it.

        `truth` calls it with a valid estimand and a notion of the problem, unless the value is 0 by
        construction.
        """
        raise NotImplementedError

    @property
    def version(self) -> Any:
        return 1

    @property
    def fingerprint(self) -> dict[str, Any] | None:
        return None


class TwoClasses(Generated):
    """Base of generated problems of two classes with the calibration curve C = curve(p).

    p (n,) predicts P(Y = 1), and C = P(Y = 1 given p).
    """

    classes = 2

    def curve(self, p: NDArray[Any]) -> NDArray[Any]:
        """Return P(Y = 1 given p) for p (n,)."""
        raise NotImplementedError

    def posterior(self, p: NDArray[Any]) -> NDArray[Any]:
        """Return C = E[Y given p] with the shape of p.

        For p (n,) this is P(Y = 1 given p); for p (n, 2) it has both columns.
        """
        if p.ndim == 1:
            return self.curve(p)
        c = self.curve(p[:, 1])
        return np.column_stack([1.0 - c, c])


def draw_labels(c: NDArray[Any], rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw labels y (n,) from their probabilities c.

    For c (n,), P(Y = 1) = c and y is 0 or 1. For c (n, k), P(Y = j) = c[:, j] and y is in 0..k-1.
    """
    u = rng.random(len(c))
    if c.ndim == 1:
        return (u < c).astype(np.int64)
    return (u[:, None] > np.cumsum(c, axis=1)[:, :-1]).sum(axis=1)


def _inherited(name: str) -> Any:
    """Return a property that reads the attribute of the same name from the inner problem."""
    return property(lambda self: getattr(self.wrapped, name))


class Wrapper:
    """Base class of problems that change an inner problem, the field `problem`.

    Attributes of the inner problem are inherited, except its posterior, its truths and the
    attributes of files. The change may invalidate these.
    """

    problem: Any
    fingerprint: dict[str, Any] | None = None

    @property
    def wrapped(self) -> ProblemSpec:
        """Attributes of the inner problem."""
        return ProblemSpec.of(self.problem)

    @property
    def version(self) -> Any:
        """Versions of this class and of the inner problem, because samples depend on both."""
        return (1, self.wrapped.version)

    unavailable: Any = _inherited("unavailable")
    notions: Any = _inherited("notions")
    default_notions: Any = _inherited("default_notions")
    classes: Any = _inherited("classes")
    n_max: Any = _inherited("n_max")
    default_n: Any = _inherited("default_n")
    default_reps: Any = _inherited("default_reps")
    shares_rows: Any = _inherited("shares_rows")

    def truth(self, estimand: str, notion: str | None = None) -> Truth | None:
        return None


@dataclass(frozen=True)
class Truth:
    """True value of an estimand on a problem, with its numerical error.

    Parameters
    ----------
    value : float
        The population quantity in the unit of harness.math.estimands: a probability, a squared
        probability, or nats. It is never in percent.
    error : float
        Absolute error: one standard error for values from random points, a bound for quadrature, 0
        for a closed form.
    method : str
        How the value was computed.

    Examples
    --------
    >>> Truth(0.25, 0.0, "closed form").value
    0.25
    """

    value: float
    error: float
    method: str


def find_truth(problem: Any, estimand: str, notion: str) -> Truth | None:
    """Return the true value of an estimand on a problem, or None if it is unknown.

    A problem may return a plain number, which is taken as exact. NaN means unknown, like None.

    Parameters
    ----------
    problem : Problem
        Any problem, with or without a method `truth`.
    estimand, notion : str
        Names of harness.math.estimands and harness.math.notions.

    Returns
    -------
    Truth or None
        None if the problem does not know the value.

    Raises
    ------
    BadInputError
        If the problem returns neither a number, a Truth nor None, or if a user's problem raises an
        error.

    Examples
    --------
    >>> from harness.problems import Beta, maps
    >>> truth = find_truth(Beta(map=maps.LogitAffine(0.4, 0.3)), "l1", "binary")
    >>> round(truth.value, 6)
    0.137157
    """
    if not hasattr(problem, "truth"):
        return None
    call = f"truth({estimand!r}, {notion!r}) of {type(problem).__name__}"
    try:
        answer = problem.truth(estimand, notion)
    except BadInputError:
        raise
    except Exception as error:
        if is_ours(type(problem).__module__) and not error_place(error):
            raise  # a bug of the harness, not of a user's code
        raise BadInputError(
            f"{call} raises {error_text(error)}; it must return None if the value is unknown."
        ) from error
    if answer is None:
        return None
    truth = answer if isinstance(answer, Truth) else Truth(answer, 0.0, "given")
    try:
        value, uncertainty = number(truth.value), number(truth.error)
        if uncertainty < 0:
            raise ValueError(f"error is {uncertainty}")
    except (TypeError, ValueError) as error:
        raise BadInputError(
            f"{call} returns {repr(answer)[:200]}; return a number, "
            "harness.Truth(value, error >= 0, method), or None if the value is unknown."
        ) from error
    return None if math.isnan(value) else Truth(value, stated_error(uncertainty), str(truth.method))
