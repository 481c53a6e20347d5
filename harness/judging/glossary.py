"""The words of a judgement's page, each explained in the section where it is used."""

from __future__ import annotations

GLOSSARY = {
    "calibrated": (
        "Among all cases with a predicted probability of 70 %, the event happens in 70 %. "
        "The same is true of every other probability."
    ),
    "calibration error": (
        "The distance between the predicted probability and the frequency of the event in "
        "such cases."
    ),
    "binary": "There are two classes, and one probability is judged: that of the second class.",
    "top-label": (
        "Only the confidence in the predicted class is judged: is the prediction right as "
        "often as the confidence says?"
    ),
    "class-wise": (
        "The probability of each class is judged by itself, and the mean over the classes is taken."
    ),
    "canonical": (
        "All probabilities of a row are judged at once, as a vector. This is the strongest "
        "meaning of calibrated, and the hardest to measure."
    ),
    "L1 error": (
        "The mean absolute distance. With 0.03, a stated probability is off by 3 percentage "
        "points on average."
    ),
    "squared error": (
        "The mean squared distance, which weighs large distances more. Its root is the root "
        "mean squared error."
    ),
    "KL error": "The calibration error that belongs to the log-loss, in nats.",
    "estimate, interval, level": (
        "The true error could only be known from infinitely many rows. An estimate "
        "approximates it from these rows. An interval with a level of 95 % contains the "
        "true error for 95 of 100 data sets."
    ),
    "measured coverage": (
        "How often such intervals contained the true error on problems where it is known, "
        "with a similar number of rows and classes. It tells whether the level can be "
        "trusted."
    ),
    "certified": (
        "A bound that is proved to hold at this number of rows, if its assumption is true."
    ),
    "p-value": (
        "How often calibrated predictions would look at least as bad as these by chance. A "
        "small p-value speaks against calibration. It is corrected for the number of tests."
    ),
    "false alarms": "How often the test rejected predictions that are known to be calibrated.",
    "detectable error": (
        "A test on few rows misses small errors. The detectable error is that of a more over- or "
        "underconfident version of these predictions that the test would have rejected."
    ),
    "overconfident": (
        "The stated probabilities are more extreme than the outcomes: 90 % is predicted, "
        "and 80 % happens."
    ),
    "log-loss, Brier score": (
        "Scores of probabilities; smaller is better. Both punish miscalibration and lack of "
        "knowledge."
    ),
    "miscalibration, discrimination, uncertainty": (
        "The parts of a score: score = miscalibration − discrimination + uncertainty. "
        "Recalibration can repair miscalibration. Discrimination is what the model knows. "
        "Uncertainty is the score of a model that only knows how often each outcome "
        "happens."
    ),
    "refinement": "The part of a score that recalibration cannot repair.",
    "recalibration": (
        "A map of the predicted probabilities, fitted on rows with known labels: one number "
        "(temperature), two for each class (vector), a matrix, or any increasing curve "
        "(isotonic)."
    ),
    "cross-fitted": (
        "Fitted on some rows and judged on the others, in turns. No row judges a map that "
        "was fitted to it."
    ),
    "consistency band": (
        "The range in which the curve of calibrated predictions would lie at a given score. "
        "A curve outside the band speaks against calibration at that score."
    ),
    "paired difference": (
        "The difference between two models on the same rows. It is more precise than the "
        "difference of two separate numbers."
    ),
}


def glossary(notions: tuple[str, ...]) -> dict[str, str]:
    """Return {term: explanation} for a page on which these notions of calibration are judged.

    >>> "canonical" in glossary(("binary",)), "binary" in glossary(("binary",))
    (False, True)
    """
    judged = {
        notion.replace("top_label", "top-label").replace("classwise", "class-wise")
        for notion in notions
    }
    others = {"binary", "top-label", "class-wise", "canonical"} - judged
    return {term: text for term, text in GLOSSARY.items() if term not in others}
