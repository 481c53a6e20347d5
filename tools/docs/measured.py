"""Write the arena results that docs/explanation quotes as Markdown tables.

The results come from the stored records in results/ and harness/judging.
"""

from __future__ import annotations

import functools
import textwrap

import numpy as np
import pandas as pd
from marks import DOCS, table

from harness.common.names import estimand_name
from harness.common.wording import format_number
from harness.configure.compose import compose
from harness.evaluation import arena
from harness.evaluation.arena import blocks
from harness.evaluation.arena.simple_rule import TIE
from harness.judging.measured import measurements
from harness.pages.arena import answers as arena_answers
from harness.pages.arena import tables
from harness.records import baseline

RESULTS = DOCS.parent / "results"
MARKS = {"better": " better", "worse": " worse", "undecided": ""}
BINNING = {  # {problem: name of the model in the table}
    "beta_calibrated": "calibrated",
    "ties_k3_calibrated": "calibrated, few distinct scores",
    "fitted_images_k10_resnet20": "ResNet-20 on CIFAR-10 (labels redrawn)",
    "fitted_tabular_k3_connect_4": "gradient boosting and others on a table (labels redrawn)",
    "beta_overconfident": "overconfident",
    "wavy_k2": "over- and underconfident in turn",
    "stepped_k2": "piecewise constant",
    "wavy_k3": "over- and underconfident in turn, 3 classes",
}


@functools.cache
def _records() -> pd.DataFrame:
    return baseline.load()


def binning() -> str:
    """Return a table of mean L1 errors by 15 equal-width bins, with one row per problem.

    The columns are the true error and, for each n, the mean with its standard error.
    """
    records = _records()
    is_binned = records["estimator"].eq("binned15") & records["estimand"].eq("l1")
    is_main = records["notion"].isin(("binary", "top_label"))
    records = records[is_binned & is_main & records["value"].notna()]
    rows = []
    for problem, name in BINNING.items():
        mine = records[records["problem"].eq(problem)]
        means = mine.groupby("n")["value"].agg(["mean", "sem"])
        numbers = [f"{mean:.3f} ± {error:.3f}" for mean, error in means.to_numpy()]
        rows.append([f"{name} (`{problem}`)", f"{mine['truth'].iloc[0]:.3f}", *numbers])
    return table(["model", "true error", *(f"15 bins, n = {n:,}" for n in means.index)], rows)


def extent() -> str:
    """Return how many estimators of the main estimands the arena has, by n, and what was not run.

    Oracles do not count. The first table has the number of published point estimators, which are
    the rivals of `best`, by notion and n. An estimator counts if it estimates one of the two
    estimands there. The second table has what was not run for its cost.
    """
    records = _records()
    main = records[records["estimand"].isin(arena.MAIN)]
    names = main["estimator"].unique()
    anchors = [f"`{name}`" for name in names if arena.is_anchor(name)]
    sizes = sorted(main["n"].unique())
    points = main[main["kind"].eq("point") & main["value"].notna()]
    points = points.drop_duplicates(["notion", "n", "estimator"])
    points = points[points["estimator"].map(arena.is_published).astype(bool)]
    counts = points.groupby(["notion", "n"], observed=True).size().unstack(fill_value=0)
    rows = [
        [str(title), *(str(counts.loc[notion, n]) if n in counts else "0" for n in sizes)]
        for notion, title in NOTIONS.items()
    ]
    text = (
        f"There are {len(names) - len(anchors)} estimators. A further one, {', '.join(anchors)}, "
        "knows the truth: it is a reference and does not count. The table has the number of "
        "published estimators with which `best` is compared."
    )
    head = ["notion", *(f"n = {n:,}" for n in sizes)]
    return (
        f"{textwrap.fill(text, 130, break_on_hyphens=False)}\n\n{table(head, rows)}\n\n{absent()}"
    )


def absent() -> str:
    """Return what the arena did not run: the blocks above the limit of cost, and the others."""
    states = blocks.with_states(blocks.read(RESULTS / "arena"))
    dear = states[states["state"].eq(blocks.COST)]
    count = states["state"].eq(blocks.YET).sum()
    rows = [
        [
            f"`{row.estimator}`",
            NOTIONS[row.notion],
            f"{row.n:,}",
            blocks.format_minutes(row.minutes),
        ]
        for row in dear.itertuples()
    ]
    text = (
        "An estimator is run at an n if all problems and replications of a notion together take "
        f"at most {blocks.LIMIT:g} CPU minutes. These blocks cost more and are not run:"
    )
    rest = (
        f"Another {count} blocks cost less and are not run yet, {blocks.count_minutes(states)} "
        "together. `python benchmarks/arena_blocks.py` prints them."
    )
    if not count:
        rest = "All other blocks are run (`python benchmarks/arena_blocks.py`)."
    head = ["not run: cost", "notion", "n", "CPU time"]
    filled = [textwrap.fill(part, 130, break_on_hyphens=False) for part in (text, rest)]
    return f"{filled[0]}\n\n{table(head, rows)}\n\n{filled[1]}"


def sensitivity() -> str:
    """Return in how many lines `best` is better or worse, by the rule that chooses its rivals."""
    rows = tables.sensitivity_rows(pd.read_csv(RESULTS / "arena" / "index_sensitivity.csv"))
    lines = [list(row.values()) for row in rows]
    return table(["notions", "rule", "better", "worse", "smallest and largest ratio"], lines)


def wins() -> str:
    """Return in how many lines `best` is established to be better, by notion and n."""
    lines = pd.read_csv(RESULTS / "arena" / "index_recommendations.csv")
    sizes = sorted(lines["n"].unique())
    rows = []
    for notion, title in NOTIONS.items():
        row = [title]
        for n in sizes:
            part = lines[lines["notion"].eq(notion) & lines["n"].eq(n)]
            won = part["verdict"].eq("better").sum()
            row.append(f"{won} of {len(part)}" if len(part) else "–")
        rows.append(row)
    return table(["notion", *(f"n = {n:,}" for n in sizes)], rows)


def real() -> str:
    """Return the RMSE of `best` over that of its rivals on tables of real predictions."""
    rows = pd.read_csv(RESULTS / "arena" / "tables.csv")
    sizes = sorted(rows["n"].unique())
    lines = []
    for (notion, estimand), part in rows.groupby(["notion", "estimand"], sort=False):
        title = f"{NOTIONS[notion]}, {estimand_name(estimand)}"
        for families, of_lines in part.groupby("families_of", sort=False):
            for prefix, rivals in (("", "development families"), ("lucky_", "these families")):
                count = int(of_lines["families"].max())
                lines.append(
                    [title, f"{families} ({count})", rivals]
                    + [
                        f"{ratio:.2f}{MARKS[verdict]}"
                        for ratio, verdict in zip(
                            of_lines[f"{prefix}ratio"], of_lines[f"{prefix}verdict"]
                        )
                    ]
                )
    head = ["errors", "families", "rivals chosen on", *(f"n = {n:,}" for n in sizes)]
    of_tables = rows[rows["families_of"].eq("tables")]
    parts = []
    for when, part in (
        ("n ≤ 200", rows[rows["n"].le(200)]),
        ("n ≥ 1,000", rows[rows["n"].ge(1000)]),
    ):
        alone, together = (
            part[part["families_of"].eq(name)] for name in ("tables", "tables and arena")
        )
        parts.append(
            f"At {when}, `best` is established to be better in {count_won(alone['verdict'])} lines "
            f"on the tables, and in {count_won(together['verdict'])} together with the test "
            "families of the arena. Against the rivals of these families it is "
            f"{count_won(alone['lucky_verdict'])} and {count_won(together['lucky_verdict'])}, and "
            f"`best` is worse in {alone['lucky_verdict'].eq('worse').sum()} and "
            f"{together['lucky_verdict'].eq('worse').sum()}."
        )
    parts.append(
        "On the tables, its intervals contain the truth in at least 90 % of the samples in "
        f"{100 * of_tables['share'].mean():.0f} % of the problems."
    )
    return f"{table(head, lines)}\n\n{textwrap.fill(' '.join(parts), 130, break_on_hyphens=False)}"


def count_won(verdicts: pd.Series) -> str:
    """Return in how many lines `best` is better, of how many."""
    return f"{verdicts.eq('better').sum()} of {len(verdicts)}"


def limit() -> str:
    """Return the typical errors of `best` divided by the limit, and of the published rival."""
    rows = pd.read_csv(RESULTS / "arena" / "index_limits.csv")
    sizes = sorted(rows["n"].unique())
    lines = []
    for (notion, estimand), part in rows.groupby(["notion", "estimand"], sort=False):
        at = part.set_index("n")
        line = [f"{NOTIONS[notion]}, {estimand_name(estimand)}"]
        for n in sizes:
            if n not in at.index:
                line.append("–")
                continue
            one = at.loc[n]
            ratios = f"{one['times_limit']:.1f}, {one['rival_rmse'] / one['limit']:.1f}"
            line.append(f"{format_number(one['limit'], 2)}: {ratios}")
        lines.append(line)
    return table(["errors", *(f"n = {n:,}" for n in sizes)], lines)


def simple() -> str:
    """Return the medians of three published estimators, with their errors relative to `best`."""
    stored = arena_answers.read_simple(RESULTS / "arena" / "index_simple_rules.csv")
    assert stored is not None
    rows, first = [], []
    for (notion, estimand), _ in stored.groupby(["notion", "estimand"], sort=False):
        rule = arena_answers.describe_simple(stored, notion, estimand)
        assert rule is not None
        title = f"{NOTIONS[notion]}, {estimand_name(estimand)}"
        members = ", ".join(f"`{name}`" for name in rule["members"])
        rows.append([title, members, rule["ratio"], rule["by_n"].replace("at n = ", "at ")])
        if rule["recommended"]:
            place = f"{title[0].upper()}{title[1:]}, {rule['recommended']}"
            first.append(f"{place}:\n\n    {rule['code']}")
    head = ["errors", "the median of", "its RMSE / that of `best`", "by n"]
    text = (
        f"At an n where its ratio is at most {TIE:g}, a rule is recommended before `best`. The "
        "families that decide this are those of the ratio. In Python, with predictions p and "
        "labels y:"
    )
    text = "\n\n".join([textwrap.fill(text, 130, break_on_hyphens=False), *first])
    if not first:
        text = f"No rule has a ratio of at most {TIE:g} at any n, so that none comes before `best`."
    return f"{table(head, rows)}\n\n{text}"


def classwise() -> str:
    """Return a table of class-wise L1 errors of three estimators on the test families."""
    settings = compose(["experiment=arena_index"]).arena
    development = arena.read_development(settings)
    families = arena.read_families(settings)
    tested = [p for name, ids in families.items() if name not in development for p in ids]
    records = _records()
    is_l1 = records["notion"].eq("classwise") & records["estimand"].eq("l1")
    is_compared = records["estimator"].isin(CLASSWISE) & records["problem"].isin(tested)
    records = records[is_l1 & is_compared & records["truth"].gt(NO_ERROR)]
    records = records[records["value"].notna()]
    records = records.assign(square=(records["value"] - records["truth"]) ** 2)
    groups = records.groupby(["n", "estimator", "problem"], observed=True)
    means = groups[["value", "truth", "square"]].mean()
    by = ["n", "estimator"]
    ratio = (means["value"] / means["truth"]).groupby(by, observed=True).median().unstack()
    rmse = np.exp(np.log(means["square"]).groupby(by, observed=True).mean() / 2.0).unstack()
    rows = [
        [f"{n:,}", *(f"{ratio.loc[n, name]:.2f}, {rmse.loc[n, name]:.4f}" for name in CLASSWISE)]
        for n in ratio.index
    ]
    least = ", ".join(f"`{name}` at n = {n:,}" for n, name in rmse.idxmin(axis=1).items())
    head = ["n", *(f"`{name}`" for name in CLASSWISE)]
    return f"{table(head, rows)}\n\nOf the three, the smallest RMSE is that of {least}."


def false_claims() -> str:
    """Return a table of the rates of judge's false claims, by expected events or errors.

    The rates are pooled over n and k. The number in brackets is that of the cell with the largest
    rate. The last rows are rates of true claims.
    """
    path = DOCS.parent / "benchmarks" / "false_claims.csv"
    rows = pd.read_csv(path, dtype={"commit": str, "kind": str})
    cell = ["kind", "k", "n", "events", "claim"]
    rows = rows.sort_values("draws").drop_duplicates(cell, keep="last")
    events = sorted(rows.loc[rows["kind"].eq("false"), "events"].unique())
    lines = []
    for claim, name in CLAIMS.items():
        mine = rows[rows["kind"].eq("false") & rows["claim"].eq(claim)]
        line = [name]
        for number in [*events, None]:
            part = mine if number is None else mine[mine["events"].eq(number)]
            pooled = 100.0 * part["count"].sum() / part["draws"].sum()
            largest = (100.0 * part["count"] / part["draws"]).max()
            line.append(f"{pooled:.1f} ({largest:.1f})")
        lines.append(line)
    sizes_of = rows.groupby(["draws", "k"])["n"].unique()
    draws = "; ".join(
        f"{d:,} for k = {k} at n = {' and '.join(f'{n:,}' for n in sorted(sizes))}"
        for (d, k), sizes in sizes_of.items()
    )
    commits = ", ".join(f"`{commit}`" for commit in sorted(rows["commit"].unique()))
    head = ["false claim", *(f"{number:g} events" for number in events), "all"]
    true = rows[rows["kind"].eq("true")]
    powers = true.groupby(["claim", "n"])[["count", "draws"]].sum()
    shares = 100.0 * powers["count"] / powers["draws"]
    sizes = sorted(true["n"].unique())
    power = [
        [name, *(f"{shares[claim, n]:.0f}" for n in sizes)] for claim, name in TRUE_CLAIMS.items()
    ]
    note = f"Draws per cell: {draws}. Measured on {commits}."
    table_of_power = table(["true claim, 50 events", *(f"n = {n:,}" for n in sizes)], power)
    return (
        f"{table(head, lines)}\n\n{table_of_power}\n\n"
        f"{textwrap.fill(note, 130, break_on_hyphens=False)}"
    )


CLAIMS = {
    "gain": "a gain by recalibration",
    "worse": "a tenth of the right risk is better",
    "alike": "one of two exchangeable models is better",
    "class": "a class is off",
    "range": "a range of scores is off",
    "group": "a group is off",
    "slope": "over- or underconfident, too high or too low",
}
TRUE_CLAIMS = {
    "gain": "a gain by recalibration",
    "better": "the calibrated model is better",
    "group": "the overconfident group is off",
}
NOTIONS = {
    "binary": "binary",
    "top_label": "top-label",
    "classwise": "class-wise",
    "canonical": "canonical",
}
CLASSWISE = ("best", "debiased15_l1", "variational_temperature_insample")
NO_ERROR = 1e-9  # a smaller true error is 0
QUANTITIES = {  # {prefix or part of a quantity's name: name of the row in the table}
    "binary.l1.best": "L1 error, binary: learned estimate",
    "top_label.l1.best": "L1 error, top-label: learned estimate",
    "classwise.l1.best": "L1 error, class-wise: learned estimate",
    "canonical.l1.best": "L1 error, canonical: learned estimate",
    "few_values.l1.best": "L1 error, 6 or 11 different scores: learned estimate",
    "brier.miscalibration": "part of the Brier score: learned estimate",
    ".l1.best_lower": "lower bounds of L1 errors: stack",
    ".l1.variational": "lower bounds of L1 errors: one calibrator",
    "log_loss.miscalibration": "part of the log-loss: lower bound",
    ".l1.certified": "L1 error: certified interval",
    "confidence_gap": "mean score minus frequency",
    "class.l1": "L1 error of one class",
    "group.gap": "mean score minus frequency of a group",
    "group.l1": "L1 error of a group",
    "log_loss.gain": "gain by recalibration, log-loss",
    "brier.gain": "gain by recalibration, Brier score",
    "versus.": "difference of two models",
}


def coverage() -> str:
    """Return a table of the lowest measured coverage of `judge`'s intervals, by quantity and n."""
    rows = measurements("coverage")
    shares = rows["covered"] / rows["draws"]
    sizes = sorted(rows["n"].unique())
    lines = []
    for start, name in QUANTITIES.items():
        is_kind = np.array([matches(quantity, start) for quantity in rows["quantity"]])
        texts = []
        for n in sizes:
            at_size = shares[is_kind & (rows["n"] == n)]
            texts.append(f"{100 * at_size.min():.0f} % ({len(at_size)})" if len(at_size) else "–")
        lines.append([name, *texts])
    return table(["interval", *(f"n = {n:,}" for n in sizes)], lines)


def matches(quantity: str, start: str) -> bool:
    """Return True if the name of a quantity matches `start`, a key of QUANTITIES.

    A key that begins with a dot matches anywhere in the name. Another key matches the beginning of
    the name, but not names of bounds of the estimator `best_lower`.
    """
    if start.startswith("."):
        return start in quantity
    return quantity.startswith(start) and not quantity.endswith("best_lower")


def recommendations() -> str:
    """Return one table per notion and estimand: `best` and the best published estimator at each n.

    The numbers are read from results/arena/index_recommendations.csv.
    """
    whole = pd.read_csv(RESULTS / "arena" / "index_recommendations.csv")
    columns = ["n", "`best` is off by", "best published", "is off by", "ratio [95 %]", "verdict"]
    parts = []
    for section in arena_answers.sections(whole):
        for board in section["boards"]:
            rows = []
            for line in board["lines"]:
                own, rival = line["own"], line["rival"]
                name = f"`{rival['name']}`" if rival else "–"
                errors = [who["rmse"] if who else "–" for who in (own, rival)]
                verdict = line["verdict"].partition(":")[0]
                rows.append([f"{line['n']:,}", errors[0], name, errors[1], line["ratio"], verdict])
            title = f"{section['name']}, {board['name']}"
            parts.append(f"### {title[0].upper()}{title[1:]}\n\n{table(columns, rows)}")
    return "\n\n".join(parts)


def levels() -> str:
    """Return a table of the measured levels of tests, by expected events.

    A cell has the share of rejected samples over all laws, and in brackets the share for the law
    with the largest one.
    """
    rows = pd.read_csv(DOCS.parent / "benchmarks" / "test_levels.csv", dtype={"commit": str})
    rows["share"] = 100.0 * rows["rejected"] / rows["draws"]
    events = sorted(rows["events"].unique())
    lines = []
    for (test, decision), mine in rows.groupby(["test", "decision"], sort=False):
        name = f"`{test}`" if decision == "p_value" else f"`{test}`, {decision}"
        cells = []
        for value in events:
            part = mine[mine["events"].eq(value)]
            pooled = 100.0 * part["rejected"].sum() / max(part["draws"].sum(), 1)
            cells.append(f"{pooled:.1f} ({part['share'].max():.1f})" if len(part) else "–")
        limits = sorted({mine["draws"].min(), mine["draws"].max()})
        draws = " to ".join(f"{count:,}" for count in limits)
        lines.append([name, draws, *cells])
    commits = ", ".join(f"`{commit}`" for commit in sorted(rows["commit"].unique()))
    header = ["test", "draws per law", *(f"{value:g} events" for value in events)]
    return f"{table(header, lines)}\n\nMeasured on {commits}."
