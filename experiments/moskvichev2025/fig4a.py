"""Figure 4a: do the metrics stay where they are when the inputs move? x ~ N(alpha, 0.25^2) on [-1, 1]; P(Y = 1 given x) and the
model do not change with alpha.

Beside the paper's panel stands what the flatness of CKCE is due to: population values for smaller ridges, and estimates with
other ridges and bandwidths. sigma(x) - sigma(5 x) as a function of the prediction is not in the kernel's space, so that without
the ridge there is no finite value to be flat.
"""

import re

import numpy as np
from scipy.special import expit

from experiments.moskvichev2025 import metrics, population
from harness.problems.base import members_of
from harness.report.plots import COLOURS, MARKERS, WIDTH, pyplot
from harness.runs.components import build

METRICS = ("CKCE", "JKCE", "ECE")
RIDGES, GAMMA = (0.1, 0.01, 1e-4, 1e-6, 1e-8), 0.5
NODES = 24  # pieces of the quadrature
THIRDS = np.array([-1.0, 1.0]) * np.log(2.0) / 5.0  # where sigma(5 x) is 1/3 and 2/3


def locations(config):
    """{problem: CovariateShift} in the order of alpha."""
    found = {}
    for name, settings in config["problem"].items():
        made = build("problem", name, settings)
        found |= members_of(made) or {name: made}
    return dict(sorted(found.items(), key=lambda one: one[1].location))


def exact(shift, n):
    """{column: population value} at one alpha: metrics with the ridge of n and the population's median distance, CKCE by ridge at
    a fixed bandwidth. ECE is the true one, 'ECE, thirds' what the estimator's cells make of it."""
    x, w = shift.nodes(NODES, THIRDS)
    p, c = expit(shift.model_slope * x), expit(shift.truth_slope * x)
    own, fixed = (population.linear_and_gaussian(g) for g in (population.median_distance(w, p), GAMMA))
    values = {
        "CKCE": population.ckce(w, p, c, own, [n**-0.25])[0],
        "JKCE": population.jkce(w, p, c, own),
        "ECE": population.ece(w, p, c),
        "ECE, thirds": population.ece_of_thirds(w, p, c),
    }
    return values | {f"CKCE, ridge {r:g}": value for r, value in zip(RIDGES, population.ckce(w, p, c, fixed, RIDGES))}


_exact: dict = {}  # figure, table and comparison ask for the same


def curves(records, config):
    """(alphas, {column: population values}, means by (alpha, column), single values): alphas of the problems with numbers."""
    found = metrics.values(records, config)
    shifts = {name: one for name, one in locations(config).items() if name in set(found["problem"])}
    n = int(found["n"].max()) if len(found) else 0
    for one in shifts.values():
        if (one, n) not in _exact:
            _exact[one, n] = exact(one, n)
    found = found.assign(alpha=[shifts[p].location for p in found["problem"]])
    known = {
        column: np.array([_exact[one, n][column] for one in shifts.values()]) for column in (_exact[one, n] if shifts else ())
    }
    return np.array([one.location for one in shifts.values()]), known, metrics.means(found, ["alpha", "column"]), found


def render(records, config):
    alphas, known, means, found = curves(records, config)
    if not len(alphas):
        return metrics.nothing()
    plt = pyplot()
    figure, axes = plt.subplots(2, 2, figsize=(WIDTH, 4.7), layout="constrained")
    _setting(axes[0, 0], next(iter(locations(config).values())))
    ax = axes[0, 1]
    for i, metric in enumerate(METRICS):
        one = found[found["column"].eq(metric) & found["rep"].eq(found["rep"].min())].sort_values("alpha")
        line = means[means["column"].eq(metric)].sort_values("alpha")
        ax.plot(one["alpha"], one["value"], linestyle="none", marker=MARKERS[i], color=COLOURS[i], alpha=0.45)
        ax.plot(line["alpha"], line["mean"], color=COLOURS[i], label=metric)
        ax.plot(alphas, known["ECE, thirds" if metric == "ECE" else metric], color=COLOURS[i], linestyle="--", linewidth=0.9)
    ax.set(title="estimates: one draw, mean; population (dashed)", ylim=(0, 0.8), xlabel=r"location $\alpha$")
    ax.legend(ncols=3, loc="upper center")
    ax = axes[1, 0]
    for i, ridge in enumerate(RIDGES):
        text = rf"$\lambda$ = {ridge:g}" if ridge >= 0.01 else rf"$\lambda = 10^{{{int(np.log10(ridge))}}}$"
        ax.plot(alphas, known[f"CKCE, ridge {ridge:g}"], color=COLOURS[i], label=text)
    ax.set(title=rf"CKCE of the population by ridge, $\gamma$ = {GAMMA:g}", yscale="log", xlabel=r"location $\alpha$")
    ax.legend(ncols=3, loc="upper center")
    ax.set_ylim(top=3e4)
    ax = axes[1, 1]
    variants = [c for c in metrics.columns_of(config, means["column"]) if c.startswith("CKCE")]
    for i, column in enumerate(variants):
        line = means[means["column"].eq(column)].sort_values("alpha")
        name = column.removeprefix("CKCE, ") if column != "CKCE" else "as published"
        ax.errorbar(line["alpha"], line["mean"], yerr=line["se"], color=COLOURS[i % 8], elinewidth=0.7, label=_symbols(name))
    ax.set(title=f"CKCE estimates by ridge and bandwidth, $n$ = {found['n'].max():,}", yscale="log", xlabel=r"location $\alpha$")
    ax.set_ylim(top=200.0)
    ax.legend(ncols=2, loc="upper center")
    return figure


def _symbols(name):
    named = {"gamma sqhalf": r"$\gamma^2$ = med $d^2$ / 2", "gamma sq": r"$\gamma$ = med $d^2$"}
    return named.get(name, re.sub(r"^ridge", r"$\\lambda$ =", re.sub(r"^gamma", r"$\\gamma$ =", name)))


def _setting(ax, shift):
    x = np.linspace(-1.0, 1.0, 401)
    ax.plot(x, expit(shift.truth_slope * x), color="0.2", label="$P(Y = 1|x)$")
    ax.plot(x, expit(shift.model_slope * x), color="0.2", linestyle="--", label="$Q(Y = 1|x)$")
    for i, alpha in enumerate((-0.75, 0.0, 0.5)):
        density = np.exp(-0.5 * ((x - alpha) / shift.scale) ** 2)
        density /= density.sum() * (x[1] - x[0])
        ax.fill_between(x, 0.25 * density, color=COLOURS[i], alpha=0.2, linewidth=0)
        ax.text(alpha, 0.25, rf"$\alpha$ = {alpha:g}", ha="center", fontsize=6.5)
    ax.set(title="the setting: only the law of $x$ moves", xlabel="$x$", ylabel="probability", ylim=(0, 1))
    ax.legend(loc="upper left")


def table(records, config):
    """Rows metric: over alpha the smallest and largest value and their ratio, of the mean estimates and of the population."""
    alphas, known, means, _ = curves(records, config)
    rows = {}
    for column in metrics.columns_of(config, means["column"]):
        line = means[means["column"].eq(column)]
        rows[("estimates (mean)", column)] = _range(line["mean"].to_numpy(), line["alpha"].to_numpy())
        noise = (line["sd"] / line["mean"].abs()).mean()
        rows["estimates (mean)", column]["sd of one draw, %"] = metrics.entry(100 * noise, digits=0)
    for column, values in known.items():
        name = column.replace("ridge", f"gamma {GAMMA:g}, ridge")
        rows[("population", name)] = _range(values, alphas)
    return metrics.framed(rows, ["", "metric"], "over the locations: smallest, largest, and their ratio")


def _range(values, alphas):
    low, high = values.min(), values.max()
    return {
        "smallest": f"{low:.4g}", "at": f"{alphas[values.argmin()]:+.2f}", "largest": f"{high:.4g}",
        "at ": f"{alphas[values.argmax()]:+.2f}", "largest / smallest": f"{high / low:.3g}" if low > 0 else "–",
    }  # fmt: skip


def reproduced(records, config):
    """Mean estimates and population values; the item says which: '..._population' compares the latter."""
    alphas, known, means, _ = curves(records, config)
    estimated = [(f"alpha = {r.alpha:+.2f}", r.column, r.mean, r.se, r.reps) for r in means.itertuples()]
    held = [(f"alpha = {a:+.2f}", c, float(v[i]), 0.0, np.inf) for c, v in known.items() for i, a in enumerate(alphas)]
    frames = []
    for item in config["compare"]:
        rows = held if item.endswith("_population") else estimated
        frames.append(metrics.answers(rows, records, {**config, "compare": [item]}))
    return metrics.joined(frames)
