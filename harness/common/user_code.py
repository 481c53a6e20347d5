"""Code of strangers: which files it consists of, what it imports, and where in it an error came from.

A local file is one that lies neither in the standard library, nor among installed packages, nor in this one: what its owner
edits. Imports are read off the source, so that a module which nothing has imported yet counts as well; one whose name is only
known when it runs (importlib.import_module(name)) and files of data are not seen: `refresh=true` computes anew after those.
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
from harness.common.paths import EXPERIMENTS, PACKAGE
from harness.common.seeds import digest
from harness.errors import BadInputError
from harness.experiments import module_name

_INSTALLED = ("site-packages", "dist-packages")
_NOT_THEIRS = tuple(
    os.path.realpath(folder) + os.sep
    for folder in (
        sysconfig.get_paths()["stdlib"],
        sysconfig.get_paths()["platstdlib"],
        PACKAGE,
        EXPERIMENTS,
    )
)
# code that needs no process of its own: Python's, and what the harness computes with
_KNOWN = {*sys.stdlib_module_names, "numpy"}
_ran: set[str] = set()  # modules of other people that this process was asked to import
_imported_as: dict[
    str, str
] = {}  # {local module: digest of its file when this process imported it}


def ours(module: str) -> bool:
    """Return whether a module is part of the harness or of one of its papers."""
    return module_name(module).split(".")[0] == "harness"


def is_foreign(module: str) -> bool:
    """Return whether a module is neither ours, nor Python's or numpy's."""
    return not ours(module) and module.split(".")[0] not in _KNOWN


def have_run() -> bool:
    """Return whether this process has imported a component's code that is not ours.

    From then on anything may be changed in this process, such as a function of numpy.
    """
    return bool(_ran)


@functools.lru_cache(maxsize=4096)
def is_local(path: str) -> bool:
    """Whether a file is a stranger's own, by where it lies."""
    if path.startswith("<"):
        return False
    whole = os.path.realpath(path)
    return not whole.startswith(_NOT_THEIRS) and not set(_INSTALLED) & set(whole.split(os.sep))


def sources(name: str) -> list[str]:
    """["module:digest of its file", ...] of a module and of all local modules that it imports, directly or not."""
    found = {module: own for module, (own, _) in _closure(name).items()}
    return sorted(
        f"{module}:{own}" for module, own in (found or {name: "source not at hand"}).items()
    )


def current(name: str) -> ModuleType:
    """Import a module.

    Raises
    ------
    BadInputError
        If the file of a user's module, or of a local module that it imports, changed after this process imported it: Python
        would run the old code under the key of the new one.
    """
    if not ours(name):
        _ran.add(name)
    if ours(name) or name == "__main__":
        return importlib.import_module(module_name(name))
    digests = {module: own for module, (own, _) in _closure(name).items()}
    for module, now in digests.items():
        if module in sys.modules and _imported_as.get(module, now) != now:
            raise BadInputError(
                f"{sys.modules[module].__file__} changed after Python imported it; restart Python (in a notebook, its kernel) to "
                "run the new code."
            )
    try:
        return importlib.import_module(name)
    finally:
        complete = name in sys.modules
        for module, now in digests.items():
            if (
                module in sys.modules or complete
            ):  # what a call imports later counts too; what failed may be repaired
                _imported_as[module] = now


def _closure(name: str) -> dict[str, tuple[str, list[str]]]:
    """{module: (digest of its file, local modules that it imports)} of a module, local or not, and of the local ones that it
    imports; {} without a file (built in, or typed at a prompt)."""
    importlib.invalidate_caches()
    found: dict[str, tuple[str, list[str]]] = {}
    specs: dict[str, Any] = {}
    waiting = [name]
    while waiting:
        module = waiting.pop()
        path = _file(module, specs)
        if module in found or not path or not os.path.isfile(path):
            continue
        content = Path(path).read_bytes()
        package = module if os.path.basename(path) == "__init__.py" else module.rpartition(".")[0]
        named = _imports(content, module, package) if path.endswith(".py") else []
        imported = [
            m for m in dict.fromkeys(named) if m != module and _is_local_file(_file(m, specs))
        ]
        found[module] = digest(content.hex()), imported
        waiting += imported
    return found


def _is_local_file(path: str | None) -> bool:
    return path is not None and path != "" and is_local(path) and os.path.isfile(path)


@functools.lru_cache(maxsize=1024)
def _imports(source: bytes, module: str, package: str) -> list[str]:
    """Names of the modules that a source may import, those of the packages above them and above itself included; a name taken
    from a module may be a module too."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):  # the import itself will say so
        tree = ast.Module([], [])
    names = [module.rpartition(".")[0]]
    for at in ast.walk(tree):
        if isinstance(at, ast.Import):
            names += [alias.name for alias in at.names]
        elif isinstance(at, ast.ImportFrom):
            with contextlib.suppress(ImportError):  # more dots than there are packages
                base = importlib.util.resolve_name("." * at.level + (at.module or ""), package)
                names += [
                    base,
                    *(f"{base}.{alias.name}" for alias in at.names if alias.name != "*"),
                ]
    return [
        ".".join(parts[: i + 1])
        for parts in (n.split(".") for n in names if n)
        for i in range(len(parts))
    ]


def _file(name: str, specs: dict[str, Any] | None = None) -> str | None:
    """The file of a module, loaded or not, without importing it; None without one."""
    if name in sys.modules:
        return getattr(sys.modules[name], "__file__", None)
    specs = {} if specs is None else specs
    spec = _spec(name, specs)
    return spec.origin if spec is not None and spec.has_location else None


def _spec(name: str, specs: dict[str, Any]) -> Any:
    if name not in specs:
        package = name.rpartition(".")[0]
        try:
            if not package:
                specs[name] = importlib.util.find_spec(name)
            else:
                above = sys.modules[package] if package in sys.modules else _spec(package, specs)
                folders = getattr(above, "submodule_search_locations", None) or getattr(
                    above, "__path__", None
                )
                specs[name] = PathFinder.find_spec(name, folders) if folders else None
        except (ImportError, ValueError, AttributeError):
            specs[name] = None
    return specs[name]


def said(error: BaseException) -> str:
    """An error on one line: its type, its message and, where it comes from a stranger's code, the innermost place there:
    KeyError: 'no such bin' (bad_module.py, line 2, in bad: raise KeyError('no such bin'))."""
    message = str(error.msg) if isinstance(error, SyntaxError) and error.msg else message_of(error)
    message = " ".join(escape(message).split())
    if len(message) > 300 and not isinstance(error, BadInputError):
        message = f"{message[:300]} ..."
    place = where(error)
    kind = "BadInputError" if isinstance(error, BadInputError) else escape(type(error).__name__)
    return f"{kind}{f': {message}' if message else ''}{f' ({place})' if place else ''}"


def where(error: BaseException) -> str:
    """File, line, function and text of the innermost line of a stranger's code that an error passed through, '' without any."""
    if isinstance(error, SyntaxError) and error.filename and is_local(error.filename):
        return _place(error.filename, error.lineno, None, error.text)
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if is_local(frame.filename):
            return _place(frame.filename, frame.lineno, frame.name, frame.line)
    return ""


def _place(path: str, line: int | None, name: str | None, text: str | None) -> str:
    inside = os.path.relpath(os.path.realpath(path), os.path.realpath(os.getcwd()))
    shown = os.path.basename(path) if inside.startswith(os.pardir) else inside
    function = f", in {name}" if name and name != "<module>" else ""
    source = f": {text.strip()[:120]}" if text and text.strip() else ""
    return escape(f"{shown}, line {line}{function}{source}")
