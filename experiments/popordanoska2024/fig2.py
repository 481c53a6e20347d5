"""Figure 2: KL calibration error on simulated data. (a) kernel against bins, (b) via the risk against direct, (c) bias over n.

The class-wise numbers of the paper come from the kernel via the risk (eq. 14) with a bandwidth by n. (a) has the squared error as
well, where from 500 samples on bins do better than the kernel.
"""

from experiments.popordanoska2024 import curves
from harness.report import items, panels
from harness.report.tables import label

summary = curves.summary
RISK, DIRECT = "kde_risk_schedule_popordanoska2024", "kde_direct_schedule_popordanoska2024"
BINNED = {"kl": "binned_kl_popordanoska2024", "l2_squared": "binned15"}
CONTESTS = {  # column of the table: estimand, and two estimators of which the second is to be closer to the truth
    "fig2a": {
        "|bias| bins - kernel, KL": ("kl", BINNED["kl"], RISK),
        "|bias| bins - kernel, squared L2": ("l2_squared", BINNED["l2_squared"], RISK),
    },
    "fig2b": {"|bias| via risk - direct": ("kl", RISK, DIRECT)},
    "fig2c": {},
}


def part_of(config):
    """fig2a, fig2b or fig2c."""
    return config["compare"][0].split("_")[0]


def render(records, config):
    """(a) a panel per estimand, (b) a panel per problem, (c) a panel per estimator with a line per problem: the bias."""
    found, which = curves.numbers(records, config), part_of(config)
    of_kl = found[found["estimand"].eq("kl")]
    if which == "fig2c":
        return _bias(of_kl, config)
    if which == "fig2a":
        drawn = [(s, found[found["estimand"].eq(s)], (RISK, BINNED[s]), "k = 2, ") for s in curves.SHORT]
    else:
        names = {p: label(config, "problem", p) for p in config["problem"]}
        drawn = [("kl", of_kl[of_kl["problem"].eq(p)], (RISK, DIRECT), f"{name}, ") for p, name in names.items()]
    figure, (axes,) = panels.grid(1, len(drawn), 2.5, sharey=which == "fig2b")
    for k, (ax, (estimand, part, wanted, prefix)) in enumerate(zip(axes, drawn)):
        chosen = [e for e in wanted if e in config["estimator"]]
        panels.truth_line(ax, part)
        curves.curve(ax, part, config, chosen)
        for estimator in chosen:
            column = f"{label(config, 'estimator', estimator)}, {curves.SHORT[estimand]}"
            curves.marks(ax, config, f"{which}_authors_code", column, prefix)
        ax.set(xlabel=panels.N_AXIS, ylabel="" if k and which == "fig2b" else curves.axis(estimand))
        ax.set_ylim(bottom=0.0)
        ax.set_title(prefix.removesuffix(", ").replace("k =", "$k$ =") if which == "fig2b" else "")
    panels.legend(figure, axes, columns=5, last=[curves.AGAIN])
    return figure


def _bias(found, config):
    shown = [e for e in (RISK, DIRECT) if e in config["estimator"]]
    figure, (axes,) = panels.grid(1, len(shown), 2.4, sharey=True)
    for ax, estimator in zip(axes, shown):
        for i, problem in enumerate(config["problem"]):
            line = found[found["problem"].eq(problem) & found["estimator"].eq(estimator)]
            how = panels.look(i, line="-", label=curves.titled(config, problem), zorder=3)
            panels.curve(ax, line, value="bias", log=True, **how)
            if estimator == RISK:
                column = f"{label(config, 'estimator', RISK)}, bias of KL"
                curves.marks(ax, config, "fig2c_authors_code", column, f"{label(config, 'problem', problem)}, ")
        ax.axhline(0.0, color="0.2", linestyle="--", linewidth=1.0, zorder=1)
        ax.set(title=label(config, "estimator", estimator), xlabel=panels.N_AXIS)
    axes[0].set_ylabel("bias of the KL calibration error")
    panels.legend(figure, axes, last=[curves.AGAIN])
    return figure


def table(records, config):
    """By k and n: truth and estimates. Parts (a) and (b): by how much the second of two estimators is closer to the truth, with
    the error of that paired difference (bins and kernel; via the risk and direct). Part (c): bias, and bias in per cent."""
    which, rows = part_of(config), {}
    found = items.in_order(curves.numbers(records, config), config, "problem")
    for r in found[found["estimand"].eq("kl") | (which == "fig2a")].itertuples():
        row, suffix = rows.setdefault((r.model, int(r.n)), {}), f", {r.short}" * (which == "fig2a")
        row[f"true value{suffix}"] = items.entry(r.truth)
        if which == "fig2c":
            row[f"{r.column}, bias"] = items.entry(r.bias, r.se)
            row[f"{r.column}, %"] = items.entry(r.relative, r.relative_se, 0)
        else:
            row[f"{r.column}{suffix}"] = items.entry(r.mean, r.se)
    for column, contest in CONTESTS[which].items():
        for (problem, n), d in curves.gap(records, *contest).iterrows():
            rows[label(config, "problem", problem), n][column] = items.entry(d["gap"], d["se"])
    return items.wide(rows, ["problem", "n"], "kl: mean ± standard error; squared L2 on two columns")


def reproduced(records, config):
    """Our estimates, for (c) our biases, beside those of the authors' code and of an independent implementation."""
    bias = ("{column}, bias of {short}", "bias") if part_of(config) == "fig2c" else ()
    return items.answers(curves.reproduced_rows(records, config, *bias), config)
