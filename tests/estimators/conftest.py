"""Fixtures of the tests of estimators."""

import literature
import pytest


@pytest.fixture(scope="session")
def inputs():
    """Return the arrays on which golden numbers of the literature were computed."""
    return literature.read_inputs()
