"""Random numbers that are part of a map and must be the same in all versions of numpy."""

from __future__ import annotations

import numpy as np


def fixed_uniforms(seed: int, n: int) -> np.ndarray:
    """Return n uniform random numbers in (0, 1) from the raw bits of a generator.

    Raw bits are the same in all versions of numpy, unlike the variates of a Generator.

    Examples
    --------
    >>> fixed_uniforms(1, 2).round(6)
    array([0.511822, 0.950464])
    """
    bits = np.random.PCG64(seed).random_raw(n)
    return (np.right_shift(bits, np.uint64(11)) + 0.5) * 2.0**-53
