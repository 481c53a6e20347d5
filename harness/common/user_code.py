"""Users' code: the files that it consists of, its import, and the place of an error in it.

A local file is one that a user edits: it is in neither the standard library, nor an installed
package, nor this one. Imports are read off the source, so a module that is not imported yet counts
too. Modules whose name is only known at run time (importlib.import_module(name)) and files of data
are not seen: `refresh=true` computes anew after those change.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib
import importlib.util
import os
import sys
import sysconfig
import traceback
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from harness.common.escaping import escape, message_of
from harness.common.module_names import module_name
from harness.common.paths import EXPERIMENTS, PACKAGE
from harness.common.seeds import digest
from harness.errors import BadInputError

_INSTALLED = {"site-packages", "dist-packages"}
_NOT_LOCAL = tuple(
    os.path.realpath(folder) + os.sep
    for folder in (
        sysconfig.get_paths()["stdlib"],
        sysconfig.get_paths()["platstdlib"],
        PACKAGE,
        EXPERIMENTS,
    )
)
_KNOWN = {*sys.stdlib_module_names, "numpy"}  # packages that need no process of their own
_imported: set[str] = set()  # users' modules that this process was asked to import
_digests: dict[str, str] = {}  # {local module: digest of its file when it was imported}


def is_ours(module: str) -> bool:
    """Return True for a module of the harness or of one of its papers."""
    return module_name(module).split(".")[0] == "harness"


def is_foreign(module: str) -> bool:
    """Return True for a module that is neither ours, nor Python's or numpy's."""
    return not is_ours(module) and module.split(".")[0] not in _KNOWN


def have_run() -> bool:
    """Return True if this process has imported a component's code that is not ours.

    From then on anything may be changed in this process, such as a function of numpy.
    """
    return bool(_imported)


@functools.lru_cache(maxsize=4096)
def is_local(path: str) -> bool:
    """Return True for a file that a user edits, by its folder."""
    if path.startswith("<"):
        return False
    real = os.path.realpath(path)
    return not real.startswith(_NOT_LOCAL) and _INSTALLED.isdisjoint(real.split(os.sep))


# Files and imports


def source_digests(name: str) -> list[str]:
    """Return "module:digest of its file" for a module and all local modules that it imports."""
    digests = _file_digests(name) or {name: "source not at hand"}
    return sorted(f"{module}:{text}" for module, text in digests.items())


def import_current(name: str) -> ModuleType:
    """Import a module.

    Raises
    ------
    BadInputError
        If the file of a user's module, or of a local module that it imports, changed after this
        process imported it. Python would run the old code under the key of the new one.
    """
    if is_ours(name):
        return importlib.import_module(module_name(name))
    _imported.add(name)
    if name == "__main__":
        return importlib.import_module(name)
    digests = _file_digests(name)
    for module, now in digests.items():
        if module in sys.modules and _digests.get(module, now) != now:
            raise BadInputError(
                f"{sys.modules[module].__file__} changed after Python imported it; restart Python "
                "(in a notebook, its kernel) to run the new code."
            )
    try:
        return importlib.import_module(name)
    finally:
        # modules that a later call imports count too; modules that failed may be repaired
        complete = name in sys.modules
        _digests.update({m: now for m, now in digests.items() if complete or m in sys.modules})


def _file_digests(name: str) -> dict[str, str]:
    """Return {module: digest of its file} for a module and all local modules that it imports.

    Modules without a file (built in, or typed at a prompt) are left out.
    """
    importlib.invalidate_caches()
    digests: dict[str, str] = {}
    specs: dict[str, Any] = {}
    waiting = [name]
    while waiting:
        module = waiting.pop()
        path = _file(module, specs)
        if module in digests or not path or not os.path.isfile(path):
            continue
        content = Path(path).read_bytes()
        digests[module] = digest(content.hex())
        if path.endswith(".py"):
            is_package = os.path.basename(path) == "__init__.py"
            package = module if is_package else module.rpartition(".")[0]
            names = dict.fromkeys(_import_names(content, module, package))
            waiting += [other for other in names if _is_local_file(_file(other, specs))]
    return digests


def _is_local_file(path: str | None) -> bool:
    return bool(path) and is_local(str(path)) and os.path.isfile(str(path))


@functools.lru_cache(maxsize=1024)
def _import_names(source: bytes, module: str, package: str) -> list[str]:
    """Return the names of all modules that a source may import, with the packages above them.

    A name that is imported from a module may be a module too. The packages above `module` count.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):  # the import itself reports the error
        tree = ast.Module([], [])
    names = [module.rpartition(".")[0]]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            with contextlib.suppress(ImportError):  # more dots than there are packages
                relative = "." * node.level + (node.module or "")
                base = importlib.util.resolve_name(relative, package)
                names += [base, *(f"{base}.{a.name}" for a in node.names if a.name != "*")]
    split = [name.split(".") for name in names if name]
    return [".".join(parts[: end + 1]) for parts in split for end in range(len(parts))]


def _file(name: str, specs: dict[str, Any]) -> str | None:
    """Return the file of a module, loaded or not, without importing it; None if it has none."""
    if name in sys.modules:
        return getattr(sys.modules[name], "__file__", None)
    spec = _spec(name, specs)
    return spec.origin if spec is not None and spec.has_location else None


def _spec(name: str, specs: dict[str, Any]) -> Any:
    """Return the spec of a module without importing its package. Cache it in `specs`."""
    if name not in specs:
        package = name.rpartition(".")[0]
        try:
            if not package:
                specs[name] = importlib.util.find_spec(name)
            else:
                above = sys.modules[package] if package in sys.modules else _spec(package, specs)
                folders = getattr(above, "submodule_search_locations", None)
                folders = folders or getattr(above, "__path__", None)
                specs[name] = PathFinder.find_spec(name, folders) if folders else None
        except (ImportError, ValueError, AttributeError):
            specs[name] = None
    return specs[name]


# Errors


def error_text(error: BaseException) -> str:
    """Return an error on one line: type, message, and the innermost place in a user's code.

    KeyError: 'no such bin' (bad_module.py, line 2, in bad: raise KeyError('no such bin'))
    """
    message = str(error.msg) if isinstance(error, SyntaxError) and error.msg else message_of(error)
    message = " ".join(escape(message).split())
    if len(message) > 300 and not isinstance(error, BadInputError):
        message = f"{message[:300]} ..."
    place = error_place(error)
    text = "BadInputError" if isinstance(error, BadInputError) else escape(type(error).__name__)
    text += f": {message}" if message else ""
    return text + (f" ({place})" if place else "")


def error_place(error: BaseException) -> str:
    """Return file, line, function and text of the innermost line of a user's code, or ''."""
    if isinstance(error, SyntaxError) and error.filename and is_local(error.filename):
        return _place(error.filename, error.lineno, None, error.text)
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if is_local(frame.filename):
            return _place(frame.filename, frame.lineno, frame.name, frame.line)
    return ""


def _place(path: str, line: int | None, name: str | None, text: str | None) -> str:
    relative = os.path.relpath(os.path.realpath(path), os.path.realpath(os.getcwd()))
    shown = os.path.basename(path) if relative.startswith(os.pardir) else relative
    function = f", in {name}" if name and name != "<module>" else ""
    source = f": {text.strip()[:120]}" if text and text.strip() else ""
    return escape(f"{shown}, line {line}{function}{source}")
