"""Kinds of estimators, with their colours in figures."""

from __future__ import annotations

from harness.figures.style import COLOURS, GREY

KINDS = {  # {kind: (beginnings of ids, colour)}
    "bins": (("binned", "debiased", "kmeans", "kde_binning", "sweep", "tace", "adaptive",
              "average_binned", "crossfit_binned", "tuned_binned", "simplex", "lower_scaling",
              "upper_"), COLOURS[1]),
    "variational": (("variational", "tuned_variational", "gain", "corp"), COLOURS[0]),
    "kernels and smoothing": (("kde", "tuned_kde", "kkr", "ukkr", "tuned_kkr", "tuned_ukkr",
                               "tcal", "tv_", "nw_", "bv_", "lip_", "smooth", "ckce", "skce",
                               "mmce", "ucme", "laplace"), COLOURS[2]),
    "of this project": (("best",), COLOURS[3]),
}  # fmt: skip
OTHER = ("other", GREY)


def kind(estimator: str) -> tuple[str, str]:
    """Return the kind of an estimator and its colour in figures, from the beginning of its id.

    If several beginnings in KINDS match, the longest one decides.
    """
    matches = [
        (len(start), name, colour)
        for name, (starts, colour) in KINDS.items()
        for start in starts
        if estimator.startswith(start)
    ]
    return max(matches)[1:] if matches else OTHER
