"""The options of a comparison, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from harness.errors import BadInputError, guess

LIMIT = 60.0  # seconds that a cell may take unless limit= says otherwise
OPTIONS = (
    "problem",
    "calibrator",
    "n",
    "reps",
    "family",
    "notion",
    "estimand",
    "out",
    "jobs",
    "limit",
    "baseline",
)


@dataclass(frozen=True)
class Asked:
    """What is compared, and what of it. kind: estimator | problem | calibrator; target: module.Name, an id, or an object."""

    kind: str
    target: Any
    n: tuple[int, ...] = ()
    reps: int | None = None
    family: tuple[str, ...] = ()
    notion: tuple[str, ...] = ()
    estimand: tuple[str, ...] = ()
    out: Any = None
    jobs: int = -1
    limit: float = LIMIT
    baseline: Any = None

    @property
    def limits(self) -> str:
        """In words, to what the comparison was restricted."""
        given = {
            name: getattr(self, name) for name in ("n", "reps", "family", "notion", "estimand")
        }
        lists = {
            name: value if isinstance(value, tuple) else (value,)
            for name, value in given.items()
            if value
        }
        return ", ".join(
            f"{name} = {', '.join(map(str, values))}" for name, values in lists.items()
        )


def refuse_unknown(given: dict[str, Any]) -> None:
    """Raise BadInputError if a name is no option of a comparison."""
    for name in given:
        if name not in OPTIONS:
            raise BadInputError(
                f"compare has no option {name!r}{guess(name, OPTIONS)}; it takes {', '.join(OPTIONS)}."
            )


def checked(asked: Asked) -> Asked:
    """The same, if its values are allowed. Raises BadInputError otherwise."""
    from harness.math.notions import NOTIONS  # numpy is not loaded for help and completion

    def whole(value: Any) -> bool:
        return isinstance(value, int) and not isinstance(value, bool)

    if asked.reps is not None and not (whole(asked.reps) and asked.reps >= 2):
        raise BadInputError(f"reps is {asked.reps!r}; at least 2 replications are needed.")
    if not whole(asked.jobs) or asked.jobs == 0:
        raise BadInputError(
            f"jobs is {asked.jobs!r}; a positive number of processes, or -1 for one per core, is needed."
        )
    if (
        isinstance(asked.limit, bool)
        or not isinstance(asked.limit, (int, float))
        or not asked.limit > 0
    ):
        raise BadInputError(
            f"limit is {asked.limit!r}; a positive number of seconds that a cell may take is needed."
        )
    for name in asked.notion:
        if name not in NOTIONS:
            raise BadInputError(f"notion is {name!r}; allowed are {', '.join(NOTIONS)}.")
    return asked
