"""Block test of SKCE: closed forms, other code, invariances and edge cases."""

import numpy as np
import pytest
from literature import sample
from numpy.random import default_rng
from scipy.stats import norm

from harness import UndefinedError
from harness.estimators import SKCE, SKCEBlockTest


@pytest.mark.golden
def test_blocks_give_the_normal_tail():
    p, y = sample("over")
    parts = SKCE(form="block", blocksize=10)(p, y, default_rng(0))["skce"]
    p_value = SKCEBlockTest(blocksize=10)(p, y, default_rng(0))["p_value"]
    assert p_value.value == pytest.approx(
        norm.sf(parts.value / parts.diagnostics["standard_error"]), rel=1e-9
    )
    with pytest.raises(UndefinedError, match="two blocks"):
        SKCEBlockTest(blocksize=10)(p[:19], y[:19], default_rng(0))
    with pytest.raises(UndefinedError, match="same value"):
        SKCEBlockTest()(np.ones(10), np.ones(10, dtype=int), default_rng(0))
