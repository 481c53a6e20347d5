"""What a problem is, what it may declare and what stands in where it declares nothing; and what it says of an estimand."""

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
    """A distribution of (p, y). `sample` is all that is needed; what else a problem may have is listed in `ProblemSpec`."""

    def sample(self, n: int, rng: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        """Predictions p, (n,) or (n, k), and labels y, (n,); a small n is a prefix of a larger n for an equal `rng`."""
        ...


@runtime_checkable
class Family(Protocol):
    """A name for several problems, which a run takes in its place."""

    def members(self) -> Mapping[str, Any] | None:
        """The problems by their ids; None if this one is a single problem after all."""
        ...


def members_of(problem: object) -> Mapping[str, Any] | None:
    """The members of a family of problems by their ids; None for a single problem."""
    return problem.members() if isinstance(problem, Family) else None


@dataclass(frozen=True)
class ProblemSpec:
    """What a problem declares, each property read when it is first asked for (some need a file), and a default where a problem
    does not have it. This is the only place that knows the defaults.

    `version` is raised when draws or truths change; `fingerprint` is what identifies the problem beside its class, None if its
    fields do.
    """

    problem: Any

    @classmethod
    def of(cls, problem: object) -> ProblemSpec:
        return cls(problem)

    def _get(self, name: str, default: Any) -> Any:
        return getattr(self.problem, name, default)

    @cached_property
    def notions(self) -> tuple[str, ...]:
        """All notions that the problem can be judged under."""
        return tuple(self._get("notions", ("binary",)))

    @cached_property
    def default_notions(self) -> tuple[str, ...]:
        """The notions that a run judges if it does not say which."""
        return tuple(self._get("default_notions", self.notions[:1]))

    @cached_property
    def classes(self) -> int:
        """The number of classes."""
        return int(self._get("classes", 2))

    @cached_property
    def version(self) -> Any:
        """A number, or a tuple of them: other draws or other truths have another."""
        return self._get("version", 0)

    @cached_property
    def fingerprint(self) -> dict[str, Any] | None:
        """What identifies the problem beside its class; None: its fields do."""
        found: dict[str, Any] | None = self._get("fingerprint", None)
        return found

    @cached_property
    def default_n(self) -> Any:
        """The sample size, or a tuple of them, if a run does not say."""
        return self._get("default_n", 1000)

    @cached_property
    def default_reps(self) -> int:
        """The number of replications if a run does not say."""
        return int(self._get("default_reps", 10))

    @cached_property
    def n_max(self) -> int | None:
        """The number of samples at hand; None: as many as wanted."""
        found: int | None = self._get("n_max", None)
        return found

    @cached_property
    def sizes(self) -> tuple[int, ...] | None:
        """The sample sizes for which the problem exists; None: all up to `n_max`."""
        found = self._get("sizes", None)
        return None if found is None else tuple(np.atleast_1d(found).tolist())

    @cached_property
    def unavailable(self) -> str | None:
        """Why the problem cannot be run here, such as a file that is absent; its cells are skipped with this reason."""
        found: str | None = self._get("unavailable", None)
        return found

    @cached_property
    def rows_of_a_file(self) -> bool:
        """Whether samples are rows of a file, drawn without replacement."""
        return bool(self._get("rows_of_a_file", False))

    @cached_property
    def described(self) -> str | None:
        """Of a file: one line that says how it was read."""
        found: str | None = self._get("described", None)
        return found

    @cached_property
    def names(self) -> tuple[str, ...] | None:
        """The names of the classes."""
        found: tuple[str, ...] | None = self._get("names", None)
        return found

    @cached_property
    def top_label(self) -> bool:
        """Whether one-dimensional predictions are confidences and labels say whether each was right."""
        return bool(self._get("top_label", False))

    @cached_property
    def content(self) -> str | None:
        """16 hexadecimal digits that the random streams are seeded by; None: the key of the problem."""
        found: str | None = self._get("content", None)
        return found

    @cached_property
    def stream(self) -> str | None:
        """The name of the random stream that is shared with other problems; None: the problem has its own."""
        found: str | None = self._get("stream", None)
        return found

    @cached_property
    def replication_rng(self) -> Callable[[int], Any] | None:
        """rep -> what `sample` is given as `rng` in place of a Generator (an author's integer seed); None: a Generator."""
        found: Callable[[int], Any] | None = self._get("replication_rng", None)
        return found

    @cached_property
    def posterior(self) -> Callable[[NDArray[Any]], NDArray[Any]] | None:
        """p -> E[Y given p], of the shape of p; None where it is not known."""
        found: Callable[[NDArray[Any]], NDArray[Any]] | None = self._get("posterior", None)
        return found

    @cached_property
    def quadrature(self) -> Callable[..., Any] | None:
        """(width, order) -> scores, their probabilities and their posteriors, of a quadrature over the law of the scores."""
        found: Callable[..., Any] | None = self._get("quadrature", None)
        return found

    @cached_property
    def variation(self) -> float | None:
        """The total variation of E[Y given p] on [0, 1], or a bound on it; None where nothing is known."""
        found: float | None = self._get("variation", None)
        return found

    @cached_property
    def perturbation(self) -> float | None:
        """The h of the sech perturbation that the scores went through (harness.math.sech_noise); None without any."""
        found: float | None = self._get("perturbation", None)
        return found


class Generated:
    """The base of a problem that is drawn from a law, as often as wanted, its scores unperturbed."""

    default_n = 1000
    default_reps = 10
    n_max: int | None = None
    perturbation: float | None = None

    @property
    def version(self) -> int:
        return 1

    @property
    def fingerprint(self) -> dict[str, Any] | None:
        return None


class TwoClasses(Generated):
    """The base of a generated problem of two classes with p = P(Y = 1) as predicted, (n,), and E[Y given p] = curve(p)."""

    classes = 2

    def curve(self, p: NDArray[Any]) -> NDArray[Any]:
        """P(Y = 1 given p), (n,)."""
        raise NotImplementedError

    def posterior(self, p: NDArray[Any]) -> NDArray[Any]:
        """C = E[Y given p]: of (n,) probabilities P(Y = 1 given p), of (n, 2) both columns."""
        if p.ndim == 1:
            return self.curve(p)
        c = self.curve(p[:, 1])
        return np.column_stack([1.0 - c, c])


class Wrapper:
    """The base of a problem that changes another one, its field `problem`: what a subclass does not define is taken over, but
    for posterior, truths and what is specific to files, which the change may make wrong."""

    problem: Any
    fingerprint: dict[str, Any] | None = None

    @property
    def wrapped(self) -> ProblemSpec:
        """What the problem inside declares."""
        return ProblemSpec.of(self.problem)

    @property
    def version(self) -> Any:
        """Raised with that of the problem inside, whose draws these are."""
        return (1, self.wrapped.version)

    @property
    def unavailable(self) -> str | None:
        return self.wrapped.unavailable

    @property
    def notions(self) -> tuple[str, ...]:
        return self.wrapped.notions

    @property
    def default_notions(self) -> tuple[str, ...]:
        return self.wrapped.default_notions

    @property
    def classes(self) -> int:
        return self.wrapped.classes

    @property
    def n_max(self) -> int | None:
        return self.wrapped.n_max

    @property
    def default_n(self) -> Any:
        return self.wrapped.default_n

    @property
    def default_reps(self) -> int:
        return self.wrapped.default_reps

    def truth(self, estimand: str, notion: str | None = None) -> Truth | None:
        return None


@dataclass(frozen=True)
class Truth:
    """The value of an estimand on a problem, with its own error.

    Parameters
    ----------
    value : float
        The population quantity, in the unit of harness.math.estimands: a probability, its square, or nats; never percent.
    error : float
        Absolute: one standard error where the value comes from random points, a bound for quadrature, 0 for a closed form.
    method : str
        How the value was found.

    Examples
    --------
    >>> Truth(0.25, 0.0, "closed form").value
    0.25
    """

    value: float
    error: float
    method: str


def truth_of(problem: Any, estimand: str, notion: str) -> Truth | None:
    """What a problem says of an estimand.

    A problem may return a number in place of a Truth, which is then taken as exact; None and NaN mean that it is unknown.

    Parameters
    ----------
    problem : Problem
        Anybody's problem, with or without a method `truth`.
    estimand, notion : str
        Names of harness.math.estimands and harness.math.notions.

    Returns
    -------
    Truth or None
        None where the problem does not know the value.

    Raises
    ------
    BadInputError
        If the problem returns anything else, or raises an error of its own.

    Examples
    --------
    >>> from harness.problems import Beta, maps
    >>> found = truth_of(Beta(map=maps.LogitAffine(0.4, 0.3)), "l1", "binary")
    >>> round(found.value, 6)
    0.137157
    """
    if not hasattr(problem, "truth"):
        return None
    asked = f"truth({estimand!r}, {notion!r}) of {type(problem).__name__}"
    try:
        found = problem.truth(estimand, notion)
    except Exception as raised:
        if (
            isinstance(raised, BadInputError)
            or is_ours(type(problem).__module__)
            and not error_place(raised)
        ):
            raise
        raise BadInputError(
            f"{asked} raises {error_text(raised)}; where it is unknown it must return None."
        ) from raised
    if found is None:
        return None
    given = found if isinstance(found, Truth) else Truth(found, 0.0, "given")
    try:
        value, error = number(given.value), number(given.error)
        if error < 0:
            raise ValueError(f"error is {error}")
    except (TypeError, ValueError) as wrong:
        raise BadInputError(
            f"{asked} is {repr(found)[:200]}; a number, harness.Truth(value, error >= 0, method) or, where unknown, None "
            "is needed."
        ) from wrong
    return None if math.isnan(value) else Truth(value, stated_error(error), str(given.method))


def integral(
    estimand: str,
    notion: str,
    p: NDArray[Any],
    rest: NDArray[Any],
    c: NDArray[Any],
    c_rest: NDArray[Any],
    weights: NDArray[Any] | None,
) -> float:
    """An estimand of two classes at the nodes p of a quadrature, given rest = 1 - p and c_rest = 1 - c to full relative accuracy.

    The classwise value is the binary one, as both classes carry the same error. Logarithmic estimands need the complements where
    p rounds to 1, and are therefore taken on the two columns, where they are the same quantity.
    """
    if notion == "canonical" or estimand in ("kl", "logloss", "refinement_kl", "sharpness_kl"):
        return estimands.value(
            estimand, np.column_stack([rest, p]), np.column_stack([c_rest, c]), "canonical", weights
        )
    return estimands.value(estimand, p, c, "binary" if notion == "classwise" else notion, weights)
