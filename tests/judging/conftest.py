"""Fixtures of the tests of judging."""

import os
from pathlib import Path

import judged
import numpy as np
import pytest
from scipy.special import softmax

from harness.judging.data import from_arrays


@pytest.fixture
def cases():
    """Return the folder of small inputs with known answers."""
    return Path(__file__).parents[1] / "cases"


@pytest.fixture
def real_network():
    """Return a function: name of a network on CIFAR-10 -> its predictions."""
    folder = os.environ.get("CALHARNESS_DATA")
    if not folder:
        pytest.skip("CALHARNESS_DATA is not set")

    def load(name):
        pack = np.load(Path(folder) / "cifar_logits" / f"{name}.npz")
        p = softmax(pack["logits"].astype(float), axis=1)
        return from_arrays(p, pack["labels"].astype(int), name=name)

    return load


@pytest.fixture(scope="session")
def judgements():
    """Return judgements made by hand."""
    return {name: make() for name, make in judged.MAKERS.items()}
