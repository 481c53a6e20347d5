"""How often each certified bound or interval holds the true value, over many samples. A bound of level 1 - delta passes if its
coverage is at least 1 - delta - 3 standard errors of a share, sqrt(delta (1 - delta) / samples).

Nearly all bounds cover always: they add worst cases of several terms. What this can and cannot tell is in `ablations`.
"""

from experiments.ciosek2026 import bounds
from harness.report import items, panels, rates


def measured(records):
    """rates.coverage of the L1 error."""
    return rates.coverage(records[records["estimand"].eq("l1") | records["status"].ne("ok")])


def render(records, config):
    """Left: coverage of every bound on every problem and n (colour: n), its level and the smallest coverage that passes. Right:
    the margin by which the closest of all samples is covered; left of 0 it is not."""
    found = measured(records)
    if not len(found):
        return panels.nothing()
    rows, sizes, names = items.chosen(config, found), sorted(found["n"].unique()), items.chosen(config, found, "problem")
    figure, ((left, right),) = panels.grid(1, 2, 1.0 + 0.27 * len(rows), sharey=True)
    found = found[found["estimator"].isin(rows)]
    for j, (n, mine) in enumerate(found.groupby("n")):
        at = mine["estimator"].map(rows.index) + 0.6 * (j + 0.5) / len(sizes) - 0.3
        at += 0.12 * (mine["problem"].map(names.index) / max(len(names), 2) - 0.5)
        look = panels.look(j, markersize=3, alpha=0.7)
        left.plot(mine["coverage"], at, label=f"$n$ = {n:,}", **look)
        right.plot(mine["margin"], at, **look)
    for level, count in sorted(set(zip(found["level"], found["samples"]))):
        left.axvline(level, color="0.2", linewidth=0.9, label="level")
        left.axvline(rates.least_coverage(level, count), color="0.2", linestyle=":", linewidth=0.9, label="smallest that passes")
    left.set(xlabel="coverage", xlim=(min(found["coverage"].min(), found["least"].min()) - 0.01, 1.005))
    right.axvline(0.0, color="0.2", linewidth=0.9)
    right.set_xscale("symlog", linthresh=1e-3)
    right.set(xlabel="margin of the closest sample", xlim=(min(-2e-3, 1.3 * found["margin"].min()), 1.0))
    for ax in (right, left):
        panels.name_rows(ax, [bounds.name(e, config) for e in rows])
    panels.legend(figure, left, columns=6)
    return figure


def table(records, config):
    """By problem, bound and level: coverage at every n, the smallest that passes, the verdict, the closest margin, mean bounds at
    the largest n."""
    found, rows = items.in_order(measured(records), config), {}
    for (problem, estimator, level), part in found.groupby(["problem", "estimator", "level"], sort=False):
        part = part.sort_values("n")
        last, lost, failed = part.iloc[-1], int(part["without"].sum()), part.loc[~part["passes"], "n"]
        row = {f"n = {r.n:,}": f"{r.coverage:.4f}" for r in part.itertuples()}
        rows[bounds.function(problem, config), bounds.plain(estimator, config), f"{level:g}"] = row | {
            "samples": f"{part['samples'].min():,}" + (f" ({lost:,} without a number)" if lost else ""),
            "smallest that passes": f"{part['least'].min():.4f}",
            "verdict": f"fails at n = {', '.join(f'{n:,}' for n in failed)}" if len(failed) else "covers",
            "closest margin": f"{part['margin'].min():.5f}",
            "vacuous": ", ".join(f"{x:.3g}" for x in part["vacuous"]) if part["vacuous"].any() else "–",
            "CE": items.entry(last["truth"]),
            "mean bound at the largest n": " to ".join(f"{x:.4f}" for x in (last["low"], last["high"]) if x == x),
        }
    sizes = [f"n = {n:,}" for n in sorted(found["n"].unique())]
    return items.wide(rows, ["problem", "bound", "level"], "share of samples whose bound holds the true value", sizes)


def reproduced(records, config):
    """Coverage (rows '<problem id>, n = <n>', columns '<estimator id>, coverage') and, in columns '<estimator id>', the mean
    bounds, of the level of this run."""
    shares = bounds.shares(measured(records), config, ["problem", "estimator"], "{problem}, n = {n}", "{estimator}, coverage")
    return items.answers(items.together(shares, bounds.means(records, config)), config)
