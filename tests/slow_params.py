"""Parameters of tests that take a second or more."""

import pytest


def slow(*values):
    """Parameters whose tests only `make slow` runs. A tuple is one value for each argument."""
    return [
        pytest.param(*(v if isinstance(v, tuple) else (v,)), marks=pytest.mark.slow) for v in values
    ]
