"""Statistics of two claims on what the perturbation costs in the training of networks.

training_seconds.csv has the CPU seconds of pairs of trainings, with the perturbation in the loss
and without. tools/training_seconds.py measured them.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from harness.evaluation import claims
from harness.evaluation.claims import Statistic

SECONDS = Path(__file__).with_name("training_seconds.csv")
DEEP = "preresnet20"


def statistics() -> dict[str, Statistic]:
    """Return {name of a claim: its statistic}, the ratio of the CPU seconds of two trainings."""
    pairs = pd.read_csv(SECONDS)
    ratios = pairs["perturbed"] / pairs["plain"]
    is_deep = pairs["model"].eq(DEEP)
    small = pairs[~is_deep]
    rest = small.groupby("model")[["plain", "perturbed", "scores"]].sum()
    plain = 1e6 * rest["plain"] / rest["scores"]
    extra = 1e6 * rest["perturbed"] / rest["scores"] - plain
    means = ratios[~is_deep].groupby(small["model"]).mean()
    return {
        "training with the perturbation is cheap": claims.estimate_mean(
            ratios[is_deep],
            (),
            claims.OURS,
            "pairs of four steps of 128 images of CIFAR-10, in torch on one thread; the network "
            "stands for BERT and the ViT",
        ),
        "training small models with the perturbation is cheap": claims.untested(
            "the paper trains BERT and a ViT; eight small models take "
            f"{means.min():.1f} to {means.max():.1f} times as long, since a score costs "
            f"{plain.min():.2g} to {plain.max():.2g} µs without the perturbation, and "
            f"{extra.min():.2g} to {extra.max():.2g} µs more with it"
        ),
    }
