"""Tables 2 to 5: which network, seed and recalibration a problem's id names.

<dataset and network>[_seed<s>][/test][_or/<method>[_popordanoska2024]][/class<j>], as in cifar10_resnet50_isotonic
(conf/problem) and cifar10/preresnet20_seed5/isotonic_popordanoska2024 (harness.problems.RecalibratedFiles). The method
"relabelled" stands for the network's predictions with labels drawn from them, a calibrated model.
"""

import re

import numpy as np
import pandas as pd

from harness.report import items, panels
from harness.report.plots import COLOURS
from harness.report.tables import label

METHODS = ("none", "isotonic", "temperature", "relabelled")
OURS, THEIRS = "our defaults", "as published"
KEY = ["network", "method", "variant"]
TAIL = re.compile(r"[/_](isotonic|temperature|relabelled)(_popordanoska2024)?$")
SEED = re.compile(r"_seed\d+")
CLASS = re.compile(r"/class(\d+)$")


def named(problems, config):
    """Frame indexed by problem: network (its label), method, variant (empty where there is no choice), label_of_class (-1
    without one)."""
    rows = {}
    for problem in dict.fromkeys(problems):
        of_class, stem = CLASS.search(problem), CLASS.sub("", problem).removesuffix("/test")
        tail = TAIL.search(stem)
        base = SEED.sub("", TAIL.sub("", stem).removesuffix("/test"))
        method = tail[1] if tail else "none"
        variant = "" if method in ("none", "relabelled") else THEIRS if tail[2] else OURS
        rows[problem] = [label(config, "problem", base), method, variant, int(of_class[1]) if of_class else -1]
    return pd.DataFrame(list(rows.values()), pd.Index(list(rows), dtype=object), [*KEY, "label_of_class"])


def in_order(names, config):
    """The networks' labels in the order of config["labels"], others after them."""
    known = list((config["labels"].get("problem") or {}).values())
    return sorted(dict.fromkeys(names), key=lambda name: known.index(name) if name in known else len(known))


def printed(config, item, alike=True):
    """The printed numbers of an item with network, method and variant; with alike=False none where the networks are others."""
    found = items.printed(config, item, alike=alike)
    parts = found["row"].str.rsplit(", ", n=1, expand=True).reindex(columns=[0, 1])
    return found.assign(network=parts[0], method=parts[1], variant=np.where(parts[1].eq("none"), "", THEIRS))


def wide(rows, config, heading, first=()):
    """The table of texts by (network, method, variant): networks as configured, methods in the order of METHODS, published ones
    first."""
    ranks = {name: i for i, name in enumerate(in_order([key[0] for key in rows], config))}
    keys = sorted(rows, key=lambda key: (ranks[key[0]], METHODS.index(key[1]), key[2] == OURS))
    columns = [*first, *(c for row in rows.values() for c in row)]
    return items.wide({key: rows[key] for key in keys}, ["network", "method", "recalibration"], heading, columns)


def marks(ax, part, names, shift, shades=range(4), paper=False):
    """A mark per network and method with its error, at the height of the network; ours, and all where they are the paper's, are
    open."""
    value, error = ("value", "plus_minus") if paper else ("mean", "se")
    texts = {"none": "no recalibration", "relabelled": "calibrated: labels drawn from the predictions"}
    for (method, variant), found in part.groupby(["method", "variant"], sort=False):
        j, ours = METHODS.index(method), variant == OURS
        text = texts.get(method, method) + (" (paper)" if paper else f", {variant}" if variant else "")
        at = found["network"].map(names.index) + 0.16 * (j - shift) + 0.08 * ours
        look = panels.look(j, not (ours or paper), label=text, markersize=4) | {"color": COLOURS[shades[j]]}
        panels.marks(ax, at, found, value, error, **look)
