"""Figure 2: KL calibration error on simulated data. (a) kernel against bins, (b) via the risk against direct, (c) bias over n.

The class-wise numbers of the paper come from the kernel via the risk (eq. 14) with a bandwidth by n. (a) has the squared error as
well, where from 500 samples on bins do better than the kernel.
"""

from experiments.popordanoska2024 import curves
from harness.report import items, panels, rates
from harness.report.shown import label

summary = curves.summary
RISK, DIRECT = "kde_risk_schedule_popordanoska2024", "kde_direct_schedule_popordanoska2024"
BINNED = {"kl": "binned_kl_popordanoska2024", "l2_squared": "binned15"}
CONTESTS = {  # column of the table: estimand, and two estimators of which the second is to be closer to the truth
    "fig2a": {f"|bias| bins - kernel, {name}": (s, BINNED[s], RISK) for s, name in curves.SHORT.items()},
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
        drawn = [("", curves.axis(s), found[found["estimand"].eq(s)], (RISK, BINNED[s])) for s in curves.SHORT]
    else:
        drawn = [(curves.titled(config, p), "", of_kl[of_kl["problem"].eq(p)], (RISK, DIRECT)) for p in config["problem"]]
    figure, (axes,) = panels.grid(1, len(drawn), 2.5, sharey=which == "fig2b")
    for ax, (title, text, part, estimators) in zip(axes, drawn):
        curves.panel(ax, part, config, estimators, f"{which}_authors_code")
        ax.set(title=title, xlabel=panels.N_AXIS, ylabel=text)
        ax.set_ylim(bottom=0.0)
    axes[0].set_ylabel(curves.axis("kl"))
    panels.legend(figure, axes, columns=5, last=[curves.AGAIN])
    return figure


def _bias(found, config):
    shown = [e for e in (RISK, DIRECT) if e in config["estimator"]]
    titles = {problem: curves.titled(config, problem) for problem in config["problem"]}
    figure, (axes,) = panels.grid(1, len(shown), 2.4, sharey=True)
    for ax, estimator in zip(axes, shown):
        name = label(config, "estimator", estimator)
        panels.lines(ax, found[found["estimator"].eq(estimator)], "problem", titles, value="bias", log=True, zorder=3)
        for problem in titles:
            curves.marks(ax, config, "fig2c_authors_code", f"{name}, bias of KL", f"{label(config, 'problem', problem)}, ")
        panels.rule(ax, 0.0)
        ax.set(title=name, xlabel=panels.N_AXIS)
    axes[0].set_ylabel("bias of the KL calibration error")
    panels.legend(figure, axes, last=[curves.AGAIN])
    return figure


def table(records, config):
    """By k and n: truth and estimates. Parts (a) and (b): by how much the second of two estimators is closer to the truth, with
    the error of that paired difference (bins and kernel; via the risk and direct). Part (c): bias, and bias in per cent."""
    which = part_of(config)
    found = items.in_order(curves.numbers(records, config), config, "problem")
    found, suffix = found[found["estimand"].eq("kl") | (which == "fig2a")], ", {short}" * (which == "fig2a")
    shown = {f"{{column}}{suffix}": ("mean", "se")}
    if which == "fig2c":
        shown = {"{column}, bias": ("bias", "se"), "{column}, %": ("relative", "relative_se", 0)}
    rows = items.columns(found, ("model", "n"), {f"true value{suffix}": ("truth", None), **shown})
    for column, (estimand, first, second) in CONTESTS[which].items():
        fine = curves.in_two_columns(items.with_number(records, estimand))
        for (problem, n), d in rates.gap(fine, first, second).iterrows():
            rows[label(config, "problem", problem), n][column] = items.entry(d["gap"], d["se"])
    return items.wide(rows, ["problem", "n"], "kl: mean ± standard error; squared L2 on two columns")


def reproduced(records, config):
    """Our estimates, for (c) our biases, beside those of the authors' code and of an independent implementation."""
    bias = ("{column}, bias of {short}", "bias") if part_of(config) == "fig2c" else ()
    return items.answers(curves.reproduced_rows(records, config, *bias), config)
