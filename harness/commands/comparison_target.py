"""Configuration of the object that a comparison is about."""

from __future__ import annotations

import dataclasses
import inspect
import re
from typing import Any

from omegaconf import OmegaConf

from harness.commands.comparison_request import Request
from harness.configure.options import ids, option
from harness.errors import BadInputError
from harness.plan import components, targets


def configuration(request: Request) -> tuple[str, dict[str, Any]]:
    """Return the id and the configuration of the object to compare.

    Raises
    ------
    BadInputError
        If `target` is an object that other processes cannot import.
    """
    target, group = request.target, request.group
    if isinstance(target, str) and "." not in target:
        node = OmegaConf.create(option(group, target).config)
        stored: Any = OmegaConf.to_container(node, resolve=True)
        return target, stored
    if isinstance(target, str):
        name, config = target.rpartition(".")[2], {"_target_": target}
    else:
        name, config = _object_configuration(target, request.kind)
    if request.kind == "calibrator":
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
