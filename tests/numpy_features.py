"""Print the features of this processor that numpy uses beyond its baseline.

If NPY_DISABLE_CPU_FEATURES names them, numpy computes as on the oldest processor that it supports,
and the last digits of exp, log and sums change.
"""

import os

os.environ.pop("NPY_DISABLE_CPU_FEATURES", None)  # what is disabled already counts as well

try:
    from numpy._core import _multiarray_umath as core
except ImportError:  # numpy 1
    from numpy.core import _multiarray_umath as core

print(" ".join(name for name in core.__cpu_dispatch__ if core.__cpu_features__[name]))
