"""Tables 2 to 5: which network, seed and recalibration a problem's id names.

<dataset and network>[_seed<s>][/test][_or/<method>[_popordanoska2024]][/class<j>], as in cifar10_resnet50_isotonic
(conf/problem) and cifar10/preresnet20_seed5/isotonic_popordanoska2024 (harness.problems.RecalibratedFiles). The method
"relabelled" stands for the network's predictions with labels drawn from them, a calibrated model.
"""

import re

import numpy as np
import pandas as pd

from harness.report.tables import label

METHODS = ("none", "isotonic", "temperature", "relabelled")
OURS, THEIRS = "our defaults", "as published"
TAIL = re.compile(r"[/_](isotonic|temperature|relabelled)(_popordanoska2024)?$")
SEED = re.compile(r"_seed\d+")
CLASS = re.compile(r"/class(\d+)$")


def named(problems, config):
    """Frame indexed by problem: network (its label), method, variant (empty where there is no choice), label_of_class (-1
    without one)."""
    rows = {}
    for problem in dict.fromkeys(problems):
        of_class = CLASS.search(problem)
        stem = CLASS.sub("", problem).removesuffix("/test")
        tail = TAIL.search(stem)
        base = SEED.sub("", TAIL.sub("", stem).removesuffix("/test"))
        method = tail[1] if tail else "none"
        variant = "" if method in ("none", "relabelled") else THEIRS if tail[2] else OURS
        rows[problem] = [label(config, "problem", base), method, variant, int(of_class[1]) if of_class else -1]
    columns = ["network", "method", "variant", "label_of_class"]
    return pd.DataFrame(list(rows.values()), index=pd.Index(list(rows), dtype=object), columns=columns)


def over_seeds(frame, by):
    """Mean, standard error and number of the values over the seeds of a network."""
    table = frame.groupby(by, sort=False)["value"].agg(mean="mean", sd="std", seeds="size").reset_index()
    return table.assign(se=table["sd"] / np.sqrt(table["seeds"]))


def in_order(names, config):
    """The networks' labels in the order of config["labels"], others after them."""
    known = list((config["labels"].get("problem") or {}).values())
    return sorted(dict.fromkeys(names), key=lambda name: known.index(name) if name in known else len(known))


def method_text(method, variant=""):
    """'isotonic, as published', for legends."""
    named = {"none": "no recalibration", "relabelled": "calibrated: labels drawn from the predictions"}
    return named.get(method, method) + (f", {variant}" if variant else "")


def rows_in_order(rows, config):
    """The keys (network, method, variant) of a table: networks as configured, methods in the order of METHODS, published ones
    first."""
    ranks = {name: i for i, name in enumerate(in_order([key[0] for key in rows], config))}
    return sorted(rows, key=lambda key: (ranks[key[0]], METHODS.index(key[1]), key[2] == OURS))
