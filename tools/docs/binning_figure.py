"""Draw the figure of docs/explanation/binning.md.

The upper panel shows that errors of opposite sign cancel inside a bin. The lower panel shows the L1
error by 15 bins against the sample size n.
"""

from __future__ import annotations

import matplotlib
import numpy as np
from marks import DOCS
from matplotlib import pyplot as plt

import harness
from harness.estimators import Binned

NOISE, WAVES = "beta_calibrated", "wavy_k2"
SIZES = (100, 316, 1_000, 3_162, 10_000, 31_623, 100_000)
SAMPLES = 20
BINS = 15


def means(problem: str) -> list[float]:
    """Return the L1 error by 15 equal-width bins for each sample size, averaged over samples."""
    source = harness.load_problem(problem)
    sums = np.zeros(len(SIZES))
    for seed in range(SAMPLES):
        p, y = source.sample(SIZES[-1], np.random.default_rng(seed))
        sums += [Binned(BINS)(p[:n], y[:n])["l1"].value / SAMPLES for n in SIZES]
    return sums.tolist()


def caption() -> str:
    """Return Markdown for the figure: its alternative text and a caption with the numbers."""
    noise, waves = means(NOISE), means(WAVES)
    truth = harness.load_problem(WAVES).truth("l1", "binary").value
    return (
        "![Above: the true difference between outcome and prediction oscillates, and its mean in "
        "each of 15 bins is nearer zero. Below: the 15-bin error of a calibrated model falls from "
        f"{noise[0]:.2f} to {noise[-1]:.3f} as n grows and never reaches 0; that of the "
        f"oscillating model ends at {waves[-1]:.3f}, below its true error of {truth:.3f}."
        "](binning.svg)\n\n"
        f"*Above: the true calibration map of `{WAVES}` (line) and its means in 15 bins (bars): "
        f"inside a bin, errors of either sign cancel. Below: mean of {SAMPLES} samples. The "
        f"estimate for the calibrated model (`{NOISE}`, true error 0) is {noise[0]:.3f} at "
        f"n = {SIZES[0]}, {noise[2]:.3f} at n = {SIZES[2]:,} and {noise[-1]:.4f} at "
        f"n = {SIZES[-1]:,}. For the oscillating model (true error {truth:.4f}) it is "
        f"{waves[0]:.3f}, {waves[2]:.3f} and {waves[-1]:.4f}: more data do not lead to the truth. "
        "`python tools/docs/binning_figure.py` draws the figure.*"
    )


def draw() -> None:
    """Write the figure to docs/explanation/binning.svg."""
    matplotlib.use("svg")
    style = {
        "font.size": 9,
        "svg.hashsalt": "calharness",
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
    matplotlib.rcParams.update(style)
    figure, (above, below) = plt.subplots(2, 1, figsize=(4.4, 5.4), layout="constrained")
    waves = harness.load_problem(WAVES)
    p = np.linspace(0.001, 0.999, 1_999)
    residual = waves.posterior(p) - p
    above.axhline(0.0, color="0.6", lw=0.8)
    above.plot(p, residual, color="#0072B2", lw=1.2, label="true C − p")
    drawn, _ = waves.sample(400_000, np.random.default_rng(0))
    index = np.minimum((drawn * BINS).astype(int), BINS - 1)
    height = np.bincount(index, waves.posterior(drawn) - drawn) / np.bincount(index)
    above.bar(
        (np.arange(BINS) + 0.5) / BINS,
        height,
        0.9 / BINS,
        color="#E69F00",
        alpha=0.75,
        label="its mean in each bin",
    )
    above.set(xlabel="prediction p", ylabel="outcome frequency − p", xlim=(0, 1))
    above.legend(frameon=False, fontsize=8, loc="lower center", ncols=2, bbox_to_anchor=(0.5, 1.0))
    truth = waves.truth("l1", "binary").value
    for problem, true, color, mark, label in (
        (WAVES, truth, "#0072B2", "o", "oscillating"),
        (NOISE, 0.0, "#D55E00", "s", "calibrated"),
    ):
        below.plot(
            SIZES, means(problem), color=color, marker=mark, ms=4, lw=1.2, label=f"{label}, 15 bins"
        )
        below.axhline(true, color=color, ls="--", lw=1, label=f"{label}, true error")
    below.set(
        xscale="log", xlabel="sample size n", ylabel="L1 calibration error", ylim=(-0.004, None)
    )
    below.legend(frameon=False, fontsize=8)
    figure.savefig(DOCS / "explanation" / "binning.svg", metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    draw()
