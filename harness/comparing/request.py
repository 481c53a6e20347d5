"""Request for a comparison: the object to compare, and a part of the arena.

A request is checked before anything is loaded: only the description of the baseline is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import yaml

from harness.common.arguments import named_values
from harness.configure.options import ids
from harness.errors import BadInputError, guess
from harness.math import estimands
from harness.records import baseline_description
from harness.records.baseline_description import Description

KINDS = ("problem", "calibrator")  # kinds of objects other than an estimator
LISTS = ("n", "family", "notion", "estimand")  # options that take several values
SINGLE = ("reps", "out", "jobs", "limit", "baseline")  # options that take one value
LIMIT = 60.0  # seconds that a cell may take by default
PARTS = ("n", "reps", "family", "notion", "estimand")  # options that restrict the arena
# A quick comparison uses the first replications of problems with few classes, because many classes
# take most of the time.
QUICK_REPS = 5
QUICK_CLASSES = 26


@dataclass(frozen=True)
class Request:
    """Request for a comparison with the arena.

    Parameters
    ----------
    kind : str
        "estimator", "problem" or "calibrator".
    target : str or object
        Object to compare: "module.Name", an id, or the object itself.
    n, family, notion, estimand : tuple
        Values to which the comparison is restricted. An empty tuple means no restriction.
    reps : int, optional
        Number of replications to use, from the first on. By default, all are used.
    out, baseline : path, optional
        Folder of results, and folder of the stored baseline.
    jobs : int
        Number of worker processes; -1 for one per core.
    limit : float
        Seconds that a cell may take.
    quick : bool, optional
        True for a first verdict: problems have at most QUICK_CLASSES classes, and `reps` is
        QUICK_REPS unless it is given. By default, a request without any restriction is quick.
    """

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
    quick: bool | None = None

    def __post_init__(self) -> None:
        target = self.target
        if isinstance(target, str) and "." not in target:
            known = [] if self.kind == "calibrator" else ids(self.group)
            if target not in known:
                raise BadInputError(
                    f"there is no {self.kind} {target!r}{guess(target, known)}; "
                    "give module.Name, or an id of `calharness list`."
                )
        if self.kind == "problem" and self.family:
            raise BadInputError(
                "family= selects problems of the arena, but problem= gives a problem of your own; "
                "leave family= out."
            )
        for name, low in (("reps", 2), ("jobs", -1)):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < low):
                raise BadInputError(f"{name} is {value!r}; give an integer of at least {low}.")
        if type(self.limit) not in (int, float) or not self.limit > 0:
            raise BadInputError(
                f"limit is {self.limit!r}; give a positive number of seconds per cell."
            )
        for estimand in self.estimand:
            estimands.check_name(str(estimand))

    @property
    def group(self) -> str:
        """Group that the object belongs to in the plan: "problem" or "estimator"."""
        return "problem" if self.kind == "problem" else "estimator"

    @property
    def limits(self) -> str:
        """Restrictions of the comparison in words, such as 'n = 100, 200, notion = binary'."""
        texts = [f"at most {QUICK_CLASSES} classes"] if self.quick else []
        for name in PARTS:
            value = getattr(self, name)
            if value:
                values = value if isinstance(value, tuple) else (value,)
                texts.append(f"{name} = {', '.join(map(str, values))}")
        return ", ".join(texts)

    def selects(self, family: str, classes: int) -> bool:
        """Return True if the comparison uses problems of this family and number of classes."""
        is_chosen = not self.family or family in self.family
        return is_chosen and not (self.quick and classes > QUICK_CLASSES)

    def selects_sample(self, notion: str, n: int, rep: int) -> bool:
        """Return True if the comparison uses replication `rep` of size n under this notion."""
        is_chosen = not self.notion or notion in self.notion
        return is_chosen and (not self.n or n in self.n) and (not self.reps or rep < self.reps)


def complete(request: Request) -> Request:
    """Check a request against the description of its baseline, and decide whether it is quick.

    Raises
    ------
    BadInputError
        If the baseline does not have a requested value, or if there is no baseline.
    """
    description = baseline_description.read(request.baseline)
    _check_parts(request, description)
    quick = request.quick
    if quick is None:
        quick = not any(getattr(request, name) for name in PARTS)
    reps = request.reps
    if quick and reps is None:
        reps = min(QUICK_REPS, description.reps)
    return replace(request, quick=quick, reps=reps)


def read_request(words: Sequence[str], quick: bool | None) -> Request:
    """Return the request for a comparison that the words of the command line describe."""
    targets = [("estimator", word) for word in words if "=" not in word]
    given = [word for word in words if "=" in word]
    values: dict[str, Any] = {}
    for name, text in named_values("compare", given, (*KINDS, *LISTS, *SINGLE)).items():
        if name in KINDS:
            targets.append((name, text))
            continue
        try:
            items = yaml.safe_load(text if text.startswith("[") else f"[{text}]")
        except yaml.YAMLError as error:
            raise BadInputError(
                f"{name}={text} cannot be read; write a value as NAME=VALUE and a list as NAME=A,B."
            ) from error
        if name in LISTS:
            values[name] = tuple(items)
        elif items:
            values[name] = items[0]
    if len(targets) != 1:
        raise BadInputError(
            f"compare was given {' '.join(name for _, name in targets) or 'nothing to compare'}; "
            "give one estimator (module.Name or an id), problem=module.Name, or "
            "calibrator=module.Name."
        )
    return complete(Request(*targets[0], quick=quick, **values))


def _check_parts(request: Request, description: Description) -> None:
    known: dict[str, list[Any]] = {
        "n": description.n,
        "family": sorted(description.families),
        "notion": description.notions,
    }
    for name, values in known.items():
        for value in getattr(request, name):
            if value not in values:
                raise BadInputError(
                    f"{name} is {value!r}, which the baseline does not have; choose among "
                    f"{', '.join(map(str, values))}."
                )
    if request.reps is not None and request.reps > description.reps:
        raise BadInputError(
            f"reps is {request.reps}, but the baseline has {description.reps} replications; give "
            f"at most reps={description.reps}."
        )
