"""What a sweep shows: one table with a column for each swept parameter, and one figure with a swept parameter as its x axis."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from harness.math.notions import NOTIONS
from harness.runs import sweeps
from harness.runs.plan import Plan

PANEL_VALUES = 4  # a second parameter with more values than these is the other axis of a heat map
DECADE = 20.0  # values that span a larger factor are on a logarithmic axis
PLACE = ["problem", "notion", "n"]


@dataclass(frozen=True)
class View:
    """The results of the sweep that `plan` is of."""

    plan: Plan

    def rows(self, records, config):
        """harness.evaluate for every point of the sweep that bears on the records: its columns behind one column for each swept
        parameter, empty where the parameter does not bear on the row."""
        import pandas as pd

        from harness.report.evaluation import evaluate

        long, combinations = self._by_point(records)
        cells = long.groupby(["point", "problem_key", "notion", "n", "estimator_key"])["cpu_seconds"]
        long["cpu_seconds"] = cells.transform("median")  # the first cell of a process also loads what it needs
        found = evaluate(long, config.get("files", ()), apart=["point"])
        points = [combinations[i] for i in found.pop("point")]
        for position, name in enumerate(self.plan.swept.values()):
            found.insert(position, name, pd.Series([point.get(name) for point in points], dtype=object, index=found.index))
        order = {name: i for i, name in enumerate(config["problem"])}
        found["_rank"] = self._ranked(points)
        found["_problem"] = found["problem"].map(lambda name: order.get(name, len(order)))
        found = found.sort_values(["_problem", "notion", "n", "estimator", "_rank"], kind="stable", ignore_index=True)
        return found.drop(columns=["_rank", "_problem"])

    def _by_point(self, records):
        """(the records with a column `point`, a row for each point of the sweep that bears on their cell; the points that it
        counts: the values that bear on some cell, those of fewer parameters first)."""
        held = {_identity(values): values for many in self.plan.values.values() for values in many}
        ranks = dict(zip(held, self._ranked(held.values())))
        order = sorted(held, key=lambda values: (len(values), ranks[values]))
        number = {values: i for i, values in enumerate(order)}
        points = {key: [number[_identity(values)] for values in many] for key, many in self.plan.values.items()}
        records = records[records["key"].isin(points)]
        long = records.loc[records.index.repeat([len(points[key]) for key in records["key"]])].reset_index(drop=True)
        long["point"] = [point for key in records["key"] for point in points[key]]
        return long, [held[values] for values in order]

    def _ranked(self, points):
        """Of each of these values by name their places in the orders of the parameters, -1 where one does not bear."""
        ranks = {name: {_rank(v): i for i, v in enumerate(self._values(name))} for name in self.plan.swept.values()}
        return [tuple(rank[_rank(point[name])] if name in point else -1 for name, rank in ranks.items()) for point in points]

    def _values(self, name):
        """The values of a swept parameter: numbers by size, others in the order given."""
        path = next(path for path, word in self.plan.swept.items() if word == name)
        values = list({_rank(point[path]): point[path] for point in self.plan.points if path in point}.values())
        return sorted(values) if _numbers(values) else values

    def summary(self, records, config):
        """The rows with labels beside the ids; lists and mappings as text."""
        from harness.report.tables import label

        frame = self.rows(records, config)
        for name in self.plan.swept.values():
            if name in frame:
                values = [None if v is None else v if isinstance(v, (int, float)) else sweeps.said(v) for v in frame[name]]
                plain = all(v is None or isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)
                frame[name] = values if plain else [None if v is None else str(v) for v in values]
                if plain:
                    frame[name] = frame[name].astype(float).convert_dtypes()
        for group in ("estimator", "problem"):
            frame.insert(len(self.plan.swept), f"{group}_label", [label(config, group, name) for name in frame[group]])
        return frame

    def table(self, records, config):
        """Rows (problem, notion and estimand if several, n, swept parameters), a column per estimator (harness.report.tables.wide). A
        row holds all that its values bear on, so that an estimator that a parameter does not change has the same entry at each of
        its values; where a parameter does not bear on a problem at all, its value is 'all'."""
        import pandas as pd

        from harness.report import tables

        long, points = self._at_every_point(records)
        table = tables.wide(long, config, apart=["point"])
        if not len(table):
            return table
        rows = table.index.to_frame(index=False)
        order = [name for name in rows if name not in ("n", "point")]
        values = [points[i] for i in rows["point"]]
        for name in self.plan.swept.values():
            rows[name] = [sweeps.said(point[name]) if name in point else "all" for point in values]
        first = {name: {v: i for i, v in enumerate(dict.fromkeys(rows[name]))} for name in order}
        places = rows[order].apply(lambda column: column.map(first[column.name])).assign(n=rows["n"], point=rows.pop("point"))
        sorting = places.sort_values(list(places)).index
        name, table = table.columns.name, table.reset_index(drop=True).loc[sorting]
        table.index = pd.MultiIndex.from_frame(rows.loc[sorting])
        numbers = table.map(lambda entry: any(character.isdigit() for character in entry)).drop(columns="truth", errors="ignore")
        empty = [column for column in numbers if not numbers[column].any()]
        table = table[numbers.any(axis=1)].drop(columns=empty)  # tables.reasons says what gave no number
        table.columns.name = name
        return table

    def _at_every_point(self, records):
        """(the records with a column `point`, a row for each point of their problem that agrees with the values that bear on
        their cell; the points that it counts). The points of a problem are of the values that bear on any of its cells."""
        import pandas as pd

        long, bearing = self._by_point(records)
        every: dict[tuple, dict] = {}
        found = []
        for _, mine in long.groupby("problem", sort=False):
            held = [bearing[i] for i in mine["point"].unique()]
            names = [name for name in self.plan.swept.values() if any(name in values for values in held)]
            paths = {path: name for path, name in self.plan.swept.items() if name in names}
            points = [{name: point[path] for path, name in paths.items() if path in point} for point in self.plan.points]
            own = {_identity(point): point for point in points}
            every |= own
            agreeing: dict[tuple, list] = {}
            for shape in {tuple(values) for values in held}:
                for identity, point in own.items():
                    agreeing.setdefault(_identity({name: point.get(name) for name in shape}), []).append(identity)
            points = [agreeing[_identity(bearing[i])] for i in mine["point"]]
            many = mine.loc[mine.index.repeat([len(one) for one in points])]
            found.append(many.assign(point=[identity for one in points for identity in one]))
        ranks = dict(zip(every, self._ranked(every.values())))
        order = sorted(every, key=ranks.get)
        number = {identity: i for i, identity in enumerate(order)}
        long = pd.concat(found, ignore_index=True) if found else long
        return long.assign(point=long["point"].map(number) if found else []), [every[identity] for identity in order]

    def render(self, records, config):
        """Estimates (mean and standard error) and CPU time against the swept parameter with the most values; a panel per problem,
        notion, n, estimand and value of the other parameters, or a heat map over two of many values each. The figure bears its
        caption as its label."""
        from harness.report import plots
        from harness.report.tables import figure_estimands

        plt = plots.pyplot()
        estimands = figure_estimands(records, config)
        frame = self.rows(records[records["estimand"].isin(estimands)], config)
        frame = frame[frame["status"].eq("ok")]
        chosen = config["figure"]["estimators"]
        frame = frame[frame["estimator"].isin(chosen)] if chosen and len(frame) else frame
        axes = self._axes(frame)
        if not len(frame) or not axes:
            return plots.overview(records, config)
        x, *others = axes
        crossed = [name for name in others if frame[[x, name]].notna().all(axis=1).any()]
        wide = [name for name in crossed if len(self._values(name)) > PANEL_VALUES]
        if wide and len(axes) == 2:
            return self._heat_maps(plt, frame, x, wide[0], config)
        return self._lines(plt, frame, x, others, [e for e in estimands if frame["estimand"].eq(e).any()], config)

    def _axes(self, frame):
        """The swept parameters that bear on the frame: numbers before names, then by how many values they have."""
        names = [name for name in self.plan.swept.values() if name in frame and frame[name].notna().any()]
        return sorted(names, key=lambda name: (not _numbers(self._values(name)), -len(self._values(name))))

    def _lines(self, plt, frame, x, others, estimands, config):
        from harness.report import plots
        from harness.report.tables import label

        swept = frame[frame[x].notna()]
        count = {name: len(self._values(name)) for name in others}
        across = max((name for name in others if count[name] <= PANEL_VALUES), key=count.get, default=None)
        beside = [name for name in others if name != across]
        order = {name: i for i, name in enumerate(config["problem"])}
        rows = {tuple(row) for row in swept[["estimand", *PLACE]].itertuples(index=False)}
        rows = sorted(
            rows, key=lambda row: (estimands.index(row[0]), order.get(row[1], len(order)), NOTIONS.index(row[2]), row[3])
        )
        sizes = sorted({n for *_, n in rows})
        if across is None:  # the sample sizes stand side by side
            rows, columns = list(dict.fromkeys(row[:3] for row in rows)), sizes
        else:
            columns = [v for v in self._values(across) if any(_rank(v) == _rank(held) for held in swept[across])]
        series = self._series(frame, beside, config)
        at = self._positions(x)
        kept = config["figure"]["size"]
        figure, grid = plt.subplots(
            len(rows) + 1,
            len(columns),
            figsize=kept or (max(plots.WIDTH, 0.6 + 1.6 * len(columns)), 0.9 + 1.8 * len(rows) + 1.3),
            squeeze=False,
            sharex=True,
            sharey="row",
            layout="constrained",
        )
        several = len({row[2] for row in rows}) > 1
        drawn = []
        for j, column in enumerate(columns):
            costs: dict[int, list] = {}
            for i, row in enumerate(rows):
                ax, n = grid[i, j], column if across is None else row[3]
                here = frame[frame[["estimand", *PLACE]].eq([*row[:3], n]).all(axis=1)]
                if across is not None:
                    here = here[[_rank(value) in (None, _rank(column)) for value in here[across]]]
                for position, (name, chosen) in enumerate(series.items()):
                    line = here[[key in chosen for key in self._kinds(here, beside)]]
                    self._draw(ax, line, x, at, position, config, name)
                    costs.setdefault(position, []).append(line[line[x].notna()])
                self._truth(ax, here, x, at, beside)
                drawn.append(here)
                words = [label(config, "problem", row[1]), *([row[2].replace("_", "-")] if several else [])]
                words += [f"n = {n:,}"] if len(sizes) > 1 or across is None else []
                words += [f"{across} = {sweeps.said(column)}"] if across is not None else []
                ax.set_title(_folded(words, 34 if len(columns) < 4 else 26))
            for position, lines in costs.items():
                self._cost(grid[-1, j], lines, x, at, position)
            grid[-1, j].set(xlabel=x, yscale="log")
            self._scale(grid[-1, j], x, at)
        for ax, row in zip(grid[:-1, 0], rows):
            ax.set_ylabel(plots.NAMES.get(row[0], row[0]))
        grid[-1, 0].set_ylabel("CPU time of a cell [ms]")
        _room(grid[-1, 0])
        plots._legend(figure, grid[:-1].flat, list(series), config, swept)
        figure.set_label(self._caption(drawn, x, across, beside, config))
        return figure

    def _series(self, frame, beside, config):
        """{label: (estimator, values of the parameters that neither axis nor panels show)}, in the order of the configuration."""
        from harness.report.tables import label

        chosen = config["figure"]["estimators"]
        order = [e for e in chosen or config["estimator"]]
        order += [] if chosen else [e for e in dict.fromkeys(frame["estimator"]) if e not in order]
        kinds = dict.fromkeys(self._kinds(frame, beside))
        shown = {_rank(v): sweeps.said(v) for name in beside for v in self._values(name)}
        found = {}
        for estimator in order:
            for kind in (kind for kind in kinds if kind[0] == estimator):
                values = {name: shown[value] for name, value in zip(beside, kind[1:]) if value is not None}
                text = ", ".join(f"{name}={value}" for name, value in values.items())
                found[label(config, "estimator", estimator) + (f" ({text})" if text else "")] = [kind]
        return found

    def _kinds(self, frame, beside):
        """[(estimator, value of each of the parameters `beside`)] of the rows."""
        return list(zip(frame["estimator"], *([_rank(value) for value in frame[name]] for name in beside)))

    def _draw(self, ax, line, x, at, position, config, text):
        """One series in one panel: against x where it was swept, else a level."""
        from harness.report import plots

        swept = line[line[x].notna()]
        if len(swept):
            place = np.array([at[_rank(value)] for value in swept[x]])
            order = np.argsort(place, kind="stable")
            swept, place = swept.iloc[order], place[order]
            for kind in dict.fromkeys(swept["kind"]):
                mine = swept["kind"].eq(kind).to_numpy()
                plots._marks(ax, kind, place[mine], swept[mine], position, config, True, text)
        elif len(line):
            colour = plots.COLOURS[position % 8]
            ax.axhline(line["mean"].iloc[0], color=colour, linewidth=0.9, linestyle=(0, (1, 1.5)), label=text, zorder=2)

    def _cost(self, ax, lines, x, at, position):
        """CPU milliseconds of a cell of one series, mean over the panels of a column."""
        import pandas as pd

        from harness.report import plots

        line = pd.concat(lines)
        if len(line):
            mean = line["cpu_seconds"].groupby([_rank(value) for value in line[x]]).mean()
            points = sorted((at[value], 1e3 * seconds) for value, seconds in mean.items())
            ax.plot(*zip(*points), **plots._style(position))

    def _truth(self, ax, part, x, at, beside):
        """The true value, a dashed level, or a dashed line where it changes with the parameter; one for each value of the
        parameters `beside`, where it changes with these too."""
        known = part[part["truth"].notna()]
        if not len(known):
            return
        dashed = {"color": "0.2", "linestyle": "--", "linewidth": 1.0, "label": "true value", "zorder": 2}
        moving = known[known[x].notna()]
        if moving["truth"].nunique() <= 1:
            ax.axhline(known["truth"].iloc[0], **dashed)
            return
        lines: dict[tuple, dict] = {}
        one = moving["truth"].groupby([_rank(value) for value in moving[x]]).nunique().max() == 1
        for kind, value, truth in zip(self._kinds(moving, beside), moving[x], moving["truth"]):
            lines.setdefault(() if one else kind[1:], {})[at[_rank(value)]] = truth
        for points in lines.values():
            ax.plot(*zip(*sorted(points.items())), **dashed)

    def _positions(self, name):
        """{value: its place on the axis}: the number itself, or the names one after the other."""
        values = self._values(name)
        return {_rank(v): float(v) if _numbers(values) else float(i) for i, v in enumerate(values)}

    def _scale(self, ax, name, at):
        values = self._values(name)
        places = list(at.values())
        if not _numbers(values):
            ax.set_xticks(places, [sweeps.said(v) for v in values], rotation=30 if len(values) > 4 else 0)
            return
        if is_log(places):
            ax.set_xscale("log")
        if len(values) <= 5 or is_log(places):
            step = -(-len(values) // 6)
            ax.set_xticks(sorted(places)[::step], [sweeps.said(v) for v in sorted(values)[::step]])
            ax.minorticks_off()

    def _heat_maps(self, plt, frame, x, y, config):
        from harness.report import plots
        from harness.report.tables import label

        crossed = frame[[x, y]].notna().all(axis=1)
        frame = frame[crossed]
        estimand, *more = dict.fromkeys(frame["estimand"])  # one scale of colours is of one quantity
        frame = frame[frame["estimand"].eq(estimand)]
        known = frame["truth"].notna().all()
        what = "rmse" if known else "mean"
        panels = [tuple(row) for row in frame[[*PLACE, "estimator"]].drop_duplicates().itertuples(index=False)]
        columns = min(len(panels), config["figure"]["panels_per_row"])
        rows = -(-len(panels) // columns)
        size = config["figure"]["size"] or (max(plots.WIDTH, 2.6 * columns), 0.4 + 2.4 * rows)
        figure, grid = plt.subplots(rows, columns, figsize=size, squeeze=False, layout="constrained")
        xs, ys = self._values(x), self._values(y)
        low, high = frame[what].min(), frame[what].max()
        for panel, ax in zip(panels, grid.flat):
            problem, notion, n, estimator = panel
            part = frame[(frame[[*PLACE, "estimator"]] == list(panel)).all(axis=1)]
            values = np.full((len(ys), len(xs)), np.nan)
            for _, row in part.iterrows():
                values[_index(ys, row[y]), _index(xs, row[x])] = row[what]
            image = ax.imshow(values, origin="lower", aspect="auto", cmap="cividis", vmin=low, vmax=high)
            if len(xs) * columns <= 15:
                for (i, j), value in np.ndenumerate(values):
                    if math.isfinite(value):
                        dark = value < (low + high) / 2
                        ax.text(j, i, f"{value:.3f}", ha="center", va="center", fontsize=6, color="white" if dark else "black")
            ax.set_xticks(range(len(xs)), [sweeps.said(v) for v in xs], rotation=45 if len(xs) > 6 else 0)
            ax.set_yticks(range(len(ys)), [sweeps.said(v) for v in ys])
            ax.grid(False)
            ax.set(xlabel=x, ylabel=y)
            ax.set_title(f"{label(config, 'estimator', estimator)}\n{label(config, 'problem', problem)}, {notion}, n = {n:,}")
        for ax in list(grid.flat)[len(panels) :]:
            ax.set_visible(False)
        name = plots.NAMES.get(estimand, estimand)
        figure.colorbar(image, ax=grid, label=f"RMSE of the {name}" if known else name, shrink=0.8)
        said = f"Root mean squared error of {estimand}" if known else f"Mean of {estimand}, whose truth is not known everywhere,"
        sentences = [f"{said} by {x} and {y}, over {plots._range(frame['reps'])} replications."]
        if more:
            sentences.append(f"Not drawn, but in the table: {', '.join(more)}.")
        if not crossed.all():
            sentences.append(f"Drawn is what both {x} and {y} change; the table has the rest.")
        figure.set_label(" ".join(sentences))
        return figure

    def _caption(self, drawn, x, across, beside, config):
        """What the panels show, in words."""
        import pandas as pd

        from harness.report import plots
        from harness.report.evaluation import are_of

        table = pd.concat(drawn)
        files, subsets = (np.array(are_of(table, config.get(name, ())), dtype=bool) for name in ("files", "subsets"))
        panels = f", a column of panels for each {across}" if across else ""
        lines = f", a line for each {' and '.join(beside)}" if beside else ""
        sentences = [f"Estimates against {x}{panels}{lines}."]
        sentences += plots._of_means(table[~files], table[files & ~subsets], table[subsets], dots=False)
        bounds = table[plots._has_ends(table, config) & table[x].notna()]
        if len(bounds):
            sentences.append(plots._of_ends(bounds))
        sentences += plots._of_bounds(table[table[x].notna()], upright=True)
        if table[x].isna().any():
            sentences.append(f"Dotted levels: what {x} does not change.")
        if table["truth"].notna().any():
            sentences.append("Dashed: the true value.")
        several = " (median over the replications)" if table["reps"].max() > 1 else ""
        above = ", mean over the panels above" if len(table[["problem", "notion"]].drop_duplicates()) > 1 else ""
        return " ".join([*sentences, f"Below: CPU time of a cell{several}{above}."])


def _folded(words, width):
    """The words of a title on as many lines as they need."""
    lines = [words[0]]
    for word in words[1:]:
        if len(f"{lines[-1]}, {word}") > width:
            lines[-1] += ","
            lines.append(word)
        else:
            lines[-1] += f", {word}"
    return "\n".join(lines)


def _room(ax):
    """A logarithmic axis of at least a decade, so that noise of times does not look like a trend, and with its ticks labelled."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    low, high = ax.get_ylim()
    middle, reach = math.sqrt(low * high), max(math.sqrt(high / low), math.sqrt(10.0))
    ax.set_ylim(middle / reach, middle * reach)
    ax.yaxis.set_major_locator(LogLocator(base=10, subs=(1.0, 3.0) if reach < 30 else (1.0,)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.yaxis.set_minor_formatter(NullFormatter())


def _numbers(values):
    return all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in values)


def _rank(value):
    """A value as something that can be compared and hashed, 1 and 1.0 alike."""
    if value is None or isinstance(value, float) and value != value:
        return None
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else sweeps.said(value)


def _identity(values):
    """Values by name as something that can be hashed."""
    return tuple((name, _rank(values[name])) for name in sorted(values))


def _index(values, value):
    return [_rank(v) for v in values].index(_rank(value))


def is_log(places) -> bool:
    """Whether positive values span so much that they belong on a logarithmic axis."""
    return min(places) > 0 and max(places) / min(places) >= DECADE
