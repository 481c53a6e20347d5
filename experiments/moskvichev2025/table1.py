"""Table 1: accuracy, cross entropy, 10 CKCE, 100 JKCE and ECE of networks and of the marginal model on all test rows.

The marginal model of ImageNet needs no data: on n rows with equally many of each of k classes the residuals e_y - (1/k, ..., 1/k)
sum to 0, which leaves CKCE = ECE = 0 and JKCE = -(1 + 1/k)(1 - 1/k) / (n - 1), whatever the bandwidth.
"""

import numpy as np

from experiments.moskvichev2025 import metrics
from harness.report import reproduction
from harness.report.plots import COLOURS, WIDTH, pyplot
from harness.report.tables import label
from harness.runs.components import configured

SCALES = {"accuracy": 1.0, "cross entropy": 1.0, "CKCE": 10.0, "JKCE": 100.0, "ECE": 1.0}
IMAGENET = "ImageNet, Marginal"
ROWS_OF_IMAGENET, CLASSES_OF_IMAGENET = 50_000, 1000


def scale(column: str) -> float:
    """The factor of a column; 'JKCE, gamma 0.6' has that of JKCE."""
    return SCALES[column.split(",")[0]]


def marginal(n: int, k: int) -> dict[str, float]:
    """The metrics of the uniform model on n rows, equally many of each of k classes."""
    jkce = -(1.0 + 1.0 / k) * (1.0 - 1.0 / k) / (n - 1)
    return {"accuracy": 1.0 / k, "cross entropy": float(np.log(k)), "CKCE": 0.0, "JKCE": jkce, "ECE": 0.0}


def measured(records, config):
    """{(model, column): value in the table's scale}; values at the largest n, which is all rows."""
    found = metrics.values(records, config)
    found = found[found["n"].eq(found.groupby("problem")["n"].transform("max"))]
    rows = {(r.model, r.column): scale(r.column) * r.value for r in found.itertuples()}
    for name, settings in config["problem"].items():
        made = configured("problem", name, settings).object
        if made.unavailable is None:
            p, y = made.sample(made.n_max, np.random.default_rng(0))
            right = p.argmax(axis=1) == y if p.ndim == 2 else y
            rows[label(config, "problem", name), "accuracy"] = float(right.mean())
    if "data" not in config["reasons"]:
        values = marginal(ROWS_OF_IMAGENET, CLASSES_OF_IMAGENET)
        rows |= {(IMAGENET, column): scale(column) * value for column, value in values.items()}
    return rows


def render(records, config):
    """One panel per column of the table: ours full, the paper's open."""
    found, printed = measured(records, config), _printed(config)
    models = list(dict.fromkeys([m for m, _ in printed] or metrics.models_of(config)))
    plt = pyplot()
    figure, axes = plt.subplots(1, len(SCALES), figsize=(WIDTH, 0.75 + 0.2 * len(models)), sharey=True, layout="constrained")
    for ax, (column, factor) in zip(axes, SCALES.items()):
        for values, style in (
            (printed, {"marker": "D", "color": "0.4", "markerfacecolor": "white", "markersize": 5, "label": "paper"}),
            (found, {"marker": "o", "color": COLOURS[0], "markersize": 3, "label": "ours"}),
        ):
            shown = [(values[m, column], i) for i, m in enumerate(models) if (m, column) in values]
            if shown:
                ax.plot(*zip(*shown), linestyle="none", **style)
        ax.margins(x=0.12)
        ax.set_title(column + (rf" $\times$ {factor:g}" if factor != 1 else ""))
    axes[0].set_yticks(range(len(models)), models)
    axes[0].set_ylim(len(models) - 0.4, -0.6)
    if not printed:
        return figure
    entries = {text: handle for ax in axes for handle, text in zip(*ax.get_legend_handles_labels())}
    figure.legend(entries.values(), entries.keys(), loc="outside upper center", ncols=2)
    return figure


def _printed(config):
    """{(model, column): printed value}; none beside networks that are not the paper's."""
    if "data" in config["reasons"]:
        return {}
    printed = reproduction.reported(config["paper"], config["compare"])
    return {(r.row, r.column): r.value for r in printed.itertuples()}


def table(records, config):
    """Rows model: the paper's number / ours."""
    found, printed = measured(records, config), _printed(config)
    rows = {}
    models = list(dict.fromkeys([m for m, _ in printed] or metrics.models_of(config)))
    columns = list(dict.fromkeys([*SCALES, *metrics.columns_of(config)]))
    for model, column in ((m, c) for m in models for c in columns):
        ours = f"{found[model, column]:.4f}".replace("-0.0000", "0.0000") if (model, column) in found else "–"
        theirs = f"{printed[model, column]:.3f} / " if printed else ""
        rows.setdefault((model,), {})[column + (f" x {scale(column):g}" if scale(column) != 1 else "")] = theirs + ours
    return metrics.framed(rows, ["model"], "paper / ours" if printed else "ours, on all rows")


def reproduced(records, config):
    rows = [(m, c, v, 0.0, np.inf) for (m, c), v in measured(records, config).items()]
    whys = {}
    for name, settings in config["problem"].items():
        reason = configured("problem", name, settings).object.unavailable
        if reason:
            whys[label(config, "problem", name)] = reason
    asked = reproduction.reported(config["paper"], config["compare"])["row"]
    if "data" in config["reasons"]:
        whys = dict.fromkeys(asked, config["reasons"]["data"])
    else:
        whys |= {row: config["reasons"]["imagenet"] for row in asked if row.startswith("ImageNet")}
    return metrics.answers(rows, records, config, whys)
