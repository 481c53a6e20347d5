"""One configured run, from overrides to files: plan, compute, records, figure, tables, reproduction, page."""

from __future__ import annotations

import contextlib
import importlib
import json
import math
import re
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from harness.common.paths import EXPERIMENTS, PACKAGE
from harness.common.seeds import digest
from harness.common.user_code import hidden_experiments
from harness.common.version import VERSION
from harness.configure import record_sources as others
from harness.configure import sweeps, variations
from harness.configure.compose import compose, out_folder
from harness.configure.settings import as_list
from harness.errors import BadInputError
from harness.estimators.base import EstimatorSpec
from harness.estimators.bootstrap import Bootstrap
from harness.execute import run, truths
from harness.plan import pending
from harness.plan import plan as planning
from harness.problems.base import ProblemSpec
from harness.records import imported, parts, reader, schema, stored
from harness.records import states as recorded
from harness.records.truths import missing_truths

if TYPE_CHECKING:
    import pandas as pd

MANY_CELLS = 200_000  # from which on texts of records are categories, where the drawing is the general one
DRAWN = (  # what that looks at, and what says of a run
    "key", "problem", "problem_key", "notion", "n", "estimator", "estimator_key", "estimand", "value", "low", "high", "level",
    "kind", "status", "reason", "cpu_seconds", "truth", "truth_error",
)  # fmt: skip
NUMBERS = ("value", "low", "high", "truth", "truth_error")  # that a page shows
SOURCES = (".py", ".j2", ".csv", ".parquet", ".yaml")  # what a drawing depends on


@dataclass(frozen=True)
class Experiment:
    """A configuration with its plan. `stem` names the result files, `folder` is where they go. `differs` is what the run changes
    in its experiment, {path: (as configured, here)}; `configured_points` are those of a sweep that the experiment itself is;
    `others` are the experiments whose records it uses, as they are configured."""

    config: dict
    plan: planning.Plan
    out: Path
    differs: dict = field(default_factory=dict)
    configured_points: list = field(default_factory=list)
    others: tuple = ()

    @classmethod
    def of(cls, overrides: list[str], stored_in: Path | None = None) -> Experiment:
        """Compose overrides (as on the command line) and plan, as `of_config`."""
        return cls.of_config(compose(list(overrides)), stored_in=stored_in)

    @classmethod
    def of_config(cls, config: dict, points: list | None = None, stored_in: Path | None = None) -> Experiment:
        """Plan a composed configuration; or the points of a sweep over it, pairs (values by path, configuration). Plans that
        depend on data are those of the records stored in the folder `stored_in`, where it has them."""
        here = {name: config[name] for name in variations.OPERATIONAL if name in config and name != "experiment"}
        configs = [
            {**variations.as_configured({"experiment": name, "trust": config.get("trust")}), **here}
            for name in others.experiments(config)
        ]
        return cls._planned(config, points, tuple(cls._planned(one, stored_in=stored_in) for one in configs), stored_in)

    @classmethod
    def _planned(cls, config: dict, points: list | None = None, named: tuple = (), stored_in: Path | None = None) -> Experiment:
        reference = variations.as_configured(config)
        swept = {path for values, _ in points or () for path in values}
        differs = {path: pair for path, pair in variations.differences(config, reference).items() if path not in swept}
        if differs:
            config = {**config, "labels": variations.labels(config, differs)}
        chosen, configured = (set((c.get("estimator") or {}) if c else ()) for c in (config, reference or config))
        if chosen != configured and "figure.estimators" not in differs:
            config = {**config, "figure": {**config["figure"], "estimators": None}}  # those of the run, not the experiment's
        points = sweeps.points(config) if points is None and config["sweep"] else points
        if points is not None:
            plan = planning.union(config, points)
        elif stored_in is not None and config["name"]:
            plan = stored.plan_of(stored.path_of(stored_in, config["name"]), config, lambda: planning.plan(config))
        else:
            plan = planning.plan(config)
        if plan.estimators and (not reference or "figure.estimand" in differs):  # of an experiment it is a wish: its variations
            planning.check_estimands("figure.estimand", config["figure"]["estimand"], plan.estimators)  # show what they have
        own = sweeps.points(reference) if reference and reference["sweep"] else []
        return cls(config, plan, out_folder(config["out"]), differs, [values for values, _ in own], named)

    @property
    def family(self) -> tuple[Experiment, ...]:
        """The experiment and those whose records it uses."""
        return (self, *self.others)

    @property
    def cells(self) -> set[str]:
        """The keys of all cells whose records it uses, its own and those of others."""
        return {cell.key for one in self.family for cell in one.plan.cells}

    @property
    def name(self) -> str:
        """The run's name, `adhoc` for a run without one."""
        return self.config["name"] or "adhoc"

    @property
    def paper(self) -> str | None:
        """The paper that the experiment reproduces, None for others."""
        return self.config["paper"]

    @property
    def is_sweep(self) -> bool:
        """Whether it is a sweep over values of parameters."""
        return bool(self.plan.swept)

    @property
    def is_variation(self) -> bool:
        """Whether it is something else than an experiment as configured: its results are its own."""
        return self.is_sweep or not self.config["experiment"] or bool(self.differs)

    @property
    def sentence(self) -> str:
        """What it is, in words: 'a sweep over bins of a variation of smoke (n)'."""
        base = variations.sentence(self.config, self.differs) if self.differs or not self.config["experiment"] else None
        if not self.is_sweep:
            return base or self.config["experiment"]
        over = f"a sweep over {', '.join(self.plan.swept.values())}"
        return f"{over} of {base or self.config['experiment']}" if self.config["experiment"] else over

    @property
    def title(self) -> str:
        """The title of its page. That of a variation or sweep says what it changes, and does not bear the experiment's."""
        experiment = self.config["experiment"]
        if not self.is_variation or not experiment:
            return self.config["title"] or self.name
        over = f" swept over {', '.join(self.plan.swept.values())}" if self.is_sweep else ""
        changes = variations.changes(self.config, {p: pair for p, pair in self.differs.items() if p not in ("title", "name")})
        title = f"{experiment}{over}" if over and not changes else f"A variation of {experiment}{over}"
        title = f"{title}: {changes}" if changes else title
        return f"{self.config['title']}. {title}" if "title" in self.differs else title

    @property
    def stem(self) -> str:
        """File name of the results: the experiment's name without the paper's; a variation's own."""
        if self.is_variation:
            return self._own_name()
        if self.config["arena"]:
            return self.name.removeprefix("arena_")
        return self.name.removeprefix(f"{self.paper}_") if self.paper else self.name

    @property
    def folder(self) -> Path:
        """Where the results go: <out>/<paper>, <out>/arena or <out>/<name>; <out>/variations/<own name>; <out>/sweeps/<own
        name>."""
        if self.is_variation:
            return self.out / ("sweeps" if self.is_sweep else "variations") / self._own_name()
        return self.out / (self.paper or ("arena" if self.config["arena"] else self.name))

    def _own_name(self):
        given = self.config["name"]
        as_configured = self.is_sweep and not self.differs and self.plan.points == self.configured_points
        if given and (not self.config["experiment"] or "name" in self.differs or as_configured):
            return given
        words = "".join(f"-{word.replace('.', '_')}" for word in self.plan.swept.values())
        return f"{self.config['experiment'] or 'adhoc'}{words}-{self.identity}"

    @property
    def identity(self) -> str:
        """Eight digits that identify what is run and drawn, its name aside."""
        own = variations.identity(self.config)
        if not self.is_sweep:
            return own
        return digest(json.dumps([own, self.plan.points], sort_keys=True, default=str))[:8]

    def compute(self, quiet: bool = False, later: float = 0.0) -> dict:
        """Run what no record holds, of this experiment and of those whose records it uses, and compute the truths of what was
        estimated; returns the counts of `runner.execute`, summed."""
        counts: dict = {}
        expected = [one.expected_seconds() if self.others else 0.0 for one in self.family]
        for position, one in enumerate(self.family):
            found = one._compute(quiet, later + sum(expected[position + 1 :]))
            added = {name: counts.get(name, 0) + count for name, count in found.items() if name != "reason"}
            counts = {**found, **counts, **added}
        return counts

    def expected_seconds(self, without: set[str] = frozenset(), states: recorded.States | None = None, past=None) -> float:
        """Wall seconds that its own cells should take that no record holds, those `without` aside. `states` and `past` are as in
        `work.pending` and `work.Costs`."""
        if not self.plan.cells:
            return 0.0
        tally = pending.pending(self.plan, self.out, states, without).tally
        costs = pending.Costs(self.plan, self.out, past)
        return pending.expected_seconds(tally.kinds, tally.draws, costs, pending.worker_count(self.plan.config))

    def _compute(self, quiet, later):
        for source in self.sources:
            source.record(self.out)
        counts = run.execute(self.plan, quiet, later)
        keys = [[one.key for one in chosen.values()] for chosen in (self.plan.problems, self.plan.estimators)]
        given = reader.estimated(self.out, *keys)
        truths.store(self.out, ((one, self._wanted_truths(given, one)) for one in self.plan.problems.values()))
        return counts

    def records(self, to_draw: bool = False) -> pd.DataFrame:
        """The records of this plan's cells, best attempt each, with the truths that are stored, those of the experiments that
        `records_of` names, and those from outside. The column `experiment` says whose a row is. Nothing is computed. Of very
        many cells those `to_draw` lack the columns that nothing here looks at."""
        import pandas as pd

        found = [
            frame for one in self.family for frame in (one.computed(to_draw=to_draw), *(s.records(one.name) for s in one.sources))
        ]
        filled = [frame for frame in found if len(frame)]
        return pd.concat(filled, ignore_index=True) if len(filled) > 1 else (filled or found)[0]

    @property
    def sources(self) -> list[imported.Source]:
        """Where its records from outside come from."""
        return [imported.Source(**one) for one in self.config["records_from"]]

    def computed(self, loaded: pd.DataFrame | None = None, to_draw: bool = False) -> pd.DataFrame:
        """The records of its own cells, as of `records`; from `loaded`, what `load_records` gave of many experiments at once."""
        import numpy as np
        import pandas as pd

        if loaded is not None:
            frame = loaded[loaded["key"].isin([cell.key for cell in self.plan.cells])]
        elif not self.plan.cells or not parts.part_files(self.out):
            frame = reader.empty_frame()
        else:
            columns = DRAWN if to_draw and self._is_long else None
            frame = reader.load_records(self.out, self._wanted, columns, categories=self._is_long)
        outdated = frame["status"].eq("skipped")
        if outdated.any():
            outdated &= ~frame["key"].isin(self.plan.skips)  # what was missing then is there now
            frame = frame[~outdated]
        frame = frame.reset_index(drop=True)
        for group, made in (("problem", self.plan.problems), ("estimator", self.plan.estimators)):
            ids = {one.key: one.id for one in made.values()}  # records that were written under an id of before have today's here
            frame[group] = frame[f"{group}_key"].map(ids).astype("category" if self._is_long and loaded is None else "object")
        whose = pd.Categorical.from_codes(np.zeros(len(frame), dtype=np.int8), [self.name]) if self._is_long else self.name
        frame.insert(1, "experiment", whose)
        return frame

    @cached_property
    def _wanted(self):
        """The keys of its own cells."""
        return reader.keys_of(cell.key for cell in self.plan.cells)

    @property
    def cell_count(self) -> int:
        """The number of all cells whose records it uses."""
        return len(self._wanted) if self._is_long else len(self.cells)

    @property
    def _is_long(self):
        own = any(self.config[name] for name in ("item", "arena", "ranking", "records_of", "records_from"))
        return len(self.plan.cells) > MANY_CELLS and not own and not self.is_sweep

    def missing_truths(self, frame) -> dict[str, list[tuple[str, str]]]:
        """{problem: [(notion, estimand)]} of truths that no run has computed yet, of what was estimated in `frame`."""
        return {name: pairs for one in self.family for name, pairs in one._missing_truths(frame).items()}

    def _missing_truths(self, frame):
        seen = frame[frame["estimand"].notna()].drop_duplicates(["problem_key", "notion", "estimand"])
        given = list(zip(seen["problem_key"], seen["notion"], seen["estimand"]))
        wanted = {name: (one, self._wanted_truths(given, one)) for name, one in self.plan.problems.items()}
        missing = {name: missing_truths(self.out, *asked) for name, asked in wanted.items()}
        return {name: pairs for name, pairs in missing.items() if pairs}

    def _wanted_truths(self, given, problem):
        """[(notion, estimand)] whose truths are wanted of a problem, by `given`, what was estimated: [(problem key, notion,
        estimand)]. A ranking by the truths of an estimand wants these as well."""
        wanted = [(notion, estimand) for key, notion, estimand in given if key == problem.key]
        reference = (self.config["ranking"] or {}).get("reference")
        if reference and reference != "full":
            wanted += [(notion, reference) for notion in dict.fromkeys(notion for notion, _ in wanted)]
        return wanted

    def missing(self, frame) -> int:
        """Planned cells, of the experiments whose records it uses too, that have no finished record."""
        finished = frame.loc[frame["status"].isin(schema.FINISHED), "key"]
        return self.cell_count - finished.nunique() if self._is_long else len(self.cells - set(finished))

    def render(self, frame) -> tuple[list[Path], dict[str, dict[str, int]], list[str]]:
        """Draw and write everything people look at; returns the files, the page last, the number of rows by source and verdict,
        and sentences on what the reader should know. Nothing is drawn, and nothing overwritten, where there is no number."""
        from harness.evaluate import reproduction, tables
        from harness.figures import figure_files, plots
        from harness.pages import arena_page
        from harness.pages import page as report

        if not len(frame):
            raise BadInputError(
                f"no cell of {self.name} is recorded in {self.out}; nothing is drawn and nothing overwritten: run it first."
            )
        if not self.has_numbers(frame) and (self.is_variation or self.is_drawn_at_all()):
            raise BadInputError(f"no cell of {self.name} has a number; nothing is drawn and nothing overwritten.")
        notes = []
        if self.is_variation:
            content = {"identity": self.identity, "experiment": self.config["experiment"], "differs": self.differs}
            content["title"] = self.config["title"] or self.name
            content |= {"swept": self.swept()} if self.is_sweep else {}
            moved = variations.keep_other(self.folder, self.stem, json.loads(json.dumps(content, default=str)))
            if moved:
                notes.append(f"{self.folder} held the results of another configuration; they are kept in {moved}")
        if self.config["arena"] and not self.is_sweep:
            with variations.undisturbed(self.folder, self.stem, self.identity) if self.is_variation else contextlib.nullcontext():
                return arena_page.save(self, frame), {}, notes
        shown, config = self._shown(frame), self.shown_config()

        figure, summary, wide, compared = self._drawn(frame, shown, config, notes)
        if not self.is_sweep:  # the figure of a sweep has the times, other results are the same on every machine
            summary = summary.drop(columns="cpu_seconds", errors="ignore")
        stem = self.folder / self.stem
        with variations.undisturbed(self.folder, self.stem, self.identity) if self.is_variation else contextlib.nullcontext():
            files = figure_files.save(figure, stem, config)
            files += tables.save(summary, wide, stem)
            if compared is not None:
                files += reproduction.save(compared, self.name, self.folder)
            elif self.is_variation:  # what an earlier drawing compared is not of this one
                for old in self.folder.glob("reproduction*.csv"):
                    old.unlink()
            diagrams = list(self._reliability())
            for _, _, drawn in diagrams:
                files += drawn
            page = self.folder / f"{self.stem}.html"
            small = None if self.is_sweep else plots.for_phones(self._draws(), shown, config)
            narrow = None if small is None else figure_files.svg_of(small)
            files.append(report.save(self, frame, files, wide, compared, page, self._caption(figure), diagrams, narrow))
        return files, reproduction.counts_by_source(compared) if compared is not None else {}, notes

    def swept(self) -> dict[str, list[str]]:
        """{path: its values, as texts} of a sweep."""
        plan = self.plan
        return {path: list(dict.fromkeys(sweeps.said(p[path]) for p in plan.points if path in p)) for path in plan.swept}

    def _caption(self, figure) -> str:
        """What the figure says of itself, or the experiment's own words where they are of it, or all that there are."""
        own = self.config["figure"].get("caption")
        return own if own and (not self.differs or "figure.caption" in self.differs) else figure.get_label() or own or ""

    def _drawn(self, frame, shown, config, notes):
        """(figure, summary, wide table, paper against ours or None). A paper's item draws its own experiment, and variations in
        sampling alone; other variations are drawn in the general way, and compared with nothing."""
        from harness.evaluate import rankings, reproduction, tables
        from harness.evaluate.selection import label
        from harness.evaluate.sweep_tables import SweepResults
        from harness.figures import plots, sweep_plots

        if self.is_sweep:
            results = SweepResults(self.plan)
            figure = sweep_plots.render(results, shown, config)
            return figure, results.summary(shown, config), results.table(shown, config), None
        item = self._item()
        view = item or (rankings if config["ranking"] else None)
        compared = None
        try:
            figure = self._draws()(shown, config)
            summary = getattr(view, "summary", tables.summary)(shown, config)
            wide = getattr(view, "table", tables.wide)(shown, config)
            if item and config["compare"]:
                have = {*self.plan.estimators, *frame["estimator"], *(e for one in self.others for e in one.plan.estimators)}
                computed = {label(config, "estimator", e) for e in have} | {reproduction.TRUTH}
                asked = (config["compare"], config["reasons"], computed, config["same_draws_as_paper"])
                compared = reproduction.compare(item.reproduced(frame, config), self.paper, *asked, records=frame)
        except Exception as error:
            if not (item and self.differs):
                raise
            kind = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            notes.append(f"the drawing of {self.config['experiment']} does not fit this variation ({kind}); drawn in general")
            return plots.overview(shown, config), tables.summary(shown, config), tables.wide(shown, config), None
        if compared is not None and self.differs:
            compared = variations.comparable(compared, self.differs)
            why = compared.loc[compared["verdict"].eq("not reproducible here"), "reason"].unique()
            notes += [f"not judged against the paper: {reason}" for reason in why if isinstance(reason, str) and reason]
        return figure, summary, wide, compared if compared is not None and len(compared) else None

    def _item(self):
        """The paper's item that draws this experiment; None where it is drawn in a general way."""
        own = self.config["item"] and variations.same_quantities(self.differs)
        return load_item(self.paper, self.config["item"]) if own else None

    def _draws(self):
        """What draws the figure, (records, config) -> Figure, of all but a sweep."""
        from harness.figures import plots, ranking_plot

        item = self._item()
        return item.render if item else ranking_plot.render if self.config["ranking"] else plots.overview

    def wide(self, frame):
        """The table for people: rows by problem and n (and swept values), a column per estimator."""
        from harness.evaluate import rankings, tables
        from harness.evaluate.sweep_tables import SweepResults
        from harness.pages import arena_page

        if self.config["arena"] and not self.is_sweep:
            return arena_page.table(self, frame)
        shown, config = self._shown(frame), self.shown_config()
        if self.is_sweep:
            return SweepResults(self.plan).table(shown, config)
        return (rankings.table if config["ranking"] else tables.wide)(shown, config)

    def rmse(self) -> float | None:
        """Mean over problems, notions, n and estimators of the root mean squared error of the figure's estimand: what a sweeper
        that searches minimises. Infinite where a cell failed or is undefined, or the mean would be over the easier ones; None
        where no truth is known."""
        from harness.evaluate.evaluation import evaluate
        from harness.evaluate.selection import figure_estimands

        frame = self._shown(self.records())
        shown = frame["estimand"].eq(figure_estimands(frame, self.config)[0])
        if (frame["status"].isin(["failed", "undefined"]) & (shown | frame["estimand"].isna())).any():
            return math.inf
        errors = evaluate(frame[shown])["rmse"].dropna()
        return float(errors.mean()) if len(errors) else None

    def _reliability(self):
        """A reliability diagram of every file of the run: yields (title, caption, files); none in a paper's item or a ranking."""
        import numpy as np

        from harness.common.writing import whole_file
        from harness.evaluate import reliability
        from harness.evaluate.selection import label
        from harness.figures import figure_files

        which, config = self.config["reliability"], self.shown_config()
        if which == "none" or self.paper or config["ranking"]:
            return
        held = {name: p for name, p in self.plan.problems.items() if ProblemSpec.of(p.object).rows_of_a_file}
        for name, problem in held.items():
            spec = ProblemSpec.of(problem.object)
            if spec.unavailable:
                continue
            p, y = problem.object.sample(problem.object.n_max, np.random.default_rng(0))
            notion = "top_label" if spec.top_label else None
            title = label(config, "problem", name)
            panels = reliability.panels(p, y, which, notion=notion, classes=spec.names)
            own = f"_{re.sub('[^A-Za-z0-9.=-]+', '_', name).strip('_')}" if len(held) > 1 else ""
            stem = self.folder / f"{self.stem}_reliability{own}"
            files = figure_files.save(reliability.figure(panels, config), stem, config)
            table = stem.with_name(f"{stem.name}.csv")
            with whole_file(table) as temporary:
                reliability.table_of(panels).to_csv(temporary, index=False)
            yield title, reliability.caption_of(panels), [*files, table]

    def notes(self) -> list[str]:
        """What to know of the files of a run: how each was read, and what its intervals are or why an estimator has none."""
        if self.paper and not self.is_variation or self.config["ranking"]:
            return []
        files = [p for p in self.plan.problems.values() if ProblemSpec.of(p.object).rows_of_a_file]
        found = [problem.object.described for problem in files[:20]]
        if len(files) > 20:
            found.append(f"and {len(files) - 20} more files")
        wrapped = [e for e in self.plan.estimators.values() if EstimatorSpec.read(e.object, "keeps_values_of")]
        with_intervals = {e.id for e in wrapped}
        halves = [e for e in wrapped if isinstance(e.object, Bootstrap)]
        if halves:
            one = halves[0].object
            found.append(
                f"intervals: {one.level:.0%}, from {one.resamples} random halves of the rows, for what the estimator tends to as "
                "n grows"
            )
        costly = [name for name, e in self.plan.estimators.items() if e.id not in with_intervals]
        if files and costly and self.config["bootstrap"] is None:
            found.append(f"no bootstrap of {', '.join(costly)} by default, which would take minutes; bootstrap=200 asks for it")
        return found

    def shown_config(self) -> dict:
        """The configuration for what draws: also with `files`, [(problem, n)] whose replications are no samples, as they share
        rows of a file, and `subsets`, those of them with fewer rows than the file has. To a paper or a ranking its files are the
        population, and only all rows are no sample."""
        population = self.paper or self.config["ranking"]
        ids = {True: set(), False: set()}
        for plan in (one.plan for one in self.family):
            held = {name for name, problem in plan.problems.items() if ProblemSpec.of(problem.object).rows_of_a_file}
            drawn = {(c.problem, c.n) for c in plan.cells if c.problem in held} if held and not population else set()
            for name, n in drawn | plan.all_rows:
                ids[(name, n) in plan.all_rows].add((plan.problems[name].id, n))
        return {**self.config, "files": sorted(ids[True] | ids[False]), "subsets": sorted(ids[False])}

    @staticmethod
    def has_numbers(frame) -> bool:
        """Whether any cell gave one."""
        return bool(schema.has_number(frame).any())

    def is_drawn_at_all(self) -> bool:
        """Whether there is a picture of this result, of whatever records."""
        return (self.folder / f"{self.stem}.png").is_file()

    def stamp(self, frame) -> str:
        """Identifies what the page shows: the cells and their numbers, to eight digits, the configuration, and the version of
        the package. The same numbers drawn at another time or on another machine have the same stamp."""
        whose = ["experiment"] if self.others else []
        rows = reader.digest_of(frame, ["key", "estimand", "status", "kind", *whose], NUMBERS)
        content = [rows, self.page_config(), self.plan.points, VERSION]
        return digest(json.dumps(content, sort_keys=True, default=str))

    def page_config(self) -> dict:
        """The configuration without what says where and on how many processes it runs, and without an arena where it is none."""
        silent = {*variations.OPERATIONAL, *(["arena"] if self.config["arena"] is None else [])} - {"experiment"}
        return {k: v for k, v in self.config.items() if k not in silent}

    def is_drawn(self, frame) -> bool:
        """Whether figure, table and page are there, and the page, which is written last, has the stamp of these records and is
        no older than the code that draws."""
        page = self.folder / f"{self.stem}.html"
        if not all((self.folder / f"{self.stem}{end}").is_file() for end in (".html", ".png", ".csv")):
            return False
        sources = (p for folder in (PACKAGE, EXPERIMENTS) for p in folder.rglob("*") if p.suffix in SOURCES)
        newest = max(p.stat().st_mtime_ns for p in sources)
        return page.stat().st_mtime_ns >= newest and f'content="{self.stamp(frame)}"' in page.read_text()[:2000]

    def _shown(self, frame):
        chosen = [str(name) for name in as_list(self.config["estimand"])]
        if not chosen:
            return frame
        have = set(frame["estimand"].dropna())
        absent = [name for name in chosen if name not in have]
        if have and absent:
            raise BadInputError(
                f"estimand is {', '.join(absent)}, which no cell of this run gave; they gave {', '.join(sorted(have))}."
            )
        return frame[frame["estimand"].isin(chosen) | frame["estimand"].isna()]


def load_item(paper: str, item: str):
    """The module experiments/<paper>/<item>.py: render(records, config) -> Figure and reproduced(records, config) -> frame; where
    it is a table of its own kind also table(records, config), for page and LaTeX, and summary(records, config), for the CSV."""
    try:
        return importlib.import_module(f"experiments.{paper}.{item}")
    except ModuleNotFoundError as error:
        if error.name not in ("experiments", f"experiments.{paper}", f"experiments.{paper}.{item}"):
            raise
        if hidden := hidden_experiments(f"experiments.{paper}.{item}"):
            raise BadInputError(hidden) from error
        raise BadInputError(
            f"there is no {item!r} for paper {paper!r}; an item is a module experiments/<paper>/<item>.py."
        ) from error
