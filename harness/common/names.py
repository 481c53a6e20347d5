"""Names of notions, estimands and scores, for sentences and for the axes of figures."""

from __future__ import annotations

NOTIONS = {
    "binary": "binary",
    "top_label": "top-label",
    "classwise": "class-wise",
    "canonical": "canonical",
}
ESTIMANDS = {
    "l1": "L1 error",
    "l2_squared": "squared error",
    "kl": "KL error",
    "rms": "root mean squared error",
    "l2": "L2 error",
    "linf": "largest error",
    "l1_over": "overconfident part of the L1 error",
    "l1_under": "underconfident part of the L1 error",
    "l2_squared_over": "overconfident part of the squared error",
    "l2_squared_under": "underconfident part of the squared error",
    "top_class_l1": "L1 error of the top class given the vector",
    "top_class_l1_over": "overconfident part of the L1 error of the top class",
    "top_class_l1_under": "underconfident part of the L1 error of the top class",
}
SCORES = {"brier": "Brier score", "log": "log-loss"}
AXIS_NAMES = {  # on the axes of figures, with formulas in mathtext
    "l1": "$L_1$ calibration error",
    "l2": "$L_2$ calibration error",
    "l2_squared": "squared calibration error",
    "kl": "KL calibration error",
    "linf": r"$L_\infty$ calibration error",
    "brier": "Brier score",
    "logloss": "log-loss",
    "rms": "root mean squared calibration error",
    "refinement_l2_squared": "refinement (Brier score)",
    "refinement_kl": "refinement (log-loss)",
    "sharpness_l2_squared": "sharpness (Brier score)",
    "sharpness_kl": "sharpness (log-loss)",
    "auroc": "area under the ROC curve",
    "accuracy": "accuracy",
    "uncertainty_l2_squared": "uncertainty (Brier score)",
    "uncertainty_kl": "uncertainty (log-loss)",
    "smooth_ece": "smooth calibration error",
    "slope": "calibration slope",
    "intercept": "calibration intercept",
    "smooth_ce": "Lipschitz calibration error",
    "tce": "test-based calibration error",
    "e50": "median calibration error",
    "e90": "90 % quantile of the calibration error",
    "ks": "largest cumulative residual",
    "kuiper": "range of the cumulative residual",
    "ace_average": "un-weighted mean gap of bins",
    "tace": "thresholded adaptive calibration error",
    "p_value": "p-value",
    "interval_ce": "interval calibration error",
    "grouped_ckce": "CKCE within groups",
    "laplace_kce": "Laplace-kernel calibration error",
    "laplace_kce_squared": "squared Laplace-kernel calibration error",
}


def notion_name(name: str) -> str:
    """Return the name of a notion for use in a sentence.

    Examples
    --------
    >>> notion_name("top_label"), notion_name("my_notion")
    ('top-label', 'my notion')
    """
    return NOTIONS.get(name, name.replace("_", " "))


def estimand_name(name: str) -> str:
    """Return the name of an estimand for use in a sentence.

    Examples
    --------
    >>> estimand_name("l1"), estimand_name("smooth_ece")
    ('L1 error', 'smooth ece')
    """
    return ESTIMANDS.get(name, name.replace("_", " "))


def score_name(name: str) -> str:
    """Return the name of a proper score for use in a sentence, such as "Brier score"."""
    return SCORES.get(name, name)


def axis_name(name: str) -> str:
    """Return the name of an estimand as the axes of figures show it, in plain text without LaTeX.

    Examples
    --------
    >>> axis_name("linf"), axis_name("kl")
    ('L∞ calibration error', 'KL calibration error')
    """
    return AXIS_NAMES.get(name, name).replace("$", "").replace("_", "").replace(r"\infty", "∞")
