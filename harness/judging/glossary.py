"""What the words of a judgement mean, for somebody who has never met them."""

from __future__ import annotations

from harness.judging.findings import Findings

TERMS: dict[str, str] = {
    "calibrated": "Of all cases that are given a probability of 70 %, 70 % turn out that way; and so for every probability.",
    "calibration error": "How far that is from being so: the distance between what was predicted and what happened to such "
    "cases.",
    "binary": "With two classes there is one probability to be judged, that of the second class.",
    "top-label": "Only the confidence in the predicted class is judged: is the prediction right as often as it says?",
    "class-wise": "The probability of every class is judged by itself, and the mean over the classes is taken.",
    "canonical": "All probabilities of a row are judged at once, as a vector. The strongest meaning of calibrated, and the "
    "hardest to "
    "measure.",
    "L1 error": "The mean absolute distance. 0.03 says that a stated probability is off by 3 percentage points on average.",
    "squared error": "The mean squared distance, which weighs large distances more; its root is the root mean squared error.",
    "KL error": "The distance that the log-loss is made of, in nats.",
    "estimate, interval, level": "The true error would need endless data. An estimate guesses it from these rows; an "
    "interval with a "
    "level of 95 % is made so that it holds the truth for 95 of 100 data sets.",
    "measured coverage": "How often such intervals held the truth on problems whose truth is known, at a similar number of "
    "rows and "
    "classes. It says whether the level can be believed.",
    "certified": "A bound that is proved to hold at this number of rows, if its assumption does.",
    "p-value": "How often calibrated predictions would look at least as bad as these, by chance alone. Small speaks "
    "against calibration. "
    "Where several tests are made it is corrected for their number.",
    "false alarms": "How often a test called calibrated predictions uncalibrated, on problems that are known to be calibrated.",
    "what could have been found": "A test on few rows misses small errors. This is the error of a distorted version of these "
    "predictions that the test would have found.",
    "over-confident": "The stated probabilities are more extreme than the outcomes: 90 % is said, and 80 % happens.",
    "log-loss, Brier score": "Scores of probabilities, smaller is better. Both punish miscalibration and lack of knowledge.",
    "miscalibration, discrimination, uncertainty": "The parts of a score: score = miscalibration − discrimination + uncertainty. "
    "Miscalibration can be repaired by recalibration; discrimination is what the model knows; uncertainty is that of the "
    "outcomes alone.",
    "refinement": "The part of a score that recalibration cannot repair.",
    "recalibration": "A map of the predicted probabilities that is fitted on rows with known labels: one number "
    "(temperature), some per "
    "class (vector), a matrix, or any increasing curve (isotonic).",
    "cross-fitted": "Fitted on some rows and judged on others, in turns, so that no row judges what was fitted to it.",
    "consistency band": "Where the curve of calibrated predictions would lie, at any one score; a curve outside speaks against "
    "calibration there.",
    "paired difference": "The difference of two models on the very same rows, which is surer than the difference of two "
    "separate numbers.",
}
ALONE = {
    "binary": "binary",
    "top-label": "top_label",
    "class-wise": "classwise",
    "canonical": "canonical",
}


def terms(judgement: Findings) -> dict[str, str]:
    """The terms that a page of this judgement needs."""
    left_out = {term for term, notion in ALONE.items() if notion not in judgement.data.notions}
    if judgement.versus is None:
        left_out |= {"refinement", "paired difference"}
    return {term: said for term, said in TERMS.items() if term not in left_out}
