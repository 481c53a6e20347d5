"""Import the objects that `_target_` names, and list the modules of user code among them."""

from __future__ import annotations

import signal
from typing import Any

from harness.common.module_names import current_path
from harness.common.user_code import error_text, import_current, is_foreign, is_ours, source_digests
from harness.configure import trust
from harness.errors import BadInputError, guess


def import_object(path: Any, where: str) -> Any:
    """Import the object at a dotted path, and return it.

    Raises
    ------
    BadInputError
        If the object cannot be imported. The message begins with `where`.
    """
    module_path, _, name = current_path(str(path)).rpartition(".")
    if not module_path:
        raise BadInputError(f"{where}: _target_ is {path!r}; give a dotted path, module.Name.")
    try:
        module = import_current(module_path)
    except BadInputError:
        raise
    except (Exception, SystemExit, KeyboardInterrupt) as error:
        if isinstance(error, KeyboardInterrupt) and _is_signal(error):
            raise
        absent = error.name if isinstance(error, ModuleNotFoundError) else None
        if absent and f"{module_path}.".startswith(f"{absent}."):
            raise BadInputError(
                f"{where}: cannot import {module_path!r} ({error}); install it, or start in the "
                "folder that contains it."
            ) from error
        raise BadInputError(
            f"{where}: {module_path!r} raised an error when it was imported "
            f"({error_text(error)}); correct the module."
        ) from error
    if not hasattr(module, name):
        close = guess(name, list(vars(module)))
        raise BadInputError(
            f"{where}: module {module_path!r} has no {name!r}{close}; correct the name."
        )
    value = getattr(module, name)
    # Modules of the harness import os and others. A configuration must not reach these.
    if is_ours(module_path) and not is_ours(str(getattr(value, "__module__", ""))):
        raise BadInputError(
            f"{where}: {path} is defined in another module, which {module_path!r} imports; give "
            "the path of the defining module."
        )
    return value


def _is_signal(error: KeyboardInterrupt) -> bool:
    """Return True if an interruption may come from a signal, not from an imported module.

    The handlers of the command line raise a subclass. Python's own handler raises the class itself.
    """
    is_python_handler = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    return type(error) is not KeyboardInterrupt or is_python_handler


def user_sources(config: Any) -> list[str]:
    """Return texts "module:digest" for the sources of all user code in a configuration, sorted."""
    return sorted(
        {source for module in _target_modules(config) for source in source_digests(module)}
    )


def foreign_modules(config: Any) -> tuple[str, ...]:
    """Return the modules outside the harness that a configuration names or that define its objects.

    Python, numpy and the harness itself do not count.
    """
    objects = {module for module in _object_modules(config) if is_foreign(module)}
    return tuple(sorted(_target_modules(config) | objects))


def _target_modules(config: Any) -> set[str]:
    """Return the modules that a `_target_` in a configuration uses, without those of the harness.

    They are the modules named in the paths, and the modules that define the imported objects.
    """
    modules = set()
    for target in targets(config):
        module = target.rpartition(".")[0]
        modules |= {
            module,
            getattr(import_object(target, "_target_"), "__module__", None) or module,
        }
    return {module for module in modules if not is_ours(module)}


def _object_modules(config: Any) -> set[str]:
    """Return the modules that define the objects inside a configuration.

    Only a member of a family of problems has objects in its configuration.
    """
    if isinstance(config, (list, tuple)):
        return {module for item in config for module in _object_modules(item)}
    if isinstance(config, dict):
        return {module for item in config.values() for module in _object_modules(item)}
    return {str(getattr(config, "__module__", None) or type(config).__module__)}


def targets(config: Any) -> list[str]:
    """Return all `_target_` of a configuration, nested ones included."""
    return [path for _, path in trust.targets(config, "")]
