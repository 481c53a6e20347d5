"""Request for a comparison: the object to compare, and a part of the arena."""

from __future__ import annotations

import dataclasses
import inspect
import re
from dataclasses import dataclass
from typing import Any

from omegaconf import OmegaConf

from harness.configure.options import ids, option
from harness.errors import BadInputError, guess
from harness.plan import components, targets

LIMIT = 60.0  # seconds that a cell may take by default
PARTS = ("n", "reps", "family", "notion", "estimand")  # options that restrict the arena


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

    def __post_init__(self) -> None:
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

    @property
    def group(self) -> str:
        """Group that the object belongs to in the plan: "problem" or "estimator"."""
        return "problem" if self.kind == "problem" else "estimator"

    @property
    def limits(self) -> str:
        """Restrictions of the comparison in words, such as 'n = 100, 200, notion = binary'."""
        texts = []
        for name in PARTS:
            value = getattr(self, name)
            if value:
                values = value if isinstance(value, tuple) else (value,)
                texts.append(f"{name} = {', '.join(map(str, values))}")
        return ", ".join(texts)

    def configuration(self) -> tuple[str, dict[str, Any]]:
        """Return the id and the configuration of the object to compare.

        Raises
        ------
        BadInputError
            If `target` is an unknown id, or an object that other processes cannot import.
        """
        target, group = self.target, self.group
        if isinstance(target, str) and "." not in target:
            if self.kind == "calibrator" or target not in ids(group):
                known = [] if self.kind == "calibrator" else ids(group)
                raise BadInputError(
                    f"there is no {self.kind} {target!r}{guess(target, known)}; "
                    "give module.Name, or an id of `calharness list`."
                )
            node = OmegaConf.create(option(group, target).config)
            stored: Any = OmegaConf.to_container(node, resolve=True)
            return target, stored
        if isinstance(target, str):
            name, config = target.rpartition(".")[2], {"_target_": target}
        else:
            name, config = _object_configuration(target, self.kind)
        if self.kind == "calibrator":
            name = f"variational_{name}"
            target = "harness.estimators.Variational"
            config = dict[str, Any](_target_=target, calibrator=config)
        name = re.sub(r"\W", "_", name)
        return f"own_{name}" if name in ids(group) else name, config


def _object_configuration(target: Any, kind: str) -> tuple[str, dict[str, Any]]:
    """Return the name and the configuration of an object.

    The object is a function, a class, or an instance of a dataclass.
    """
    if inspect.isfunction(target) or isinstance(target, type):
        source: Any = target
        config: dict[str, Any] = {"_target_": f"{target.__module__}.{target.__qualname__}"}
    elif dataclasses.is_dataclass(target):
        source, config = type(target), components.configuration(target)
    else:
        raise BadInputError(
            f"{kind} is {target!r}; give an id, 'module.Name', a function, a class, or an instance "
            "of a dataclass."
        )
    path = config["_target_"]
    if "<" in path or targets.import_object(path, kind) is not source:
        raise BadInputError(
            f"{kind} {source.__qualname__} cannot be imported as {path}; define it at the top "
            "level of a module."
        )
    return source.__qualname__, config
