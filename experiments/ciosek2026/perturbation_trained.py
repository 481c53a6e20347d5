"""The CIFAR row of the table on the perturbation, with a network that was trained with it.

`calharness data make cifar10_networks --width 2^-6` trains the network. Every class against the
others is a binary problem. The reference is the plain network of the same seed. The paper's network
is a ViT, and its binary problem is not known, so the number is never judged by its digits.
"""

import re

import pandas as pd
from matplotlib.figure import Figure

from harness.configure.settings import Settings

from . import perturbation, perturbations

PANELS = {"trained": "trained here, one class"}
KINDS = (r"cifar10_trained/(?P<series>\w+_epochs\d+)_seed\d+/test/class\d+",)
# Id of a network that was trained with a width, and perturbed with the same width.
AWARE = re.compile(r"cifar10_trained_aware/(.+_seed\d+)_(h2\^-\d+)(/test/class\d+)/\2")


def curves(records: pd.DataFrame) -> pd.DataFrame:
    """Return the decrease of the AUROC by the perturbation, from `perturbations.decreases`."""
    names = [AWARE.sub(r"cifar10_trained/\1\3/aware_\2", name) for name in records["problem"]]
    return perturbations.decreases(records.assign(problem=names), "auroc", KINDS, "trained")


def render(records: pd.DataFrame, settings: Settings) -> Figure:
    """Draw `perturbations.figure` of the AUROC, with the paper's statements at 2^-6 and 2^-4."""
    return perturbations.figure(
        curves(records),
        settings,
        PANELS,
        "decrease of the AUROC",
        perturbation.LIMIT,
        perturbation.REPORTED,
    )


def table(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return the table of texts of `perturbation.texts`."""
    return perturbation.texts(curves(records), settings, PANELS)


def reproduced(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return our mean decrease over classes and seeds for the network on CIFAR."""
    return perturbation.answers(curves(records), records, settings, {"CIFAR, ViT": "aware"})
