"""Cost of the perturbation in AUROC, against its width h.

The summary of the paper has a table of three networks that were trained with the perturbation. Ours
are other predictions. The decrease is the AUROC of the scores minus that of the perturbed scores of
the same rows, averaged over draws of the perturbation. If a network was trained with the
perturbation, the AUROC of the plainly trained network is the reference. The decrease then contains
the effect of the training.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from harness.configure.settings import Settings
from harness.evaluation import items, text_tables
from harness.evaluation.selection import label
from harness.math.sech_noise import parse_width

from . import perturbations, rates

LIMIT = 0.001  # "< 0.001" at h = 2^-6
CLAIMED, NOTABLE = 2.0**-6, 2.0**-4
REPORTED = {
    CLAIMED: "below 0.001 for BERT\non IMDB and spam, ViT on CIFAR",
    NOTABLE: "notable, no number",
}
KINDS = (  # regular expressions for ids of predictions; the third has the panel "tabular"
    r"perturbed_networks/(?P<series>\w+)_(?P<panel>logistic|mlp)_seed\d+",
    r"(?P<panel>cifar10)_one_vs_rest/(?P<series>.+)/class\d+",
    r"\w+/\d+/(?P<series>[^_]+)_.*",
)
PANELS = {
    "cifar10": "CIFAR-10, one class", "tabular": "tables, out of fold",
    "logistic": "logistic regressions, here", "mlp": "networks trained here",
}  # fmt: skip
NEAREST = {
    "CIFAR, ViT": "panel == 'cifar10'",
    "Spam, BERT": "panel == 'mlp' and series == 'spambase' and aware",
}


def curves(records: pd.DataFrame) -> pd.DataFrame:
    """Return the decrease of the AUROC by the perturbation, from `perturbations.decreases`."""
    return perturbations.decreases(records, "auroc", KINDS, "tabular")


def render(records: pd.DataFrame, settings: Settings) -> Figure:
    """Draw `perturbations.figure` of the AUROC, with the paper's statements at 2^-6 and 2^-4."""
    return perturbations.figure(
        curves(records), settings, PANELS, "decrease of the AUROC", LIMIT, REPORTED
    )


def table(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return a table of texts with one row per kind of predictions, series and training.

    The columns are the AUROC without perturbation, its decrease at every width, and whether the
    decrease at h = 2^-6 is below 0.001 (`rates.below`).
    """
    return texts(curves(records), settings, PANELS)


def texts(frame: pd.DataFrame, settings: Settings, panels: Mapping[str, str]) -> pd.DataFrame:
    """Return the table of texts for decreases from `perturbations.decreases`.

    `panels` is {panel: its title}, in the order of the rows.
    """
    rows: dict[tuple[str, str, str], dict[str, str]] = {}
    for (panel, series, aware), part in frame.groupby(["panel", "series", "aware"], sort=False):
        key = (
            panels.get(panel, panel),
            label(settings, "problem", series),
            "with the perturbation" if aware else "without",
        )
        rows[key] = {"AUROC": f"{part['raw'].iloc[0]:.4f}", "below 0.001 at 2^-6": "–"}
        for r in part.itertuples():
            rows[key][f"h = 2^{np.log2(r.h):g}"] = f"{r.mean:.4f} ± {r.se:.4f}"
            if r.h == CLAIMED:
                rows[key]["below 0.001 at 2^-6"] = rates.below(r.mean, r.se, LIMIT)
    order, widths = (
        [*panels.values()],
        [f"h = 2^{np.log2(h):g}" for h in sorted(frame["h"].unique())],
    )
    rows = {key: rows[key] for key in sorted(rows, key=lambda key: (order.index(key[0]), key))}
    rows = rows or {("–", "–", "–"): {"AUROC": "none: there are no predictions"}}
    heading = "decrease of the AUROC: mean ± standard error over classes, tables or seeds"
    return text_tables.wide(rows, ["predictions", "of", "trained"], heading, ["AUROC", *widths])


def reproduced(records: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Return, for each network of the paper, our mean decrease of the AUROC on similar predictions.

    NEAREST chooses the predictions. They belong to other networks, so no number is judged.
    """
    return answers(curves(records), records, settings, NEAREST)


def answers(
    frame: pd.DataFrame, records: pd.DataFrame, settings: Settings, nearest: Mapping[str, str]
) -> pd.DataFrame:
    """Return our mean decrease of the AUROC for each network of the paper.

    Parameters
    ----------
    frame : DataFrame
        From `perturbations.decreases`.
    records : DataFrame
        The records, for the reason if there is no decrease.
    settings : Settings
        `reasons` says why the number of a network is not judged.
    nearest : mapping
        {network of the paper: query that selects the rows of `frame` that answer for it}.
    """
    rows = []
    for printed in items.printed(settings).itertuples():
        name, _, width = printed.row.partition(", h = ")
        mine = frame.query(nearest.get(name, "panel == ''"))
        mine = mine[mine["h"].eq(parse_width(width))]
        none = items.first_reason(records) if name in nearest and not len(mine) else None
        mean = (
            mine["mean"].mean(),
            mine["se"].mean() / np.sqrt(len(mine) or np.nan),
            mine["members"].sum(),
        )
        keys = tuple(key for keys in mine.get("keys", ()) for key in keys)
        rows.append(
            (printed.item, printed.row, printed.column, *mean, none or settings.reasons[name], keys)
        )
    return pd.DataFrame(rows, columns=items.ANSWER)
