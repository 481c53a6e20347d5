"""Every example in a docstring of the library runs and prints what it says."""

import doctest
import importlib
import pkgutil
import warnings

import numpy as np
import pytest
from slow_params import slow

import harness
from harness import experiments as papers

MODULES = sorted(
    name
    for _, name, _ in pkgutil.walk_packages(harness.__path__, "harness.")
    if name != "harness.__main__"
) + sorted(
    name for _, name, _ in pkgutil.walk_packages(papers.__path__, "harness.experiments.")
)  # fmt: skip


SLOW = ("harness.calibrators.boosting",)


@pytest.mark.parametrize("name", ["harness", *(m for m in MODULES if m not in SLOW), *slow(*SLOW)])
def test_examples_run(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        module = importlib.import_module(name)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    failed, _ = doctest.testmod(module, extraglobs={"np": np}, optionflags=flags)
    assert failed == 0


@pytest.mark.parametrize("package", ["estimators", "problems", "calibrators"])
def test_every_public_class_has_an_example_and_sections(package):
    """Classes with parameters have a section for them."""
    from dataclasses import fields, is_dataclass

    module = importlib.import_module(f"harness.{package}")
    for name in module.__all__:
        public = getattr(module, name)
        assert ">>> " in (public.__doc__ or ""), f"{name} has no example"
        documented = False  # in the class itself, or in the base that has the field
        for kind in public.__mro__ if isinstance(public, type) and is_dataclass(public) else ():
            documented |= "Parameters\n" in (kind.__doc__ or "")
            annotations = vars(kind).get("__annotations__", {}) if is_dataclass(kind) else {}
            if any(field.init and field.name in annotations for field in fields(public)):
                assert documented, f"{kind.__name__}, of {name}, has no section Parameters"
