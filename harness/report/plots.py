"""Figures: convergence (estimate against n) and, where there is one n only, estimates side by side.

A point, a lower bound, an upper bound and an interval are four different marks: a filled marker; a tick with an arrow towards
where the truth is, up (right) or down (left); and a bar with end caps, without a centre. The bounds that a point has besides are
a pale bar.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from harness.errors import BadInputError
from harness.math.notions import NOTIONS
from harness.report.evaluation import are_of, evaluate
from harness.report.tables import OWN_RANDOMNESS, figure_estimands, label
from harness.runs.records import whole_file
from harness.runs.settings import as_list

COLOURS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#000000",
    "#999999",
)  # Okabe and Ito, grey for yellow
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
LINES = ("-", "--", ":", "-.")  # one for every eight series
KINDS = {
    "point": "estimate",
    "lower": "lower bound: the truth is at least this",
    "upper": "upper bound: the truth is at most this",
    "interval": "interval",
}
BESIDES = "bounds of an estimate"
NAMES = {
    "l1": "$L_1$ calibration error", "l2": "$L_2$ calibration error", "l2_squared": "squared calibration error",
    "kl": "KL calibration error", "linf": r"$L_\infty$ calibration error", "brier": "Brier score", "logloss": "log-loss",
    "rms": "root mean squared calibration error", "refinement_l2_squared": "refinement (Brier score)",
    "refinement_kl": "refinement (log-loss)", "sharpness_l2_squared": "sharpness (Brier score)",
    "sharpness_kl": "sharpness (log-loss)", "auroc": "area under the ROC curve", "accuracy": "accuracy",
}  # fmt: skip
STYLE = {
    "font.size": 8, "axes.titlesize": 8, "axes.labelsize": 8, "legend.fontsize": 7.5, "xtick.labelsize": 7, "ytick.labelsize": 7,
    "mathtext.fontset": "cm", "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.alpha": 0.25,
    "grid.linewidth": 0.5, "lines.linewidth": 1.2, "lines.markersize": 3, "pdf.fonttype": 42, "svg.hashsalt": "calharness",
    "svg.fonttype": "path", "legend.frameon": False,
}  # fmt: skip
MOST_PANELS = 40
WIDTH = 6.75  # inches, two columns of a paper
ALWAYS = ("png", "svg")  # what the terminal names and what the page shows


def overview(records, config):
    """Convergence over n if there are several n, else the estimates side by side; a family of problems, too many for a panel
    each, as one distribution."""
    return _view(records)(records, {**config, "item": None})


def _view(records):
    if len(records.drop_duplicates(["problem", "notion"])) > MOST_PANELS:
        return across_problems
    return convergence if records["n"].nunique() > 1 else side_by_side


def convergence(records, config):
    """One panel per problem, notion and estimand: mean +- standard error over the reps against n (log axis); truth dashed, with
    its error as a band."""
    plt = pyplot()
    table, panels, series = _prepared(records, config)
    if not series:
        return _nothing(plt)
    rows, columns, places = _places(panels, config)
    figure, axes = plt.subplots(
        rows,
        columns,
        figsize=_size(config, 0.6 + (1.95 + 0.15 * _several(panels)) * rows),
        squeeze=False,
        sharex=True,
        layout="constrained",
    )
    sizes = sorted(table["n"].unique())
    aside = _aside(table, series, sizes, config)
    for panel, place in zip(panels, places):
        ax, part = axes[place], _of(table, panel)
        for i, estimator in enumerate(series):
            line = part[part["estimator"] == estimator].sort_values("n")
            for kind in KINDS:
                of_kind = line[line["kind"] == kind]
                at = of_kind["n"] * aside ** (i - (len(series) - 1) / 2)
                _marks(ax, kind, at, of_kind, i, config, upright=True, name=label(config, "estimator", estimator))
        _truth_line(ax, part, horizontal=True)
        ax.set_xscale("log")
        _sample_ticks(ax, sizes)
        ax.set_title(_panel_title(panel, panels, config))
        if place[1] == 0:
            ax.set_ylabel(NAMES.get(panel[0], panel[0]))
    _hide_unused(axes, places)
    for row, column in places:
        if (row + 1, column) not in places:
            axes[row, column].set_xlabel("number of samples $n$")
            axes[row, column].tick_params(labelbottom=True)
    names = [label(config, "estimator", e) for e in series]
    _legend(figure, [axes[place] for place in places], names, config, table)
    _fit(figure, axes, config)
    figure.set_label(_caption(table, series, config, convergence))
    return figure


def side_by_side(records, config):
    """One panel per problem, notion and estimand: the mean +- standard error of every estimator at the only n (dots of the single
    reps behind), truth dashed."""
    plt = pyplot()
    table, panels, series = _prepared(records, config)
    if not series:
        return _nothing(plt)
    rows, columns, places = _places(panels, config)
    height = 0.6 + rows * (0.55 + 0.2 * len(series))
    figure, axes = plt.subplots(rows, columns, figsize=_size(config, height), squeeze=False, sharey=True, layout="constrained")
    fine = records[records["status"].eq("ok")]
    for panel, place in zip(panels, places):
        ax, part, dots = axes[place], _of(table, panel), _of(fine, panel)
        for i, estimator in enumerate(series):
            line = part[part["estimator"] == estimator]
            at = len(series) - 1 - i
            if not len(line):
                _say_no_estimate(ax, 0.98, at, ha="right")
            for kind in KINDS:
                _marks(ax, kind, [at] * line["kind"].eq(kind).sum(), line[line["kind"] == kind], i, config, upright=False)
            own = dots.loc[dots["estimator"].eq(estimator) & dots["kind"].ne("interval"), "value"]
            if len(own) > 1:
                ax.plot(own, np.full(len(own), at), ".", color=_pale(COLOURS[i % 8], 0.3), markersize=3, zorder=1.5)
        _truth_line(ax, part, horizontal=False)
        ax.set_yticks(range(len(series)), [label(config, "estimator", e) for e in reversed(series)])
        ax.set_ylim(-0.6, len(series) - 0.4)
        ax.locator_params(axis="x", nbins=8 if columns == 1 else 4)  # more would run into each other
        ax.set_title(_panel_title(panel, panels, config))
        below = panels[places.index((place[0] + 1, place[1]))] if (place[0] + 1, place[1]) in places else None
        if below is None or below[0] != panel[0]:
            ax.set_xlabel(NAMES.get(panel[0], panel[0]))
    _hide_unused(axes, places)
    _legend(figure, [axes[place] for place in places], [], config, table, upright=False)
    _fit(figure, axes, config, named=len(series))
    figure.set_label(_caption(table, series, config, side_by_side))
    return figure


def across_problems(records, config):
    """One panel per notion, a row per estimand: every problem's mean estimate (over reps and n) as a dot (a bound as a tick with
    an arrow, an interval as a bar), the median over problems as a stroke."""
    plt = pyplot()
    table, _, series = _prepared(records, config)
    if not len(table):
        return _nothing(plt)
    estimands = [name for name in figure_estimands(records, config) if (table["estimand"] == name).any()]
    notions = [notion for notion in NOTIONS if (table["notion"] == notion).any()]
    height = 0.7 + 0.24 * len(series) * len(estimands)
    shape = (len(estimands), len(notions))
    figure, axes = plt.subplots(*shape, figsize=_size(config, height), squeeze=False, sharey=True, layout="constrained")
    jitter = np.random.default_rng(0)
    for (row, column), ax in np.ndenumerate(axes):
        part = table[table["notion"].eq(notions[column]) & table["estimand"].eq(estimands[row])]
        for i, estimator in enumerate(series):
            own = part[part["estimator"] == estimator]
            at, pale = len(series) - 1 - i, _pale(COLOURS[i % 8], 0.4)
            for kind in KINDS:
                means = own[own["kind"] == kind].groupby("problem")[["mean", "low", "high"]].mean()
                spread = at + jitter.uniform(-0.22, 0.22, len(means))
                many = len(means) > 500
                ends = ["low", "high"] if kind == "interval" else ["mean"]
                if kind == "interval":
                    ax.hlines(spread, means["low"], means["high"], color=pale, linewidth=0.7, rasterized=many)
                else:
                    mark = (
                        {"marker": "."}
                        if kind == "point"
                        else {"marker": _arrow(kind, upright=False), "markersize": 9, "markerfacecolor": "none"}
                    )
                    ax.plot(means["mean"], spread, linestyle="none", color=pale, rasterized=many, **mark)
                for end in ends if len(means) else ():
                    ax.plot([means[end].median()] * 2, [at - 0.35, at + 0.35], color="0.1", linewidth=1.4, zorder=3)
        ax.set_title(f"{notions[column].replace('_', '-')}: {part['problem'].nunique():,} problems")
        ax.set_xlabel(NAMES.get(estimands[row], estimands[row]))
    axes[0, 0].set_yticks(range(len(series)), [label(config, "estimator", e) for e in reversed(series)])
    axes[0, 0].set_ylim(-0.6, len(series) - 0.4)
    if set(table["kind"]) != {"point"}:
        _legend(figure, [], [], config, table, upright=False, ends_of_points=False)
    _fit(figure, axes, config, named=len(series))
    figure.set_label(_caption(table, series, config, across_problems))
    return figure


def caption(records, config) -> str:
    """What `overview` draws of these records, in words. Every figure bears its caption as its label (figure.get_label())."""
    table, _, series = _prepared(records, config)
    return _caption(table, series, {**config, "item": None}, _view(records))


def _caption(table, series, config, view):
    if not series:
        return "No cell gave a number to draw."
    table = table[table["estimator"].isin(series)]
    files, subsets = (np.array(are_of(table, config.get(name, ())), dtype=bool) for name in ("files", "subsets"))
    whole = files & ~subsets
    if view is across_problems:
        return _of_distribution(table, whole)
    sentences = _of_means(table[~files], table[whole], table[subsets], dots=view is side_by_side)
    bounds = table[_has_ends(table, config)]
    if len(bounds):
        sentences.append(_of_ends(bounds))
    sentences += _of_bounds(table, view is convergence)
    if table["truth"].notna().any():
        band = ", its band the error of the truth" if (table["truth_error"] > 0).any() else ""
        sentences.append(f"Dashed: the true value{band}.")
    return " ".join(sentences)


def _of_means(own, same, subsets, dots):
    """Sentences on what is averaged, and on error bars: `own` of replications, `same` of all rows of a file again, `subsets` of
    some of them."""
    sentences = []
    if len(own):
        reps = _range(own["reps"])
        bars = own[own["kind"].ne("interval")]["se"]
        if own["reps"].max() == 1:
            sentences.append("One replication, so no error bars.")
        else:
            error = "; bars: one standard error" if (bars > 0).any() else ""
            sentences.append(f"Mean over {reps} replications{error}.")
    if len(same):
        where = "On a file" if same["problem"].nunique() == 1 else "On files"
        if same["reps"].max() > 1:
            again = f"{where}, mean over {_range(same['reps'])} runs on the same rows"
            sentences.append(f"{again}: their {OWN_RANDOMNESS} is no standard error, and there are no error bars of it.")
        else:
            sentences.append(f"{where}, one run on all rows, without error bars.")
    if len(subsets):
        where = "On random subsets of a file's rows" if subsets["problem"].nunique() == 1 else "On random subsets of files' rows"
        several = subsets["reps"].max() > 1
        runs = f"mean over {_range(subsets['reps'])} of them, whose spread is no standard error" if several else "one of them"
        sentences.append(f"{where}, {runs}, without error bars.")
    held = [frame for frame in (own, same, subsets) if len(frame)]
    points = [frame for frame in held if frame["reps"].max() > 1 and frame["kind"].ne("interval").any()]
    if dots and points:
        sentences.append("Dots: the single replications." if len(own) else "Dots: the single runs.")
    return sentences


def _of_ends(bounds):
    """The sentence on the bounds that estimates have besides: an interval may leave its estimate outside."""
    low, high = bounds["low"].notna(), bounds["high"].notna()
    if (low & high).all():
        return f"Pale bars: the intervals of the estimates{_averaged(bounds)}."
    sides = "lower bound" if not high.any() else "upper bound" if not low.any() else "bounds"
    return f"Pale bars: from an estimate to its own {sides}{_averaged(bounds)}."


def _of_bounds(table, upright):
    kinds = set(table["kind"])
    up, down = ("up", "down") if upright else ("to the right", "to the left")
    sentences = []
    if "lower" in kinds:
        sentences.append(f"Tick with an arrow {up}: a lower bound, the truth is at least this.")
    if "upper" in kinds:
        sentences.append(f"Tick with an arrow {down}: an upper bound, the truth is at most this.")
    if "interval" in kinds:
        sentences.append(f"Bars with end caps: intervals{_averaged(table[table['kind'].eq('interval')])}.")
    return sentences


def _averaged(table):
    return " (means)" if table["reps"].max() > 1 else ""


def _of_distribution(table, files):
    """The caption of across_problems."""
    over = (
        [f"{_range(table['reps'])} {'runs on the same rows' if files.all() else 'replications'}"]
        if table["reps"].max() > 1
        else []
    )
    over += [f"{table['n'].nunique()} sample sizes"] if table.groupby("problem")["n"].nunique().max() > 1 else []
    mean = f", mean over {' and '.join(over)}" if over else ""
    kinds = set(table["kind"])
    marks = [
        *(["Dots: estimates"] if "point" in kinds else []),
        *(["ticks with an arrow to the right: lower bounds"] if "lower" in kinds else []),
        *(["ticks with an arrow to the left: upper bounds"] if "upper" in kinds else []),
        *(["thin bars: intervals"] if "interval" in kinds else []),
    ]
    text = "; ".join(marks)
    ends = " (of an interval: of each end)" if "interval" in kinds else ""
    return f"{text[0].upper()}{text[1:]}, one per problem{mean}. Strokes: the median over the problems{ends}."


def _range(values):
    low, high = int(values.min()), int(values.max())
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def shares(table, config, panels=None, per_row=None):
    """Shares of trials in the right order (harness.report.rankings.score, one estimand per estimator) with Wilson intervals: one panel
    per order and notion, against n, or side by side if there is one n. panels: the orders to draw, in order; None = all."""
    from harness.report import rankings

    plt = pyplot()
    if not len(table):
        return _nothing(plt)
    several = table["notion"].nunique() > 1
    panels = [(o, n) for n in dict.fromkeys(table["notion"]) for o in panels or dict.fromkeys(table["order"])]
    series = [e for e in config["figure"]["estimators"] or list(config["estimator"]) if e in set(table["estimator"])]
    sizes = sorted(table["n"].unique())
    rows, columns = _grid(len(panels), per_row or config["figure"]["panels_per_row"])
    height = (1.75 if len(sizes) > 1 else 0.5 + 0.22 * len(series)) + 0.15 * several
    figure, axes = plt.subplots(
        rows, columns, figsize=_size(config, 0.5 + height * rows), squeeze=False, sharex=True, sharey=True, layout="constrained"
    )
    for (order, notion), ax in zip(panels, axes.flat):
        part = table[table["order"].eq(order) & table["notion"].eq(notion)]
        for i, estimator in enumerate(series):
            line = part[part["estimator"].eq(estimator)].sort_values("n")
            if len(line):
                style = {**_style(i), "elinewidth": 0.7, "capsize": 1.5, "zorder": 3}
                bars = [line["share"] - line["low"], line["high"] - line["share"]]
                if len(sizes) > 1:
                    name = label(config, "estimator", estimator)
                    beside = 1.03 ** (i - (len(series) - 1) / 2)  # intervals of equal shares would hide each other
                    ax.errorbar(line["n"] * beside, line["share"], yerr=bars, label=name, **style)
                else:
                    ax.errorbar(line["share"], [len(series) - 1 - i], xerr=bars, **{**style, "linestyle": "none"})
            elif len(sizes) == 1:
                _say_no_estimate(ax, 0.5, len(series) - 1 - i, ha="center")
        ax.set_title(order + (f"\n{notion.replace('_', '-')}" if several else ""))
    for ax in axes.flat[len(panels) :]:
        ax.set_visible(False)
    share = "share of trials in the right order"
    for i, ax in enumerate(axes.flat[: len(panels)]):
        if i + columns >= len(panels):
            ax.set_xlabel("number of samples $n$" if len(sizes) > 1 else share)
            ax.tick_params(labelbottom=True)
    if len(sizes) > 1:
        axes[0, 0].set(xscale="log", ylim=(-0.03, 1.03))
        _sample_ticks(axes[0, 0], sizes)
        figure.supylabel(share, fontsize=STYLE["axes.labelsize"])
        _legend(figure, axes.flat[: len(panels)], [label(config, "estimator", e) for e in series], config)
    else:
        axes[0, 0].set_yticks(range(len(series)), [label(config, "estimator", e) for e in reversed(series)])
        axes[0, 0].set(xlim=(-0.03, 1.03), ylim=(-0.6, len(series) - 0.4))
    figure.set_label(rankings.POLICY)
    return figure


def save(figure, stem: Path, config=None) -> list[Path]:
    """<stem>.png and .svg and the other formats of config["figure"] (pdf where there is no config), in its size, dpi and font;
    the same bytes in every run."""
    import logging
    import warnings

    import matplotlib.pyplot as plt
    from matplotlib.text import Text

    for name in ("fontTools", "matplotlib.backends.backend_ps"):  # font timestamps; EPS knows no transparency
        logging.getLogger(name).setLevel(logging.ERROR)
    asked = _asked(config)
    formats = asked.get("format") or ["pdf"]
    formats = ["png", *[f for f in ([formats] if isinstance(formats, str) else formats) if f not in ALWAYS], "svg"]
    scale = _font_scale(config)
    os.environ.setdefault("SOURCE_DATE_EPOCH", "0")  # EPS has its date from there
    metadata = {"png": {"Software": None}, "pdf": {"CreationDate": None, "Creator": None, "Producer": None}}
    metadata |= {
        "svg": {"Date": None, "Creator": None},
        "eps": {"Creator": "calharness"},
        "ps": {"Creator": "calharness"},
    }
    paths = []
    with (
        plt.rc_context(
            STYLE | {name: size * scale for name, size in STYLE.items() if name.endswith("size") and "marker" not in name}
        ),
        warnings.catch_warnings(record=True) as caught,
    ):
        warnings.simplefilter("always")
        if scale != 1.0:
            for text in figure.findobj(Text):
                text.set_fontsize(text.get_fontsize() * scale)
        if asked.get("size"):
            figure.set_size_inches(asked["size"])
        figure.draw_without_rendering()  # lays out once; each format would do it again
        too_small = [w for w in caught if "constrained_layout not applied" in str(w.message)]
        if asked.get("size") and too_small:
            plt.close(figure)
            width, height = asked["size"]
            raise BadInputError(
                f"figure.size is {width:g} x {height:g} inches, in which the panels, their texts and the legend have no room; "
                f"give more, a smaller figure.font (4 to 30 points), fewer figure.estimators, or null for what is needed."
            )
        figure.set_layout_engine("none")
        for kind in dict.fromkeys(formats):
            path = stem.with_name(f"{stem.name}.{kind}")
            with whole_file(path) as temporary, open(temporary, "wb") as f:  # of a path EPS would keep the name
                figure.savefig(f, format=kind, dpi=asked.get("dpi") or 200, metadata=metadata.get(kind))
            paths.append(path)
    plt.close(figure)
    for warning in caught:
        if warning not in too_small:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    return paths


def pyplot():
    """matplotlib.pyplot with the style of all figures."""
    import matplotlib

    matplotlib.use("Agg", force=False)
    import matplotlib.pyplot as plt

    plt.rcParams.update(STYLE)
    return plt


def _nothing(plt):
    """A figure that says that there is none."""
    figure, ax = plt.subplots(figsize=(WIDTH, 1.2), layout="constrained")
    figure.set_label("No cell gave a number to draw.")
    ax.set_axis_off()
    ax.text(0.5, 0.5, "no cell gave a number to draw; the page says why", ha="center", va="center", transform=ax.transAxes)
    return figure


def _prepared(records, config):
    """(evaluated estimates, panels (estimand, problem, notion) in their order, estimators in theirs)."""
    estimands = figure_estimands(records, config)
    fine = records[records["estimand"].isin(estimands) & records["status"].eq("ok")]
    table = evaluate(fine, config.get("files", ()))
    order = {problem: i for i, problem in enumerate(config["problem"])}
    seen = list(dict.fromkeys(zip(records["problem"], records["notion"])))
    ranked = sorted(seen, key=lambda p: (order.get(p[0], len(order)), NOTIONS.index(p[1])))
    with_numbers = set(zip(table["estimand"], table["problem"], table["notion"]))
    panels = [(e, *p) for e in estimands for p in ranked if (e, *p) in with_numbers]
    have = dict.fromkeys(table["estimator"])
    chosen = as_list(config["figure"]["estimators"]) or [*config["estimator"], *(e for e in have if e not in config["estimator"])]
    return table, panels, [e for e in chosen if e in have]


def _of(table, panel):
    return table[table["estimand"].eq(panel[0]) & table["problem"].eq(panel[1]) & table["notion"].eq(panel[2])]


def _places(panels, config):
    """(rows, columns, [(row, column) of every panel]): an estimand begins a row of its own."""
    blocks: dict[str, int] = {}
    for estimand, *_ in panels:
        blocks[estimand] = blocks.get(estimand, 0) + 1
    _, columns = _grid(max(blocks.values()), config["figure"]["panels_per_row"])
    places, first = [], 0
    for count in blocks.values():
        places += [(first + i // columns, i % columns) for i in range(count)]
        first += -(-count // columns)
    return first, columns, places


def _grid(panels, per_row):
    columns = max(1, min(per_row, panels))
    return -(-panels // columns), columns


def _hide_unused(axes, places):
    for place, ax in np.ndenumerate(axes):
        ax.set_visible(place in places)


def _font_scale(config):
    return (_asked(config).get("font") or STYLE["font.size"]) / STYLE["font.size"]


def _asked(config):
    return (config or {}).get("figure") or {}


def _size(config, height):
    """Inches: what the configuration says, else the usual width and the height that the content needs."""
    asked = config["figure"].get("size")
    return tuple(asked) if asked else (WIDTH, height * max(1.0, _font_scale(config)))


def _several(panels):
    return len({notion for *_, notion in panels}) > 1


def _panel_title(panel, panels, config):
    _, problem, notion = panel
    return label(config, "problem", problem) + (f"\n{notion.replace('_', '-')}" if _several(panels) else "")


def _style(i):
    """Colour, marker and line of series i: no two of the first 64 are alike."""
    return {"color": COLOURS[i % 8], "marker": MARKERS[(i + 3 * (i // 8)) % 8], "linestyle": LINES[i // 8 % 4]}


def _pale(colour, share):
    """The colour mixed with white: EPS has no transparency."""
    from matplotlib.colors import to_rgb

    return tuple(1.0 - share * (1.0 - c) for c in to_rgb(colour))


def _arrow(kind, upright):
    """The mark of a bound: a tick at its value and an arrow towards where the truth is."""
    from matplotlib.path import Path as Curve

    ends = np.array([(-0.5, 0), (0.5, 0), (0, 0), (0, 1), (-0.3, 0.65), (0, 1), (0.3, 0.65)])
    ends = ends if kind == "lower" else -ends
    return Curve(ends if upright else ends[:, ::-1], [1, 2, 1, 2, 1, 2, 2])


def _has_ends(table, config):
    """Which points have bounds to draw: a lower bound of 0 says nothing. A paper's figure has no such bars."""
    return table["kind"].eq("point") & (table["low"].gt(0) | table["high"].notna()) & (not config.get("item"))


def _aside(table, series, sizes, config):
    """Factor between the n at which neighbouring series are drawn: more than 1 where bars would hide each other."""
    if not (table["kind"].eq("interval") | _has_ends(table, config)).any() or len(series) < 2:
        return 1.0
    nearest = min((b / a for a, b in zip(sizes, sizes[1:])), default=2.0)
    return min(1.04, nearest ** (0.3 / len(series)))


def _marks(ax, kind, at, table, i, config, upright, name=None):
    """Draw estimates of one kind by series i. at: where on the other axis; upright: values are on the vertical axis."""
    if not len(table):
        return
    style, colour = _style(i), COLOURS[i % 8]
    across = "yerr" if upright else "xerr"

    def bars(value, error, **more):
        xy = (at, value) if upright else (value, at)
        ax.errorbar(*xy, **{across: error}, **{"label": name, "elinewidth": 0.7, "zorder": 3, "color": colour, **more})

    line = style["linestyle"] if upright else "none"
    low, high = table["low"], table["high"]
    strokes = ax.vlines if upright else ax.hlines
    if kind == "interval":
        ends = low.fillna(high), high.fillna(low)
        bars(
            (ends[0] + ends[1]) / 2,
            (ends[1] - ends[0]) / 2,
            linestyle="none",
            marker="none",
            elinewidth=1.6,
            capsize=3,
            capthick=1.6,
        )
        for end in ends if upright else ():
            ax.plot(at, end, color=_pale(colour, 0.6), linestyle=line, linewidth=0.6, zorder=1.5)
    elif kind == "point":
        bars(table["mean"], table["se"], marker=style["marker"], linestyle=line, capsize=1.5 if upright else 2)
        own = _has_ends(table, config)
        ends = low.fillna(table["mean"])[own], high.fillna(table["mean"])[own]
        strokes(np.asarray(at)[own.to_numpy()], *ends, color=_pale(colour, 0.35), linewidth=2.5 if upright else 3.5, zorder=1)
    else:
        mark = {"marker": _arrow(kind, upright), "markersize": 15, "markeredgewidth": 1.2, "markerfacecolor": "none"}
        bars(table["mean"], table["se"], linestyle=line, capsize=1.5, label=None, **mark)
        if name:
            ax.plot([], [], color=colour, linestyle=line, label=name)  # arrows of neighbouring entries of the legend would meet


def _say_no_estimate(ax, x, at, ha):
    ax.text(x, at, "no estimate", transform=ax.get_yaxis_transform(), ha=ha, va="center", fontsize=6, color="0.45")


def _sample_ticks(ax, sizes):
    """Few sample sizes are labelled each, many by powers of ten (by their ends, should no power of ten lie between)."""
    from matplotlib.ticker import NullFormatter

    ax.xaxis.set_minor_formatter(NullFormatter())
    decades = [10**k for k in range(12) if sizes[0] <= 10**k <= sizes[-1]]
    if len(sizes) <= 4 or not decades:
        shown = sizes if len(sizes) <= 4 else [sizes[0], sizes[-1]]
        ax.set_xticks(shown, [f"{n:,}" for n in shown])


def _truth_line(ax, part, horizontal):
    known = part[part["truth"].notna()]
    if not len(known):
        return
    value, error = known["truth"].iloc[0], known["truth_error"].iloc[0]
    line, span = (ax.axhline, ax.axhspan) if horizontal else (ax.axvline, ax.axvspan)
    line(value, color="0.2", linestyle="--", linewidth=1.0, label="true value", zorder=2)
    span(value - error, value + error, color="0.2", alpha=0.15, linewidth=0)


def _legend(figure, axes, order, config=None, table=None, upright=True, ends_of_points=True):
    """One legend above all panels: the true value, the estimators in their order, and the marks of `table` if there are others
    than points; in as many columns as fit, in smaller letters if a given size leaves no room else."""
    entries = {}
    for ax in axes:
        for handle, text in zip(*ax.get_legend_handles_labels()):
            entries.setdefault(text, handle)
    texts = sorted(entries, key=lambda text: order.index(text) if text in order else -1)
    marks = {} if table is None else _kinds(table, upright, ends_of_points and _has_ends(table, config).any())
    handles, texts = [*(entries[text] for text in texts), *marks.values()], [*texts, *marks]
    if not texts:
        return
    from matplotlib.legend_handler import HandlerLine2D

    asked, scale = _asked(config).get("size"), _font_scale(config)
    with_caps = {marks[KINDS["interval"]]: HandlerLine2D(marker_pad=0, numpoints=2)} if KINDS["interval"] in marks else {}
    width, height = figure.get_size_inches() * figure.dpi
    renderer = figure.canvas.get_renderer()
    for font in (STYLE["legend.fontsize"], 6.5, 5.5, 4.5, 3.5):
        for columns in range(min(4, len(texts)), 0, -1):
            options = {"ncols": columns, "fontsize": font, "handlelength": 2.2, "columnspacing": 1.2, "handler_map": with_caps}
            legend = figure.legend(handles, texts, loc="outside upper center", **options)
            box = legend.get_window_extent(renderer)
            if box.width * scale <= width:
                break
            if columns > 1:
                legend.remove()
        if font == 3.5 or (box.width * scale <= width and (not asked or box.height * scale <= 0.45 * height)):
            break
        legend.remove()
    if not asked and box.height * scale > 0.5 * figure.dpi:  # the heights of the figures have room for two or three lines
        figure.set_size_inches(width / figure.dpi, (height + box.height * scale) / figure.dpi - 0.5)


def _fit(figure, axes, config, named=0):
    """Titles, labels and the names of the rows (`named` of them in a panel) in letters that do not run into each other."""
    figure.draw_without_rendering()  # the room that there is, known from the layout alone
    renderer, scale = figure.canvas.get_renderer(), _font_scale(config)
    shown = [ax for ax in axes.flat if ax.get_visible()]
    boxes = [ax.get_window_extent(renderer) for ax in axes[0] if ax.get_visible()]
    centres = [(box.x0 + box.x1) / 2 for box in boxes]
    room = min([2 * (figure.bbox.width - centres[-1]), *(b - a for a, b in zip(centres, centres[1:]))]) - 0.05 * figure.dpi
    room *= 0.9 if scale > 1.0 else 1.0  # larger letters at the axes will take of it
    for texts in ([ax.title for ax in shown], [ax.xaxis.label for ax in shown]):
        widest = max(text.get_window_extent(renderer).width for text in texts) * scale
        for text in texts if widest > room else ():
            text.set_fontsize(max(4.0 / scale, text.get_fontsize() * room / widest))
    of_row = 72 / figure.dpi * boxes[0].height / max(1, named) / scale  # points
    for ax in axes[:, 0] if of_row < STYLE["ytick.labelsize"] else ():
        ax.tick_params(axis="y", labelsize=max(3.0 / scale, of_row))


def _kinds(table, upright, ends_of_points):
    """{text: handle} that explains the marks in `table`, where there are others than points."""
    from matplotlib.lines import Line2D

    points = table["kind"].eq("point")
    found: dict = {}
    for kind, text in KINDS.items():
        if (table["kind"] == kind).any() and not points.all():
            marker, size = {"point": ("o", 4), "interval": ("|", 6)}.get(kind) or (_arrow(kind, upright), 13)
            line = "-" if kind == "interval" else "none"
            found[text] = Line2D([], [], linestyle=line, color="0.35", marker=marker, markersize=size, markeredgewidth=1.2)
            if kind in ("lower", "upper"):
                found[text].set_markerfacecolor("none")
    if ends_of_points:
        found[BESIDES] = Line2D([], [], color=_pale("0.35", 0.35), linewidth=3.5, solid_capstyle="butt")
    return found
