"""Records of networks, whose problems have ids of two forms.

    <dataset and network>[_seed<s>][/test][<_ or /><method>[_<paper>]][/class<j>]
    <family>/<network>_seed<s>[_epoch<e>][_<layer>][/<part>]

The first form is for recalibrated networks (`RecalibratedFiles`). A method with the id of a paper
is the variant of that paper's code. The method "relabelled" has labels that are drawn from the
predictions, which makes a calibrated model. The second form is for networks in training
(`harness.problems.PredictionFiles`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from harness.configure.settings import Settings
from harness.errors import BadInputError
from harness.evaluation import items, text_tables
from harness.evaluation.selection import label
from harness.figures import panels
from harness.figures.style import COLOURS

from . import comparisons

METHODS = ("none", "isotonic", "temperature", "relabelled")
OURS, THEIRS = "our defaults", "as published"
KEY = ["network", "method", "variant"]
INDEX = ("{network}", "{method}", "{variant}")
METHOD = r"(?:[/_](isotonic|temperature|relabelled)(_[a-z]+\d{4})?)?"
RECALIBRATED = re.compile(rf"(.+?)(?:_seed\d+)?(?:/test)?{METHOD}(?:/test)?(?:/class(\d+))?")
IN_TRAINING = re.compile(r"(.+)/(.+?)_seed(\d+)(?:_epoch(\d+))?(?:_([a-z]+\d*))?(?:/(\w+))?")
PAPERS, OPEN = " (paper)", "open marks: the paper's networks"
TEXTS = {"none": "no recalibration", "relabelled": "labels drawn from the predictions: truth 0"}
COLOURED = dict(zip(METHODS, (0, 1, 2, 6)))
NO_FILES = "there are no files to draw; the page says how to get them"


def recalibrated(frame: pd.DataFrame, settings: Settings) -> pd.DataFrame:
    """Add the columns network (its label), method, variant and label_of_class.

    They come from the ids of the problems. variant is empty if a method has only one, and
    label_of_class is -1 if the id has no class.
    """
    rows = {}
    for problem in frame["problem"].unique():
        base, method, published, of_class = RECALIBRATED.fullmatch(problem).groups()
        variant = "" if method in (None, "relabelled") else THEIRS if published else OURS
        rows[problem] = [
            label(settings, "problem", base),
            method or "none",
            variant,
            int(of_class or -1),
        ]
    named = pd.DataFrame(
        list(rows.values()), pd.Index(list(rows), dtype=object), [*KEY, "label_of_class"]
    )
    return frame.join(named, on="problem")


def in_order(names: Iterable[str], settings: Settings) -> list[str]:
    """Return the labels of networks in the order of settings.labels, and then the others."""
    return comparisons.ranked(names, (settings.labels.problem or {}).values())


def printed(settings: Settings, item: str) -> pd.DataFrame:
    """Return the printed numbers of an item, with network, method and variant.

    The printed standard errors are in `plus_minus`.
    """
    numbers = items.printed(settings, item)
    numbers = numbers[~numbers["column"].str.endswith("(standard error)")]
    parts = numbers["row"].str.rsplit(", ", n=1, expand=True).reindex(columns=[0, 1])
    return numbers.assign(
        network=parts[0], method=parts[1], variant=np.where(parts[1].eq("none"), "", THEIRS)
    )


def methods_table(
    rows: text_tables.Rows, settings: Settings, heading: str, first: Iterable[str] = ()
) -> pd.DataFrame:
    """Return a table of texts with a row per network, method and variant.

    Networks are in the order of the configuration, and methods in that of METHODS. Published
    variants come first.
    """
    networks = in_order([key[0] for key in rows], settings)
    keys = sorted(
        rows, key=lambda key: (networks.index(key[0]), METHODS.index(key[1]), key[2] == OURS)
    )
    columns = [*first, *(c for row in rows.values() for c in row)]
    return text_tables.wide(
        {key: rows[key] for key in keys}, ["network", "method", "recalibration"], heading, columns
    )


def row_names(numbers: pd.DataFrame, paper: pd.DataFrame, settings: Settings) -> list[str]:
    """Return the names of the rows of a figure: our networks, and the paper's after them.

    Networks of one data set stand together. The data set is the part of a label before the comma.
    """
    names = [*in_order(numbers["network"], settings), *dict.fromkeys(paper["network"] + PAPERS)]
    sets = list(dict.fromkeys(name.split(", ")[0] for name in names))
    return sorted(names, key=lambda name: sets.index(name.split(", ")[0]))


def marks(
    ax, part: pd.DataFrame, paper: pd.DataFrame, names: list[str], methods: Sequence[str] = METHODS
) -> None:
    """Draw a mark with its error per network and method, recalibrated as published.

    Every network has a row. The printed numbers are open marks in rows of their own. Rows alternate
    between white and grey.
    """
    for i in range(0, len(names), 2):
        ax.axhspan(i - 0.5, i + 0.5, color="0.96", linewidth=0, zorder=0)
    for j, method in enumerate(methods):
        shift = 0.24 * (j - (len(methods) - 1) / 2)
        look = {"markersize": 3.5, "color": COLOURS[COLOURED[method]]}
        ours = part[part["method"].eq(method) & part["variant"].ne(OURS)]
        style = panels.look(j, label=TEXTS.get(method, method)) | look
        panels.named_marks(ax, ours, "network", names, shift=shift, **style)
        theirs = paper[paper["method"].eq(method)].assign(network=lambda f: f["network"] + PAPERS)
        style = panels.look(j, False, label=OPEN if method == "none" else None) | look
        panels.named_marks(
            ax, theirs, "network", names, "value", "plus_minus", shift=shift, **style
        )
    panels.name_rows(ax, names)


def in_training(problems: Iterable[str]) -> pd.DataFrame:
    """Return the parts of ids of networks in training, a frame indexed by problem.

    seed and epoch are numbers. A part that an id lacks is a missing value. Problems of absent files
    are left out, because their cells carry the reason.
    """
    rows = {}
    for problem in dict.fromkeys(problems):
        match = IN_TRAINING.fullmatch(problem)
        if match:
            family, network, seed, epoch, layer, part = match.groups()
            rows[problem] = [
                family,
                network,
                int(seed),
                np.nan if epoch is None else int(epoch),
                layer,
                part,
            ]
        elif "/absent" not in problem:
            raise BadInputError(
                f"problem {problem!r} is not named "
                "<family>/<network>_seed<s>[_epoch<e>][_<layer>][/<part>]."
            )
    names = ["family", "network", "seed", "epoch", "layer", "part"]
    return pd.DataFrame(list(rows.values()), pd.Index(list(rows), dtype=str, name="problem"), names)


def estimates(records: pd.DataFrame, settings: Settings, notion: str) -> pd.DataFrame:
    """Return the numbers of one notion, with the parts of the ids of the problems.

    `column` is the label of the estimator. Accuracies are in percent.
    """
    fine = items.values(records, settings, notion=notion)
    fine = fine[["key", "problem", "column", "estimand", "value"]].join(
        in_training(fine["problem"]), on="problem", how="inner"
    )
    return fine.assign(
        value=np.where(fine["estimand"].eq("accuracy"), 100.0, 1.0) * fine["value"].astype(float)
    )


def select(numbers: pd.DataFrame, estimand: str, **parts: Any) -> pd.DataFrame:
    """Return the rows of one estimand, and of given values of further columns."""
    for name, wanted in {"estimand": estimand, **parts}.items():
        numbers = numbers[numbers[name].eq(wanted)]
    return numbers


def wide(
    rows: text_tables.Rows, levels: Sequence[str], heading: str, first: Iterable[str] = ()
) -> pd.DataFrame:
    """Return `text_tables.wide`, with a note if there are no files."""
    texts = text_tables.wide(rows, levels, heading, first, "none: there are no files")
    return texts if len(levels) > 1 else texts.set_axis(texts.index.get_level_values(0))
