"""Figure 1: the empirical risk of v_theta = f - P^theta / sum against theta; the truth is theta = 1."""

import numpy as np

from harness.errors import BadInputError
from harness.report import items, panels, reproduction
from harness.report.shown import label
from harness.report.style import COLOURS

RISK = "risk at "
COLUMNS = ("exact", "authors' code, seed 0")
PLACES = {"near the local minimum": 0.16, "near h = 0": 0.3, "smallest theta": 0.0, "largest theta": np.inf}


def curves(records):
    """(theta (m,), risks (repetitions, m), chosen theta (repetitions,)) of the cells that gave a curve."""
    fine = items.with_number(records, "l2_squared")
    parts = items.diagnostics(fine[fine["diagnostics"].notna()].sort_values("rep"))
    names = [name for name in parts if name.startswith(RISK)]
    if not names:
        raise BadInputError("no cell gave a risk curve; Figure 1 is of risk_curve on a problem with a known posterior.")
    return np.array([float(name.removeprefix(RISK)) for name in names]), parts[names].to_numpy(), parts["theta"].to_numpy()


def reported(item):
    """A curve that is known: (theta, risk). `fig1_population` is the exact one, good to 1e-4: at h = <v_t, v_t>, exchangeable
    classes, [(E u^2)^2 - 2 (E <v_1, v_t>)^2 + (E |v_t|^2)^2] / 4."""
    found = reproduction.reported("gruber2025", [item])
    return found["row"].str.removeprefix("theta = ").astype(float).to_numpy(), found["value"].to_numpy()


def render(records, config):
    """Left: the whole curve, mean and band of one standard deviation over the repetitions, exact risk, the paper's mean curve as
    read from its figure. Right: how the exponent of smallest risk is spread over the repetitions."""
    thetas, risks, chosen = curves(records)
    figure, ((ax, side),) = panels.grid(1, 2, 2.5, width_ratios=[2.1, 1.0])
    mean, sd = risks.mean(axis=0), _sd(risks)
    ax.axvline(1.0, color=COLOURS[1], linewidth=1.0, label="truth, $\\theta = 1$", zorder=1)
    ax.fill_between(thetas, mean - sd, mean + sd, color=COLOURS[0], alpha=0.2, linewidth=0, label="± one standard deviation")
    ax.plot(thetas, mean, color=COLOURS[0], label=f"mean of {len(risks)} repetitions", zorder=3)
    ax.plot(*reported("fig1_population"), color="black", linestyle=(0, (4, 3)), linewidth=0.9, label="exact risk", zorder=4)
    paper = panels.look(3, filled=False, markersize=2.6, markeredgewidth=0.6, markevery=2, zorder=2) | {"color": "0.35"}
    ax.plot(*reported("fig1"), label="paper (read from its figure)", **paper)
    ax.set(xscale="log", xlabel=r"exponent $\theta$", ylabel="risk of $h_\\theta$ (eq. 20)", ylim=(0.0, None))
    low, middle, high = np.quantile(chosen, [0.05, 0.5, 0.95])
    edges = np.append(thetas, thetas[-1] * thetas[1] / thetas[0]) / np.sqrt(thetas[1] / thetas[0])
    side.hist(chosen, bins=edges, color=COLOURS[0], alpha=0.75)
    side.axvline(1.0, color=COLOURS[1], linewidth=1.0)
    side.set(xscale="log", xlim=(min(0.5, chosen.min() / 1.1), max(2.0, chosen.max() * 1.1)))
    ticks = [t for t in (0.125, 0.25, 0.5, 0.7, 1.0, 1.4, 2.0, 4.0, 8.0) if side.get_xlim()[0] <= t <= side.get_xlim()[1]]
    side.set_xticks(ticks, [f"{t:g}" for t in ticks])
    side.set_xticks([], minor=True)
    side.set(xlabel=r"$\theta$ of smallest risk", ylabel="repetitions")
    side.set_title(f"median {middle:.3g}, 90 % in {low:.3g} to {high:.3g}")
    panels.legend(figure, ax, 3, columnspacing=1.4)
    return figure


def table(records, config):
    """What the figure shows, as numbers: exact, the authors' code (seed 0), ours with its standard error."""
    thetas, risks, chosen = curves(records)
    mean, error, ours = risks.mean(axis=0), _sd(risks) / np.sqrt(len(risks)), label(config, "estimator", "risk_curve")
    places = {f"{RISK}{thetas[_nearest(thetas, at)]:.4g} ({text})": at for text, at in PLACES.items()}
    exact = reported("fig1_population")
    held = {COLUMNS[0]: (*exact, None), COLUMNS[1]: (*reported("fig1_authors_code"), None), ours: (thetas, mean, error)}
    rows = {}
    for name, (t, risk, se) in held.items():
        best, left = risk.argmin(), risk[t < 0.3].argmin()
        at = {"risk there": best, **{row: _nearest(t, x) for row, x in places.items()}}
        texts = {row: items.entry(risk[i], np.nan if se is None else se[i], 6) for row, i in at.items()}
        texts = {"theta of the smallest mean risk": f"{t[best]:.4g}", **texts}
        for row, text in {**texts, "theta of the local minimum below 0.3": f"{t[left]:.4g}"}.items():
            rows.setdefault(row, {})[name] = text
    low, high = np.quantile(chosen, [0.05, 0.95])
    rows["theta chosen by one repetition, 5 to 95 %"] = {COLUMNS[1]: "0.84 to 1.23", ours: f"{low:.3g} to {high:.3g}"}
    worst = np.max(np.abs(mean - exact[1]) / error)
    rows["largest |mean - exact| in standard errors"] = {COLUMNS[1]: "0.6", ours: f"{worst:.2g}"}
    fine = items.with_number(records)
    value = items.means(fine, ["estimator"]).iloc[0]
    known = {COLUMNS[0]: items.entry(fine["truth"].iloc[0], digits=6), ours: items.entry(value["mean"], value["se"], 6)}
    rows["squared calibration error"] = known
    return items.wide(rows, ["quantity"], "mean ± standard error over the repetitions", held)


def _sd(risks):
    return risks.std(axis=0, ddof=1) if len(risks) > 1 else np.full(risks.shape[1], np.nan)


def _nearest(thetas, at):
    return int(np.abs(np.log(thetas / np.clip(at, thetas[0], thetas[-1]))).argmin())


def reproduced(records, config):
    """Our mean risk at the thetas of `fig1` (linear in log theta between the candidates) and of `fig1_authors_code`."""
    thetas, risks, _ = curves(records)
    asked = items.printed(config)[["item", "row", "column"]]
    at = np.log(asked["row"].str.removeprefix("theta = ").astype(float))
    read = np.array([np.interp(at, np.log(thetas), curve) for curve in risks])
    keys = tuple(items.with_number(records, "l2_squared").get("key", ()))
    return asked.assign(value=read.mean(axis=0), error=_sd(read) / np.sqrt(len(read)), reps=len(read), keys=[keys] * len(asked))
