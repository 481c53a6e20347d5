"""Import users' modules, find the files that they consist of, and locate errors in them.

A local file is one that a user may edit. It belongs neither to the standard library, nor to an
installed package, nor to the harness. Imported modules are found in the source text, so that no
code needs to run.

Two kinds of dependencies are not detected: modules whose name is computed at run time, such as
`importlib.import_module(name)`, and data files. After a change in one of them, `refresh=true`
computes the cells again.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import functools
import importlib
import importlib.util
import inspect
import os
import sys
import sysconfig
import traceback
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from harness.common.escaping import error_message, escape
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
        PACKAGE.parent / "calharness",  # another name of the package
        EXPERIMENTS,
    )
)
# Top-level packages that are trusted not to crash, so cells may use them in any worker process.
_KNOWN = {*sys.stdlib_module_names, "numpy"}
_imported: set[str] = set()  # names of users' modules that this process has tried to import
_digests: dict[str, str] = {}  # {local module: digest of its file at the time of import}


def is_ours(module: str) -> bool:
    """Return True if a module belongs to the harness or to one of the papers in experiments/."""
    return module_name(module).split(".")[0] == "harness"


def is_foreign(module: str) -> bool:
    """Return True if a module belongs neither to the harness, nor to Python, nor to numpy."""
    return not is_ours(module) and module.split(".")[0] not in _KNOWN


def have_run() -> bool:
    """Return True if this process has imported a component that is not part of the harness.

    Such code may have changed anything in the process, for example a function of numpy.
    """
    return bool(_imported)


@functools.lru_cache(maxsize=4096)
def is_local(path: str) -> bool:
    """Return True if a file may be edited by the user, judged by its folder.

    Files of Python, of installed packages and of the harness give False.
    """
    if path.startswith("<"):
        return False
    real = os.path.realpath(path)
    return not real.startswith(_NOT_LOCAL) and _INSTALLED.isdisjoint(real.split(os.sep))


# Files and imports


def source_digests(name: str) -> list[str]:
    """Return texts "module:digest" that change whenever the source of a module changes.

    There is one text for the module and one for each local module that it imports, sorted. The
    digest is that of the module's file.
    """
    digests = _file_digests(name) or {name: "source not at hand"}
    return sorted(f"{module}:{text}" for module, text in digests.items())


def import_current(name: str) -> ModuleType:
    """Import the module `name`, and refuse if its source has changed since an earlier import.

    Python would otherwise run the old code, and its numbers would be stored under the key of the
    new code.

    Raises
    ------
    BadInputError
        If the file of a user's module, or of a local module that it imports, was changed after
        this process imported it.
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
                f"{sys.modules[module].__file__} was edited after Python had imported it; restart "
                "Python (or the notebook's kernel) to run the new code."
            )
    try:
        return importlib.import_module(name)
    finally:
        # Keep the digests of modules that Python has loaded. If the import failed, forget the
        # others: the user may correct them, and the next call should import the new code.
        complete = name in sys.modules
        _digests.update({m: now for m, now in digests.items() if complete or m in sys.modules})


def _file_digests(name: str) -> dict[str, str]:
    """Return {module: digest of its file} for a module and all local modules that it imports.

    The dictionary has no entry for a module without a file, such as one typed at a prompt.
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
    """Return the names of all modules that a source text may import, with their parent packages.

    For `from a import b`, both `a` and `a.b` are returned, because `b` may be a module. The parent
    packages of `module` itself are included too.

    Parameters
    ----------
    source : bytes
        Content of the file.
    module, package : str
        Name of the module in that file, and of the package that relative imports start from.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):  # the import that follows reports the error
        tree = ast.Module([], [])
    names = [module.rpartition(".")[0]]
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            with contextlib.suppress(ImportError):  # a relative import with too many dots
                relative = "." * node.level + (node.module or "")
                base = importlib.util.resolve_name(relative, package)
                names += [base, *(f"{base}.{a.name}" for a in node.names if a.name != "*")]
    split = [name.split(".") for name in names if name]
    return [".".join(parts[: end + 1]) for parts in split for end in range(len(parts))]


def _file(name: str, specs: dict[str, Any]) -> str | None:
    """Return the path of a module's file without importing the module, or None without a file."""
    if name in sys.modules:
        return getattr(sys.modules[name], "__file__", None)
    spec = _spec(name, specs)
    return spec.origin if spec is not None and spec.has_location else None


def _spec(name: str, specs: dict[str, Any]) -> Any:
    """Return the import spec of a module without importing its package, or None.

    `specs` is a cache {module: spec}, to which the result is added.
    """
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
    """Return one line with the type and message of an error, and where in a user's code it arose.

    KeyError: 'no such bin' (bad_module.py, line 2, in bad: raise KeyError('no such bin'))

    If several frames are in a user's code, the innermost one is given.
    """
    message = error_message(error)
    if isinstance(error, SyntaxError) and error.msg:
        message = str(error.msg)
    message = " ".join(escape(message).split())
    if len(message) > 300 and not isinstance(error, BadInputError):
        message = f"{message[:300]} ..."
    place = error_place(error)
    text = "BadInputError" if isinstance(error, BadInputError) else escape(type(error).__name__)
    text += f": {message}" if message else ""
    return text + (f" ({place})" if place else "")


def error_place(error: BaseException) -> str:
    """Return the place in a user's code where an error arose: file, line, function and source.

    If several frames are in a user's code, the innermost one is given. Return '' if none is.
    """
    if isinstance(error, SyntaxError) and error.filename and is_local(error.filename):
        return _place(error.filename, error.lineno, None, error.text)
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if is_local(frame.filename):
            return _place(frame.filename, frame.lineno, frame.name, frame.line)
    return ""


def _place(path: str, line: int | None, name: str | None, text: str | None) -> str:
    shown = os.path.basename(path)
    with contextlib.suppress(OSError):  # the working folder was deleted
        relative = os.path.relpath(os.path.realpath(path), os.path.realpath(os.getcwd()))
        shown = shown if relative.startswith(os.pardir) else relative
    function = f", in {name}" if name and name != "<module>" else ""
    source = f": {text.strip()[:120]}" if text and text.strip() else ""
    return escape(f"{shown}, line {line}{function}{source}")


def find_documented(value: Any) -> Any:
    """Return what has the docstring of an object: a function, or the class of an instance."""
    while isinstance(value, functools.partial):
        value = value.func
    return value if inspect.isroutine(value) else type(value)


def read_docstring(value: Any) -> str:
    """Return the docstring of a function, or of the class of an object.

    Return "" if there is none, or if a dataclass has only the generated one.
    """
    target: Any = find_documented(value)
    text = inspect.cleandoc(target.__doc__ or "")
    generated = f"{target.__name__}("
    return "" if dataclasses.is_dataclass(target) and text.startswith(generated) else text
