"""Figure 1: the empirical risk of v_theta = f - P^theta / sum against theta; the truth is theta = 1."""

import json

import numpy as np
import pandas as pd

from harness.common.paths import EXPERIMENTS
from harness.errors import BadInputError
from harness.report import reproduction
from harness.report.plots import COLOURS, WIDTH, pyplot
from harness.report.tables import label


def render(records, config):
    """Left: the whole curve, mean and band of one standard deviation over the repetitions, exact risk, the paper's mean curve as
    read from its figure. Right: how the exponent of smallest risk is spread over the repetitions."""
    plt = pyplot()
    thetas, risks, chosen = curves(records)
    figure, (ax, side) = plt.subplots(1, 2, figsize=(WIDTH, 2.5), layout="constrained", width_ratios=[2.1, 1.0])
    mean, sd = risks.mean(axis=0), risks.std(axis=0, ddof=1) if len(risks) > 1 else np.zeros(len(thetas))
    ax.axvline(1.0, color=COLOURS[1], linewidth=1.0, label="truth, $\\theta = 1$", zorder=1)
    ax.fill_between(thetas, mean - sd, mean + sd, color=COLOURS[0], alpha=0.2, linewidth=0, label="± one standard deviation")
    ax.plot(thetas, mean, color=COLOURS[0], label=f"mean of {len(risks)} repetitions", zorder=3)
    exact = population()
    ax.plot(exact["theta"], exact["risk"], color="black", linestyle=(0, (4, 3)), linewidth=0.9, label="exact risk", zorder=4)
    paper = _theta(reproduction.reported("gruber2025", ["fig1"]))
    ax.plot(
        paper["theta"], paper["value"], "D", color="0.35", markerfacecolor="white", markersize=2.6, markeredgewidth=0.6,
        markevery=2, label="paper (read from its figure)", zorder=2,
    )  # fmt: skip
    ax.set_xscale("log")
    ax.set_xlabel(r"exponent $\theta$")
    ax.set_ylabel("risk of $h_\\theta$ (eq. 20)")
    ax.set_ylim(0.0, None)
    low, middle, high = np.quantile(chosen, [0.05, 0.5, 0.95])
    edges = np.append(thetas, thetas[-1] * thetas[1] / thetas[0]) / np.sqrt(thetas[1] / thetas[0])
    side.hist(chosen, bins=edges, color=COLOURS[0], alpha=0.75)
    side.axvline(1.0, color=COLOURS[1], linewidth=1.0)
    side.set_xscale("log")
    side.set_xlim(min(0.5, chosen.min() / 1.1), max(2.0, chosen.max() * 1.1))
    ticks = [t for t in (0.125, 0.25, 0.5, 0.7, 1.0, 1.4, 2.0, 4.0, 8.0) if side.get_xlim()[0] <= t <= side.get_xlim()[1]]
    side.set_xticks(ticks, [f"{t:g}" for t in ticks])
    side.xaxis.set_minor_locator(plt.NullLocator())
    side.set_xlabel(r"$\theta$ of smallest risk")
    side.set_ylabel("repetitions")
    side.set_title(f"median {middle:.3g}, 90 % in {low:.3g} to {high:.3g}")
    figure.legend(*ax.get_legend_handles_labels(), loc="outside upper center", ncols=3, columnspacing=1.4)
    return figure


def curves(records):
    """(theta (m,), risks (repetitions, m), chosen theta (repetitions,)) of the cells that gave a curve."""
    fine = records[records["status"].eq("ok") & records["estimand"].eq("l2_squared") & records["diagnostics"].notna()]
    parts = [json.loads(text) for text in fine.sort_values("rep")["diagnostics"]]
    if not parts:
        raise BadInputError("no cell gave a risk curve; Figure 1 is of risk_curve on a problem with a known posterior.")
    names = [name for name in parts[0] if name.startswith("risk at ")]
    thetas = np.array([float(name.removeprefix("risk at ")) for name in names])
    return thetas, np.array([[p[name] for name in names] for p in parts]), np.array([p["theta"] for p in parts])


def population():
    """The exact risk by theta: at h = <v_t, v_t>, exchangeable classes, [(E u^2)^2 - 2 (E <v_1, v_t>)^2 + (E |v_t|^2)^2] / 4."""
    return pd.read_csv(EXPERIMENTS / "gruber2025" / "fig1_population.csv")


def table(records, config):
    """What the figure shows, as numbers: exact, the authors' code (seed 0), ours with its standard error."""
    thetas, risks, chosen = curves(records)
    exact, code = population(), _theta(reproduction.reported("gruber2025", ["fig1_authors_code"]))
    rows = {
        "theta of the smallest mean risk": (
            _argmin(exact, "risk"),
            _argmin(code, "value"),
            f"{thetas[risks.mean(0).argmin()]:.4g}",
        ),
        "risk there": (f"{exact['risk'].min():.6f}", f"{code['value'].min():.6f}", _mean(risks[:, risks.mean(0).argmin()])),
    }
    for name, at in (
        ("near the local minimum", 0.16),
        ("near h = 0", 0.3),
        ("smallest theta", thetas[0]),
        ("largest theta", thetas[-1]),
    ):
        i, row = (
            int(np.abs(np.log(thetas / at)).argmin()),
            f"risk at {thetas[int(np.abs(np.log(thetas / at)).argmin())]:.4g} ({name})",
        )
        rows[row] = (_at(exact, "risk", at), _at(code, "value", at), _mean(risks[:, i]))
    left = thetas < 0.3
    rows["theta of the local minimum below 0.3"] = (
        _argmin(exact[exact["theta"] < 0.3], "risk"), _argmin(code[code["theta"] < 0.3], "value"),
        f"{thetas[left][risks.mean(0)[left].argmin()]:.4g}",
    )  # fmt: skip
    spread = np.quantile(chosen, [0.05, 0.95])
    rows["theta chosen by one repetition, 5 to 95 %"] = ("–", "0.84 to 1.23", f"{spread[0]:.3g} to {spread[1]:.3g}")
    worst = (
        np.abs(risks.mean(0) - exact["risk"].to_numpy()) / (risks.std(0, ddof=1) / np.sqrt(len(risks)))
        if len(risks) > 1
        else np.nan
    )
    rows["largest |mean - exact| in standard errors"] = ("–", "0.6", f"{np.max(worst):.2g}")
    found = records[records["status"].eq("ok")]
    truth = found["truth"].iloc[0]
    rows["squared calibration error"] = (f"{truth:.6f}" if truth == truth else "–", "–", _mean(found["value"].to_numpy()))
    frame = pd.DataFrame.from_dict(
        rows, orient="index", columns=["exact", "authors' code, seed 0", label(config, "estimator", "risk_curve")]
    )
    frame.index = pd.MultiIndex.from_tuples([(name,) for name in frame.index], names=["quantity"])
    frame.columns.name = "mean ± standard error over the repetitions"
    return frame


def reproduced(records, config):
    """Our mean risk at the thetas of `fig1` (linear in log theta between the candidates) and of `fig1_authors_code`."""
    thetas, risks, _ = curves(records)
    frames = []
    for item in config["compare"]:
        asked = _theta(reproduction.reported("gruber2025", [item]))
        at = np.array([[np.interp(np.log(t), np.log(thetas), curve) for t in asked["theta"]] for curve in risks])
        error = at.std(axis=0, ddof=1) / np.sqrt(len(at)) if len(at) > 1 else np.full(at.shape[1], np.nan)
        frames.append(asked[["item", "row", "column"]].assign(value=at.mean(axis=0), error=error, reps=len(at)))
    return pd.concat(frames, ignore_index=True)


def _theta(frame):
    return frame.assign(theta=frame["row"].str.removeprefix("theta = ").astype(float))


def _argmin(frame, column):
    return f"{frame.loc[frame[column].idxmin(), 'theta']:.4g}"


def _at(frame, column, theta):
    return f"{frame[column].iloc[int(np.abs(np.log(frame['theta'] / theta)).to_numpy().argmin())]:.6f}"


def _mean(values):
    error = f" ± {values.std(ddof=1) / np.sqrt(len(values)):.6f}" if len(values) > 1 else ""
    return f"{values.mean():.6f}{error}"
