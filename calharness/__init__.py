"""The package `harness` under the name of the distribution: `import calharness`.

`calharness` and all its modules are the objects of `harness`: `calharness.estimators.Binned` is
`harness.estimators.Binned`. The package `harness` is taken from the folder beside this one, even
if a folder or package of another project has the name `harness` and comes first on the path.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec, module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness import *  # noqa: F403


class _Modules(MetaPathFinder, Loader):
    """Import `calharness.<module>` as `harness.<module>`."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package, _, module = fullname.partition(".")
        # `python -m calharness` runs harness/__main__.py, which the usual finder finds.
        if package != __name__ or module in ("", "__main__"):
            return None
        return spec_from_loader(fullname, self) if find_spec(f"harness.{module}") else None

    def exec_module(self, module: ModuleType) -> None:
        # The import system returns what sys.modules holds once a module has been executed.
        name = module.__name__
        sys.modules[name] = importlib.import_module(f"harness.{name.partition('.')[2]}")


def _package() -> ModuleType:
    """Return the package `harness` beside this one, imported on first use."""
    loaded = sys.modules.get("harness")
    if loaded is not None:
        if not hasattr(loaded, "load_estimator"):
            raise ImportError(
                f"another package named harness was imported ({loaded.__file__}); import "
                "calharness before it, in a process that does not need the other one."
            )
        return loaded
    spec = PathFinder.find_spec("harness", [str(Path(__file__).resolve().parents[1])])
    if spec is None or spec.loader is None:
        raise ImportError("the package harness is missing beside calharness; install it again.")
    package = sys.modules["harness"] = module_from_spec(spec)
    try:
        spec.loader.exec_module(package)
    except BaseException:
        del sys.modules["harness"]
        raise
    return package


sys.modules[__name__] = _package()
sys.meta_path.insert(0, _Modules())
