"""Table 5: calibration error of every class by three estimators, and the order of the classes.

CE_KL (x 100) and CE_2^2 (x 1000) are by the kernel via the risk with bandwidth 0.02. The squared
errors are on two columns. CE_1 (x 1000) is by 15 bins. Rank 1 is the smallest error. The paper
concludes that the three orders of the classes are similar.
"""

import numpy as np
import pandas as pd

from harness.common import wording
from harness.evaluation import items, text_tables
from harness.figures import panels

from . import comparisons, curves, drawing, networks

summary = curves.summary
KERNEL, BINS = "kde_popordanoska2024", "classwise_ece_popordanoska2024"
METRICS = pd.DataFrame({
    "estimand": ["kl", "l2_squared", "l1"],
    "metric": ["CE_KL", "CE_2^2", "CE_1"],
    "published_by": [KERNEL, KERNEL, BINS],
    "scale": [100, 1000, 1000],
})  # fmt: skip
AXIS = {
    "CE_KL": r"CE$_\mathrm{KL}$ $\times$ 100",
    "CE_2^2": r"CE$_2^2$ $\times$ 1000",
    "CE_1": r"CE$_1$ $\times$ 1000",
}
OURS, PAPERS = "ours, with the rank of the class", "the paper's PreResNet56 and WideResNet28x10"
LIKE = {
    "PreResNet56": "CIFAR-10, ResNet-56",
    "WideResNet28x10": "CIFAR-10, WideResNet",
}  # {the paper's network: our most similar one}
PLACE = ["network", "label_of_class"]


def measured(records, settings):
    """Return means over the seeds and ranks, by network, metric and class.

    A metric by another estimator than the paper's has that estimator's label in its name.
    """
    fine = networks.recalibrated(
        items.values(curves.in_two_columns(records), settings), settings
    ).merge(METRICS, on="estimand")
    fine["published"] = fine["estimator"].eq(fine["published_by"])
    fine = fine[fine["published"] | ~fine["estimator"].isin([KERNEL, BINS])]
    fine.loc[~fine["published"], "metric"] = items.formatted(
        fine[~fine["published"]], "{metric}, {column}"
    )
    fine = items.in_orders(fine, {"estimand": METRICS["estimand"], "estimator": settings.estimator})
    return ranked(
        items.means(
            fine.assign(value=fine["scale"] * fine["value"]), [*PLACE, "metric", "published"]
        )
    )


def ranked(frame):
    """Add the rank of each class among the classes of its network and metric."""
    return frame.assign(rank=frame.groupby(["network", "metric"])["mean"].rank())


def printed(settings):
    """Return the printed errors, in the form of `measured`."""
    frame = items.printed(settings, "table5")
    frame = frame[~frame["column"].str.endswith("rank")]
    parts = frame["row"].str.extract(r"^(.*), class (\d+)$")
    frame = frame.assign(
        network=parts[0],
        label_of_class=parts[1].astype(int),
        metric=frame["column"],
        mean=frame["value"],
    )
    return ranked(frame.assign(se=np.nan))


def render(records, settings):
    """Draw a column per network with the three errors of every class, and the rank above.

    Open marks are the printed numbers, beside our most similar network.
    """
    frame, theirs = measured(records, settings), printed(settings)
    frame, have = frame[frame["published"].eq(True)], set(frame["network"])
    if not len(frame):
        return panels.nothing(networks.NO_FILES)
    theirs["network"] = [
        LIKE[name] if LIKE.get(name) in have else name for name in theirs["network"]
    ]
    names = networks.in_order([*frame["network"], *theirs["network"]], settings)
    drawn = pd.concat(
        [
            frame.assign(of=OURS),
            theirs.assign(of=PAPERS, label_of_class=theirs["label_of_class"] + 0.35),
        ]
    )
    looks = {OURS: {"label": OURS}, PAPERS: {"label": PAPERS, "mfc": "white"}}
    how = {"x": "label_of_class", "linestyle": "none", "markersize": 3.5}
    more = {"xlabel": "class", "how": how, "sharex": True, "sharey": "row"}
    titles = {name: name.replace(", ", "\n") for name in names}
    figure, axes = drawing.facets(
        drawn, ("metric", AXIS), ("network", titles), "of", looks, 5.0, **more
    )
    for (metric, network), ax in axes.items():
        for r in (
            frame[frame["network"].eq(network) & frame["metric"].eq(metric)]
            .fillna({"se": 0.0})
            .itertuples()
        ):
            how = {"textcoords": "offset points", "ha": "right", "fontsize": 6, "color": "0.35"}
            ax.annotate(f"{r.rank:.0f}", (r.label_of_class, r.mean + r.se), (2, 3.5), **how)
        ax.margins(y=0.2)
        ax.set_ylim(bottom=0.0)
        ax.set_xticks(range(10))
    panels.legend(figure, list(axes.values()))
    return figure


def table(records, settings):
    """Return a table by network and metric: errors with ranks, and the agreement with CE_KL.

    The agreement is the rank correlation over the classes.
    """
    rows = {}
    for frame, end in ((measured(records, settings), ""), (printed(settings), ", paper")):
        alike = comparisons.rank_agreement(frame, "network", ["label_of_class"], "metric", "CE_KL")
        frame = frame.assign(
            text=[
                f"{wording.format_fixed(r.mean, r.se, 2)} ({r.rank:.0f})"
                for r in frame.itertuples()
            ]
        )
        frame["alike"] = [alike.loc[place] for place in zip(frame["network"], frame["metric"])]
        key = ("{network}", "{metric}" + end)
        text_tables.entries(frame, key, "class {label_of_class}", text=lambda r: r.text, into=rows)
        text_tables.entries(frame, key, "ranks as CE_KL", "alike", None, 2, into=rows)
    columns = [
        *sorted({c for row in rows.values() for c in row if c.startswith("class")}),
        "ranks as CE_KL",
    ]
    order = networks.in_order([network for network, _ in rows], settings)
    rows = dict(sorted(rows.items(), key=lambda row: order.index(row[0][0])))
    heading = "error of each class (rank): CE_KL x 100, CE_2^2 x 1000, CE_1 x 1000"
    return text_tables.wide(rows, ["network", "metric"], heading, columns)


def reproduced(records, settings):
    """Return the numbers of the published estimators, and their ranks."""
    frame = measured(records, settings)
    frame, row = frame[frame["published"].eq(True)], "{network}, class {label_of_class}"
    ours = items.together(
        items.numbers(frame, row, "{metric}"),
        items.numbers(frame, row, "{metric} rank", "rank", 0.0),
    )
    return comparisons.answers_or_reason(ours, records, settings)
