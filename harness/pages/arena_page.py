"""Page of the arena: which estimator to use at each n, with figures and leaderboards."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from harness.common.names import NOTIONS
from harness.common.writing import whole_file, without_formulas
from harness.configure.settings import Settings
from harness.evaluation import arena, arena_content, arena_memory, arena_pairs
from harness.figures import arena_plot, figure_files, interval_plot
from harness.pages import arena_answers, arena_bounds, arena_tables, problem_pictures
from harness.pages.arena_answers import ABOUT
from harness.pages.templating import environment
from harness.plan.components import Component
from harness.problems.base import ProblemSpec
from harness.records.recorded import Recorded

TREND = "errors_"  # beginning of the names of the figures that a section on a notion shows


def save(experiment: Recorded, frame: pd.DataFrame) -> list[Path]:
    """Write the page of the arena with its figures and tables, and return the paths of all files.

    The files are <stem>.png (regret against cost) and further figures; <stem>.csv (the
    leaderboard); the tables <stem>_recommendations.csv, <stem>_bounds.csv,
    <stem>_interval_table.csv, <stem>_pairs.csv and <stem>_settings.parquet; a picture of each
    problem; and the page <stem>.html, which is last in the list.
    """
    # Evaluate the records.
    settings = experiment.shown_settings()
    families = arena.read_families(settings.arena)
    development = arena.read_development(settings.arena)
    problems = _problems(experiment)
    specs = {name: ProblemSpec.of(problem.object) for name, problem in problems.items()}
    classes = {name: spec.classes for name, spec in specs.items()}
    streams = {name: spec.stream for name, spec in specs.items() if spec.stream}
    content = arena_content.content(frame, families, classes, development, streams)
    measured = arena_memory.read(experiment.folder)

    # Write figures and tables.
    stem = experiment.folder / experiment.stem
    plain = replace(settings.figure, size=None, format=["png", "svg"])
    files: list[Path] = []
    pictures: dict[str, dict[str, str]] = {}
    for name, title, figure in _pictures(content, frame, families, settings):
        path = stem if name == "cost" else stem.with_name(f"{stem.name}_{name}")
        caption = str(figure.get_label())
        png, svg = figure_files.save(figure, path, replace(settings, figure=plain))
        files += [png, svg]
        uri = f"data:image/png;base64,{base64.b64encode(png.read_bytes()).decode()}"
        pictures[name] = {
            "title": title, "caption": caption, "uri": uri, "name": svg.name, "id": name
        }  # fmt: skip
    tables = {
        ".csv": content.board,
        "_recommendations.csv": arena_answers.table(content.recommendations),
        "_bounds.csv": content.bounds,
        "_interval_table.csv": content.intervals,
    }
    if content.models is not None:
        tables["_pairs.csv"] = arena_pairs.shares(content.models)
    for end, table in tables.items():
        files.append(stem.with_name(f"{stem.name}{end}"))
        with whole_file(files[-1]) as temporary:
            without_formulas(table).to_csv(temporary, index=False, float_format="%.5g")
    files.append(stem.with_name(f"{stem.name}_settings.parquet"))
    with whole_file(files[-1]) as temporary:
        every = content.every.drop(columns=["values", "errors", "lost"])
        every = arena_memory.add_peaks(every, measured)
        every.to_parquet(temporary, index=False, compression="zstd")

    # Draw the pictures of the problems.
    shown = {*content.settings["problem"], *(streams if content.models is not None else ())}
    keys = {name: problem.key for name, problem in problems.items() if name in shown}
    cards = problem_pictures.save(stem.with_name("cards"), keys)
    links = {name: f"{path.parent.name}/{path.name}" for name, path in cards.items()}

    # Write the page.
    present = set(content.settings["family"])
    shown_families = [name for name in (*families, arena.OTHER) if name in present]
    text = environment().get_template("arena.html.j2").render(
        title=experiment.title, stamp=experiment.stamp(frame), differs=experiment.differs,
        sentence=experiment.sentence, heads=arena_tables.HEADS, rule=arena.RULE,
        answers_by_notion=arena_answers.sections(content.recommendations), about=ABOUT,
        pictures={name.removeprefix(TREND): shown for name, shown in pictures.items()
                  if name.startswith(TREND)},
        others=[shown for name, shown in pictures.items() if not name.startswith(TREND)],
        boards=arena_tables.boards(content, measured), memory=arena_memory.MEANING,
        own=arena_tables.own_rows(content, development), families=len(shown_families),
        development=[name for name in shown_families if name in development],
        test_half=[name for name in shown_families if name not in development],
        every_problem=arena_tables.problem_rows(content, families, links),
        pairs=arena_tables.pairs_section(content.models, links),
        bounds=arena_bounds.bound_sections(content.bounds), bound_heads=arena_bounds.BOUND_HEADS,
        intervals=arena_bounds.interval_sections(content.intervals),
        interval_heads=arena_bounds.INTERVAL_HEADS,
        bound_meaning=arena_bounds.BOUND_MEANING, interval_meaning=arena_bounds.INTERVAL_MEANING,
        methods=arena_tables.method_tables(frame, families, settings),
        problems=content.settings["problem"].nunique(), cells=frame["key"].nunique(),
        estimators=content.settings["estimator"].nunique(),
        sizes=sorted(content.settings["n"].unique()),
        unranked=arena_tables.unranked(content), links=[path.name for path in files],
    )  # fmt: skip
    page = stem.with_name(f"{stem.name}.html")
    with whole_file(page) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return [*files, *cards.values(), page]


def _problems(experiment: Recorded) -> dict[str, Component]:
    """Return {id: problem} for all problems of the experiments on the page."""
    plans = (member.plan for member in experiment.family)
    return {problem.id: problem for plan in plans for problem in plan.problems.values()}


def _pictures(
    content: arena_content.Content, frame: pd.DataFrame, families: Any, settings: Settings
) -> Iterator[tuple[str, str, Figure]]:
    """Yield (name, title, figure) for every figure of the page that is not empty."""
    titles = {"l1": "L1", "l2_squared": "squared error"}
    yield "cost", "Regret against CPU time", arena_plot.cost(content.settings, content.board)
    for notion, words in NOTIONS.items():
        if content.recommendations["notion"].eq(notion).any():
            drawn = arena_plot.errors(content.trends, content.recommendations, notion)
            yield f"{TREND}{notion}", f"Typical error by n: {words}", drawn
    if content.models is not None:
        shares = arena_pairs.shares(content.models)
        for estimand, title in titles.items():
            drawn = arena_plot.model_pairs(shares, estimand)
            words = f"Which of two models is better calibrated: {title}"
            yield f"pairs_{estimand}", words, drawn
    apart = arena_tables.apart_records(frame)
    if len(apart):
        drawn = interval_plot.coverage_width(apart, families, settings)
        yield "intervals", "Intervals: coverage against width", drawn


def table(experiment: Recorded, frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table for the terminal: the five best estimators of every notion and estimand."""
    problems = _problems(experiment)
    classes = {name: ProblemSpec.of(problem.object).classes for name, problem in problems.items()}
    families = arena.read_families(experiment.settings.arena)
    settings = arena.settings(arena_content.ranked_rows(frame), families, classes)
    board = arena.leaderboard(settings[settings["estimand"].isin(arena.MAIN)])
    top = board[board["rank"].le(5)]
    regrets = [
        f"{mean:.2f} (worst {worst:.2f})" for mean, worst in zip(top["regret"], top["worst"])
    ]
    columns = {"rank": top["rank"].astype(int), "estimator": top["estimator"]}
    table = pd.DataFrame({**columns, "mean regret": regrets})
    table.index = pd.MultiIndex.from_frame(top[["notion", "estimand"]])
    table.columns.name = "smallest mean regret"
    return table
