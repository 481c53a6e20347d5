"""Table and caption of reliability diagrams (harness.math.reliability computes the diagrams)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from harness.math.reliability import MAX_DRAWN_CLASSES, Panel


def build_table(panels: Sequence[Panel]) -> pd.DataFrame:
    """Return the content of the diagrams as one DataFrame with the columns `panel` and `drawn`.

    The column `part` tells three kinds of rows apart:

    summary  one row per panel: count (number of rows of the data), mcb, dsc, unc, brier
    bin      one row per bin of a drawn panel: from, to, score (mean), frequency, count
    band     one row per score of a band: score, fit (value of the curve there), low, high
    """
    frames = []
    for panel in panels:
        curve, band = panel.curve, panel.band
        numbers = {name: [getattr(curve, name)] for name in ("mcb", "dsc", "unc", "brier")}
        parts: list[dict[str, Any]] = [{"part": "summary", "count": [curve.n], **numbers}]
        if panel.drawn:
            parts.append({"part": "bin", **curve.bins})
        if band is not None:
            fit = curve.fit[np.searchsorted(curve.scores, band.scores)]
            ends = {"low": band.low, "high": band.high}
            parts.append({"part": "band", "score": band.scores, "fit": fit, **ends})
        place = {"panel": panel.title, "drawn": panel.drawn}
        frames += [pd.DataFrame({**place, **part}) for part in parts]
    columns = [
        "panel", "drawn", "part", "count", "from", "to", "score", "frequency", "fit", "low", "high",
        "mcb", "dsc", "unc", "brier",
    ]  # fmt: skip
    return pd.concat(frames, ignore_index=True).reindex(columns=columns)


def describe_panels(panels: Sequence[Panel]) -> str:
    """Return the caption of a figure of reliability diagrams."""
    first = panels[0]
    sentences = [
        "Reliability diagram (CORP): the line is the isotonic regression of the events on the "
        "predicted probability, and the dashed diagonal is perfect calibration."
    ]
    if first.band is not None:
        sentences.append(
            f"The band around the diagonal is a pointwise {first.band.level:.0%} consistency band. "
            f"It comes from {first.band.resamples} resamples of the labels under the assumption "
            "that the predictions are calibrated. A curve outside the band speaks against "
            "calibration."
        )
    sentences += [
        "The bins are the blocks where the isotonic regression is constant; the first panel has "
        f"{len(first.curve.start) - 1}. A dot shows the mean prediction and the event frequency of "
        "a bin, and its area the number of rows. The histogram below shows the predictions.",
        "The Brier score is MCB (miscalibration) - DSC (discrimination) + UNC (uncertainty). MCB "
        "is biased upwards, because the curve is fitted on the rows on which it is evaluated.",
    ]
    if len(panels) > 1:
        sentences.append("The classes are sorted by their MCB, largest first.")
    others = [panel for panel in panels if not panel.drawn]
    if others:
        names = [panel.title.removeprefix("class ") for panel in others]
        listed = ", ".join(names[:MAX_DRAWN_CLASSES])
        if len(names) > MAX_DRAWN_CLASSES:
            listed += f" and {len(names) - MAX_DRAWN_CLASSES} more"
        sentences.append(
            f"{len(others)} of {len(panels) - 1} classes are not drawn ({listed}). Their MCB is at "
            f"most {others[0].curve.mcb:.2g}. The table has the numbers of all classes."
        )
    return " ".join(sentences)
