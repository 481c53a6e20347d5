"""The words of a judgement, explained for somebody who has never met them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.judging.judgement import Judgement

TERMS: dict[str, str] = {
    "calibrated": "Among all cases with a predicted probability of 70 %, 70 % turn out that way; "
    "and so for every probability.",
    "calibration error": "The distance between the predicted probability and the frequency with "
    "which such cases happen.",
    "binary": "There are two classes, and one probability is judged: that of the second class.",
    "top-label": "Only the confidence in the predicted class is judged: is the prediction right as "
    "often as it says?",
    "class-wise": "The probability of each class is judged by itself, and the mean over the "
    "classes is taken.",
    "canonical": "All probabilities of a row are judged at once, as a vector. This is the "
    "strongest meaning of calibrated, and the hardest to measure.",
    "L1 error": "The mean absolute distance. With 0.03, a stated probability is off by 3 "
    "percentage points on average.",
    "squared error": "The mean squared distance, which weighs large distances more. Its root is "
    "the root mean squared error.",
    "KL error": "The distance that belongs to the log-loss, in nats.",
    "estimate, interval, level": "The true error could only be known from endless data. An "
    "estimate guesses it from these rows. An interval with a level of 95 % holds the truth for 95 "
    "of 100 data sets.",
    "measured coverage": "How often such intervals held the truth on problems where it is known, "
    "with a similar number of rows and classes. It says whether the level can be believed.",
    "certified": "A bound that is proved to hold at this number of rows, if its assumption does.",
    "p-value": "How often calibrated predictions would look at least as bad as these by chance. A "
    "small p-value speaks against calibration. It is corrected for the number of tests.",
    "false alarms": "How often the test rejected predictions that are known to be calibrated.",
    "detectable error": "A test on few rows misses small errors. This is the error of a distorted "
    "version of these predictions that the test would have detected.",
    "overconfident": "The stated probabilities are more extreme than the outcomes: 90 % is "
    "predicted, and 80 % happens.",
    "log-loss, Brier score": "Scores of probabilities; smaller is better. Both punish "
    "miscalibration and lack of knowledge.",
    "miscalibration, discrimination, uncertainty": "The parts of a score: score = miscalibration "
    "− discrimination + uncertainty. Recalibration can repair miscalibration. Discrimination is "
    "what the model knows. Uncertainty is that of the outcomes alone.",
    "refinement": "The part of a score that recalibration cannot repair.",
    "recalibration": "A map of the predicted probabilities, fitted on rows with known labels: one "
    "number (temperature), two for each class (vector), a matrix, or any increasing curve "
    "(isotonic).",
    "cross-fitted": "Fitted on some rows and judged on others, in turns. No row judges a map that "
    "was fitted to it.",
    "consistency band": "Where the curve of calibrated predictions would lie, at any one score. A "
    "curve outside speaks against calibration there.",
    "paired difference": "The difference of two models on the same rows. It is surer than the "
    "difference of two separate numbers.",
}
NOTIONS = {
    "binary": "binary",
    "top-label": "top_label",
    "class-wise": "classwise",
    "canonical": "canonical",
}


def terms(judgement: Judgement) -> dict[str, str]:
    """Return the terms that the page of this judgement needs."""
    unused = {term for term, notion in NOTIONS.items() if notion not in judgement.data.notions}
    if judgement.versus is None:
        unused |= {"refinement", "paired difference"}
    return {term: text for term, text in TERMS.items() if term not in unused}
