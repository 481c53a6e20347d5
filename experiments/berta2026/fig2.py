"""Figure 2: the three simulated problems, with Table 2's numbers beneath."""

import numpy as np

from experiments.berta2026 import table2
from harness.common.seeds import data_rng
from harness.report.plots import WIDTH, pyplot
from harness.report.tables import label
from harness.runs.components import configured

POINTS = 500
table, reproduced = table2.table, table2.reproduced


def render(records, config):
    """Above: the identity line and the first 500 predictions f of replication 0 with the true g*(f); below: Table 2."""
    plt = pyplot()
    problems = list(config["problem"])
    grid = {"squeeze": False, "sharex": "row", "sharey": "row", "height_ratios": [1.9, 1.5]}
    figure, axes = plt.subplots(2, len(problems), figsize=(WIDTH, 4.1), layout="constrained", **grid)
    for ax, problem in zip(axes[0], problems):
        made = configured("problem", problem, config["problem"][problem])
        f, _ = made.object.sample(POINTS, data_rng(config["seed"], made.key, 0))
        ax.plot([0, 1], [0, 1], color="0.2", linewidth=0.8, label="calibrated")
        ax.plot(f, made.object.posterior(np.asarray(f)), ".", color="0.5", markersize=2.5, label=r"$g^\ast(f)$")
        ax.set_title(label(config, "problem", problem))
        ax.set_xlabel("prediction $f$")
        ax.set_box_aspect(1)
    axes[0, 0].set_ylabel(r"$g^\ast(f) = P(Y = 1 \mid f)$")
    axes[0, 0].legend(loc="lower right", handlelength=1.2, borderaxespad=0.0)
    table2.draw_parts(figure, axes[1], problems, records, config)
    return figure
