"""Configuration of the object that a comparison is about, and the object itself."""

from __future__ import annotations

import dataclasses
import inspect
import re
from typing import Any

from omegaconf import OmegaConf

from harness.comparing.request import LIMIT, Request
from harness.configure.options import ids, option
from harness.errors import BadInputError
from harness.execute import processes, supervise
from harness.plan import components, requirements, targets
from harness.plan.components import Component


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


def load(request: Request, name: str, config: dict[str, Any], in_child: bool) -> Component:
    """Build the object to compare, and return it as a component.

    With `in_child`, a child process builds it first, because importing a user's module may end the
    process.

    Raises
    ------
    BadInputError
        If the object cannot be built, or does not meet the requirements.
    """
    if in_child and name not in ids(request.group):
        task = (request.group, name, config)
        try:
            limits = processes.Limits(max(LIMIT, request.limit))
            supervise.call(f"{__name__}:check_import", task, limits)
        except processes.EndedError as end:
            module = str(config.get("calibrator", config)["_target_"]).rpartition(".")[0]
            raise BadInputError(f"importing {module} {end}; correct the module.") from None
    component = components.build_component(request.group, name, config)
    requirements.verify(request.group, component)
    return component


def check_import(task: tuple[str, str, dict[str, Any]]) -> None:
    """Build the object of (group, name, configuration). `load` calls this in a child process."""
    components.build(*task)
