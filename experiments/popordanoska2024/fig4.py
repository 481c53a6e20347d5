"""Figure 4: squared L2 (top) and KL (bottom) calibration error and its relative bias, for 2, 5 and 10 classes.

Two lines of truth. The class-wise error compares g_j with E[Y_j given g_j]; what the authors take for the truth (the estimator
`vector_truth_popordanoska2024`) compares it with E[Y_j given the whole vector], which is more for more than two classes (Jensen:
the latter varies about the former). Relative bias is against the first.
"""

from experiments.popordanoska2024 import curves
from experiments.popordanoska2024.fig2 import DIRECT, RISK
from harness.report import items, panels
from harness.report.tables import label

summary = curves.summary
ROWS = ("l2_squared", "kl")


def render(records, config):
    """Errors of each number of classes, and their relative bias via the risk (full lines) and direct (broken)."""
    found, problems, theirs = curves.numbers(records, config), list(config["problem"]), curves.of_vector(records, config)
    figure, axes = panels.grid(2, len(problems) + 1, 4.0, width_ratios=[1] * len(problems) + [1.15])
    for row, estimand in zip(axes, ROWS):
        last = row[-1]
        for i, problem in enumerate(problems):
            ax, part = row[i], found[found["estimand"].eq(estimand) & found["problem"].eq(problem)]
            panels.truth_line(ax, part)
            if (problem, estimand) in theirs.index:
                line = {"color": "0.2", "linestyle": ":", "linewidth": 1.0, "zorder": 1}
                ax.axhline(theirs.loc[(problem, estimand), "value"], label="authors' ground truth", **line)
            curves.curve(ax, part, config, [e for e in (RISK, DIRECT) if e in config["estimator"]])
            column = f"{label(config, 'estimator', RISK)}, {curves.SHORT[estimand]}"
            curves.marks(ax, config, "fig4_authors_code", column, f"{label(config, 'problem', problem)}, ")
            ax.set_ylim(bottom=0.0)
            axes[0, i].set_title(curves.titled(config, problem))
            for estimator, style in ((RISK, "-"), (DIRECT, "--")):
                text = curves.titled(config, problem) if estimator == RISK else None
                how = panels.look(5 + i, line=style, label=text)
                panels.curve(last, part[part["estimator"].eq(estimator)], "n", "relative", "relative_se", True, **how)
        last.axhline(0.0, color="0.2", linewidth=0.8)
        last.set_ylim(-25, 450)  # beyond: 100 samples with ten classes
        row[0].set_ylabel(curves.axis(estimand))
    axes[0, -1].set_title("relative bias (%)")
    for ax in axes[1]:
        ax.set_xlabel(panels.N_AXIS)
    axes[0, -1].legend(fontsize=6, handlelength=1.6, loc="upper right")
    panels.legend(figure, axes[:, :-1], columns=3, last=[curves.AGAIN])
    return figure


def table(records, config):
    """By estimand, k and n: true value, the authors' ground truth, every estimator and its relative bias in per cent."""
    found, theirs, rows = curves.numbers(records, config), curves.of_vector(records, config)["value"], {}
    found = items.in_order(found, config, "problem").sort_values("estimand", key=lambda e: e.map(ROWS.index), kind="stable")
    for r in found.itertuples():
        row = rows.setdefault((r.short, r.model, int(r.n)), {"true value": f"{r.truth:.5f}"})
        row["authors' ground truth"] = items.entry(theirs.get((r.problem, r.estimand), float("nan")), digits=5)
        row[r.column], row[f"{r.column}, bias %"] = items.entry(r.mean, r.se), items.entry(r.relative, r.relative_se, 0)
    heading = "kl and l2_squared (two columns): mean ± standard error; relative bias against the true value"
    return items.wide(rows, ["estimand", "problem", "n"], heading)


def reproduced(records, config):
    """Our estimates, our truths, and our value of what the authors take for the truth."""
    exact = curves.numbers(records, config).drop_duplicates(["problem", "estimand"])
    theirs = curves.of_vector(records, config)
    ours = [
        curves.reproduced_rows(records, config),
        items.numbers(exact, "{model}", "True value, {short}", "truth", "truth_error", float("inf")),
        items.numbers(theirs, "{model}", "Authors' ground truth, {short}", "value", "error", float("inf")),
    ]
    return items.answers(items.together(*ours), config)
