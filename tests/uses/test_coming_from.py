"""The page on other libraries: both calls of every row are evaluated, where the library is here."""

import importlib
import re

import numpy as np
import pytest
from printed import ROOT

import harness
from harness.problems import Beta, Dirichlet
from harness.problems.maps import LogitAffine, Power

PAGE = "docs/how-to/coming-from.md"
ROW = re.compile(r"^\| ([\w-]+) \| `(.+?)` \| `(harness.+?)` \| (equal|differs) \|", re.M)
ROWS = ROW.findall((ROOT / PAGE).read_text())
TOLERANCE = 1e-6


def names(library):
    """Return the names that calls use: samples without ties, the library, tensors."""
    p, y = Beta(map=LogitAffine(0.4, 0.3)).sample(1500, np.random.default_rng(0))
    big_p, big_y = Dirichlet(3, map=Power(0.5)).sample(1500, np.random.default_rng(1))
    values = {"harness": harness, "p": p, "y": y, "P": big_p, "Y": big_y}
    if library in ("torchmetrics", "probmetrics"):
        values["tensor"] = pytest.importorskip("torch").tensor
    if library == "probmetrics":
        kinds = importlib.import_module("probmetrics.distributions")
        values["labels"] = lambda y: kinds.CategoricalDirac(values["tensor"](y), n_classes=3)
        values["probs"] = lambda p: kinds.CategoricalProbs(values["tensor"](p))
    return values


def import_parts(call):
    """Import the package of a call and the modules that it names; skip without the package."""
    parts = re.match(r"[\w.]+", call)[0].split(".")
    package = pytest.importorskip(parts[0])
    for i in range(2, len(parts)):
        importlib.import_module(".".join(parts[:i]))
    return {parts[0]: package}


@pytest.mark.parametrize(("library", "theirs", "ours", "verdict"), ROWS)
def test_a_row_compares_the_two_numbers_as_it_says(library, theirs, ours, verdict):
    package = import_parts(theirs)
    space = names(library) | package
    first, second = (float(eval(call, space)) for call in (theirs, ours))  # noqa: S307
    assert (abs(first - second) < TOLERANCE) == (verdict == "equal"), (first, second)


def test_every_library_of_the_page_has_rows():
    libraries = {library for library, *_ in ROWS}
    assert libraries == {
        "scikit-learn", "netcal", "torchmetrics", "probmetrics", "relplot", "calibre", "calibstats",
        "calikit",
    }  # fmt: skip
    assert len(ROWS) == (ROOT / PAGE).read_text().count("| equal |") + (
        ROOT / PAGE
    ).read_text().count("| differs |")
