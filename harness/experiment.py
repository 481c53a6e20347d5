"""One configured run, from overrides to files: plan, compute, records, figure, tables, reproduction, page."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import dataclass
from pathlib import Path

from harness import cells, records, runner
from harness.config import EXPERIMENTS, PACKAGE, compose, out_folder
from harness.errors import BadInput
from harness.seeds import digest


@dataclass(frozen=True)
class Experiment:
    """A configuration with its plan. `stem` names the result files, `folder` is where they go."""

    config: dict
    plan: cells.Plan
    out: Path

    @classmethod
    def of(cls, overrides: list[str]) -> Experiment:
        """Compose overrides (as on the command line) and plan."""
        return cls.of_config(compose(list(overrides)))

    @classmethod
    def of_config(cls, config: dict) -> Experiment:
        """Plan a composed configuration."""
        return cls(config, cells.plan(config), out_folder(config["out"]))

    @property
    def name(self) -> str:
        """The experiment's name, `adhoc` for a run without one."""
        return self.config["name"] or "adhoc"

    @property
    def paper(self) -> str | None:
        """The paper that the experiment reproduces, None for others."""
        return self.config["paper"]

    @property
    def stem(self) -> str:
        """File name of the results: the experiment's name without the paper's."""
        return self.name.removeprefix(f"{self.paper}_") if self.paper else self.name

    @property
    def folder(self) -> Path:
        """Where the results go: <out>/<paper>, or <out>/<name>."""
        return self.out / (self.paper or self.name)

    def compute(self, quiet: bool = False) -> dict:
        """Run what no record holds; returns the counts of `runner.execute`."""
        return runner.execute(self.plan, quiet)

    def records(self):
        """The records of this plan's cells, best attempt each, with truths (computed and stored if new)."""
        keys = [c.key for c in self.plan.cells]
        frame = records.load_records(self.out, keys) if records.parts(self.out) else records.empty_frame()
        outdated = frame["status"].eq("skipped") & ~frame["key"].isin(self.plan.skips)  # what was missing then is there now
        frame = frame[~outdated].reset_index(drop=True)
        seen = frame[frame["estimand"].notna()].drop_duplicates(["problem", "notion", "estimand"])
        for name, problem in self.plan.problems.items():
            mine = seen[seen["problem"] == name]
            wanted = list(zip(mine["notion"], mine["estimand"]))
            reference = (self.config["ranking"] or {}).get("reference")
            if reference and reference != "full":
                wanted += [(notion, reference) for notion in mine["notion"].unique()]
            records.store_truths(self.out, problem, wanted)
        frame = records.with_truth(frame, self.out)
        frame.insert(1, "experiment", self.name)
        return frame

    def missing(self, frame) -> int:
        """Planned cells that have no finished record."""
        done = set(frame.loc[frame["status"].isin(records.FINISHED), "key"])
        return sum(cell.key not in done for cell in self.plan.cells)

    def render(self, frame) -> tuple[list[Path], dict[str, int]]:
        """Draw and write everything people look at; returns the files, the page last, and the number of rows per verdict."""
        from harness import plots, rankings, report, reproduction, tables

        if not len(frame):
            raise BadInput(
                f"no cell of {self.name} is recorded in {self.out}; nothing is drawn and nothing overwritten: run it first."
            )
        item = load_item(self.paper, self.config["item"]) if self.config["item"] else None
        shown = self._shown(frame)
        view = item or (rankings if self.config["ranking"] else None)
        figure = view.render(shown, self.config) if view else plots.overview(shown, self.config)
        files = plots.save(figure, self.folder / self.stem, self.config)
        summary = getattr(view, "summary", tables.summary)(shown, self.config)
        wide = getattr(view, "table", tables.wide)(shown, self.config)
        files += tables.save(summary, wide, self.folder / self.stem)
        compared = None
        if item:
            computed = {tables.label(self.config, "estimator", e) for e in self.plan.estimators} | {reproduction.TRUTH}
            ours = item.reproduced(frame, self.config)
            asked = (self.config["compare"], self.config["reasons"], computed, self.config["paired"])
            compared = reproduction.compare(ours, self.paper, *asked)
            files += reproduction.save(compared, self.name, self.folder)
        files.append(report.save(self, frame, files, wide, compared, self.folder / f"{self.stem}.html"))
        return files, reproduction.counts(compared) if item else {}

    def fingerprint(self, frame) -> str:
        """Identifies what the result files are made of: the records, the configuration and the code that draws."""
        sources = (
            p for folder in (PACKAGE, EXPERIMENTS) for p in folder.rglob("*") if p.suffix in (".py", ".j2", ".csv", ".parquet")
        )
        code = max(p.stat().st_mtime_ns for p in sources)
        rows = [len(frame), float(frame["written"].sum()), float(frame["written"].max()), float(frame["truth"].sum())]
        return digest(json.dumps([rows, self.config, code], sort_keys=True, default=str))

    def is_drawn(self, frame) -> bool:
        """Whether figure, table and page are there and the page, which is written last, is of this fingerprint."""
        page = self.folder / f"{self.stem}.html"
        there = all((self.folder / f"{self.stem}{end}").is_file() for end in (".html", ".png", ".csv"))
        return there and f'content="{self.fingerprint(frame)}"' in page.read_text()[:2000]

    def _shown(self, frame):
        chosen = [str(name) for name in cells.as_list(self.config["estimand"])]
        if not chosen:
            return frame
        have = set(frame["estimand"].dropna())
        absent = [name for name in chosen if name not in have]
        if have and absent:
            raise BadInput(
                f"estimand is {', '.join(absent)}, which no cell of this run gave; they gave {', '.join(sorted(have))}."
            )
        return frame[frame["estimand"].isin(chosen) | frame["estimand"].isna()]


def load_item(paper: str, item: str):
    """The module experiments/<paper>/<item>.py: render(records, config) -> Figure and reproduced(records, config) -> frame; where
    it is a table of its own kind also table(records, config), for page and LaTeX, and summary(records, config), for the CSV."""
    path = EXPERIMENTS / paper / f"{item}.py"
    if not path.is_file():
        raise BadInput(f"there is no {path.name} for paper {paper!r}; an item is a file experiments/<paper>/<item>.py.")
    spec = importlib.util.spec_from_file_location(f"calharness_{paper}_{item}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
