"""Read arrays from pickles by a restricted unpickler.

A pickle names functions, and an unpickler calls them. This one knows five names, with which numpy
writes arrays, and refuses any other.
"""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np

from harness.common.reading import open_file
from harness.errors import BadInputError
from harness.sources.logits import Arrays

_ARRAY = np.zeros(1)
# Names that a pickle of an array of numbers contains, without the module numpy.core or numpy._core
KNOWN = {
    "multiarray._reconstruct": _ARRAY.__reduce__()[0],
    "numeric._frombuffer": _ARRAY.__reduce_ex__(5)[0],
    "numpy.ndarray": np.ndarray,
    "numpy.dtype": np.dtype,
    "_codecs.encode": lambda text, encoding: text.encode("latin1"),  # bytes in protocols 0 to 2
}


# This is the implementation in Python. The one in C reserves memory for the number of a slot, which
# a single damaged byte may make huge.
class _Unpickler(pickle._Unpickler):
    """Unpickler that imports nothing."""

    def find_class(self, module: str, name: str) -> Any:
        path = f"{module}.{name}".removeprefix("numpy._core.").removeprefix("numpy.core.")
        if path not in KNOWN:
            raise pickle.UnpicklingError(f"it asks for {ascii(path[:100])}")
        return KNOWN[path]


def read_parts(path: str | Path) -> dict[str, Arrays]:
    """Read a pickle of the form ((logits, labels) of validation, (logits, labels) of test).

    Kull et al. (2019) publish their logits in this form.

    Returns
    -------
    dict
        {"validation": {"logits": (n, k), "labels": (n, 1)}, "test": ...}

    Raises
    ------
    BadInputError
        If the pickle holds or asks for anything else than these arrays of numbers.
    """
    try:
        with open_file(path) as file:
            pairs = _Unpickler(file).load()
        (logits, labels), (test_logits, test_labels) = pairs
        for array in (logits, labels, test_logits, test_labels):
            if type(array) is not np.ndarray or array.dtype.kind not in "iufb":
                raise TypeError(f"it holds {type(array).__name__} of other values")
    except BadInputError:
        raise
    except Exception as error:
        message = ascii(" ".join(str(error).split()))[1:-1][:200]
        raise BadInputError(
            f"{path} cannot be read as a pickle of ((logits, labels) of validation, (logits, "
            f"labels) of test), all arrays of numbers: {type(error).__name__}: {message}; save "
            "other predictions by np.savez('preds.npz', probs=p, labels=y)."
        ) from error
    return {
        "validation": {"logits": logits, "labels": labels},
        "test": {"logits": test_logits, "labels": test_labels},
    }
