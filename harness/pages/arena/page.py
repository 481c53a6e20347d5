"""Page of the arena: which estimator to use at each n, with figures and leaderboards."""

from __future__ import annotations

import base64
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from harness.common.names import NOTIONS
from harness.common.writing import whole_file, without_formulas
from harness.configure.identity import Identity
from harness.configure.settings import Settings
from harness.evaluation import arena
from harness.evaluation.arena import blocks as arena_blocks
from harness.evaluation.arena import content as arena_content
from harness.evaluation.arena import limits as arena_limits
from harness.evaluation.arena import memory as arena_memory
from harness.evaluation.arena import pairs as arena_pairs
from harness.figures import arena_plot, figure_files, interval_plot
from harness.pages.arena import answers as arena_answers
from harness.pages.arena import bounds as arena_bounds
from harness.pages.arena import leaderboard
from harness.pages.arena import tables as arena_tables
from harness.pages.arena.answers import ABOUT
from harness.pages.templating import environment
from harness.plan.plan import Plan, problems_by_id
from harness.problems.base import ProblemSpec

TREND = "errors_"  # beginning of the names of the figures that a section on a notion shows


def save(
    identity: Identity,
    settings: Settings,
    plans: Iterable[Plan],
    frame: pd.DataFrame,
    cards: Mapping[str, Path],
) -> list[Path]:
    """Write the page of the arena with its figures and tables, and return the paths of all files.

    The files are <stem>.png (regret against cost) and further figures; <stem>.csv (the
    leaderboard); the tables <stem>_recommendations.csv, <stem>_bounds.csv,
    <stem>_interval_table.csv, <stem>_pairs.csv and <stem>_settings.parquet; README.md, unless the
    experiment is a variation; and the page <stem>.html, which is last in the list.

    Parameters
    ----------
    identity : Identity
        Names of the arena's run, and the folder of its results.
    settings : Settings
        Settings of the run.
    plans : iterable of Plan
        Plans of all experiments on the page.
    frame : DataFrame
        Records of these experiments.
    cards : mapping
        {problem id: path of its picture}. The pictures are in a folder beside the page.
    """
    # Evaluate the records.
    families = arena.read_families(settings.arena)
    development = arena.read_development(settings.arena)
    problems = problems_by_id(plans)
    specs = {name: ProblemSpec.of(problem.object) for name, problem in problems.items()}
    classes = {name: spec.classes for name, spec in specs.items()}
    streams = {name: spec.stream for name, spec in specs.items() if spec.stream}
    limits = arena_limits.read(identity.folder)
    content = arena_content.content(frame, families, classes, development, streams, limits)
    measured = arena_memory.read(identity.folder)
    absent = arena_blocks.states(content.every, arena_blocks.read(identity.folder))

    # Write figures and tables.
    stem = identity.folder / identity.stem
    plain = replace(settings, figure=replace(settings.figure, size=None, format=["png", "svg"]))
    tables = {
        ".csv": content.board,
        "_recommendations.csv": arena_answers.table(content.recommendations),
        "_bounds.csv": content.bounds,
        "_interval_table.csv": content.intervals,
    }
    if content.sensitivity is not None:
        tables["_sensitivity.csv"] = content.sensitivity
    if content.simple is not None:
        tables["_simple_rules.csv"] = arena_answers.simple_table(content.simple)
    if len(limits):
        tables["_limits.csv"] = arena_limits.compare(content.recommendations, content.trends)
    if content.models is not None:
        tables["_pairs.csv"] = arena_pairs.shares(content.models)
    every_setting = stem.with_name(f"{stem.name}_settings.parquet")
    with whole_file(every_setting) as temporary:
        every = content.every.drop(columns=["values", "errors", "lost"])
        every = arena_memory.add_peaks(every, measured)
        every.to_parquet(temporary, index=False, compression="zstd")

    links = {name: f"{path.parent.name}/{path.name}" for name, path in cards.items()}

    # Write the page, and for a Git repository the same in Markdown.
    values = page_values(content, frame, families, development, links) | dict(
        title=identity.title, differs=identity.differs, sentence=identity.sentence,
        leaderboard=leaderboard.section(content, absent=absent),
        absent=arena_tables.absent_rows(absent), block_limit=arena_blocks.LIMIT,
        absent_minutes=arena_blocks.count_minutes(absent),
        sensitivity=arena_tables.sensitivity_rows(content.sensitivity),
        answers_by_notion=arena_answers.sections(content.recommendations, content.simple),
        about=ABOUT,
        memory=arena_tables.memory_sections(content, measured), memory_meaning=arena_memory.MEANING,
        own=arena_tables.own_rows(content, development),
        pairs=arena_tables.pairs_section(content.models, links),
        methods=arena_tables.method_tables(frame, families, settings),
    )  # fmt: skip
    pages = {} if identity.is_variation else {stem.with_name("README.md"): "arena.md.j2"}
    pages[stem.with_name(f"{stem.name}.html")] = "arena.html.j2"
    figures = drawings(content, frame, families, settings)
    files = write(stem, figures, tables, pages, values, plain, [every_setting])
    return [*files, *pages]


def write(
    stem: Path,
    figures: Iterable[tuple[str, str, Figure]],
    tables: Mapping[str, pd.DataFrame],
    pages: Mapping[Path, str],
    values: Mapping[str, Any],
    settings: Settings,
    others: Sequence[Path] = (),
) -> list[Path]:
    """Write figures, tables and the pages that show them. Return all paths but those of the pages.

    Parameters
    ----------
    stem : Path
        Folder and name of the files, without ending.
    figures : iterable
        Figures as (name, title, figure). The first one is <stem>.png.
    tables : mapping
        {end of the file name: table}, for CSV files.
    pages : mapping
        {path of a page: its template}.
    values : mapping
        Values of the templates. The figures and the names of the files are added.
    settings : Settings
        Settings of the figures.
    others : sequence of Path
        Files that were written before. The pages link to them too.
    """
    files, pictures = _save_pictures(stem, figures, settings)
    files += [*_save_tables(stem, tables), *others]
    trends = {name.removeprefix(TREND): shown for name, shown in pictures.items()
              if name.startswith(TREND)}  # fmt: skip
    shown = {
        "pictures": trends, "links": [path.name for path in files],
        "others": [picture for name, picture in pictures.items() if not name.startswith(TREND)],
    }  # fmt: skip
    for path, template in pages.items():
        with whole_file(path) as temporary:
            text = environment().get_template(template).render(**values, **shown)
            temporary.write_text(text, encoding="utf-8")
    return files


def _save_pictures(
    stem: Path, drawings: Iterable[tuple[str, str, Figure]], settings: Settings
) -> tuple[list[Path], dict[str, dict[str, str]]]:
    """Write figures as PNG, SVG and more, the first one to <stem>, others to <stem>_<name>.

    `drawings` contains (name, title, figure). Return the paths, and {name: what a template needs}.
    """
    files: list[Path] = []
    pictures: dict[str, dict[str, str]] = {}
    for name, title, figure in drawings:
        path = stem.with_name(f"{stem.name}_{name}") if files else stem
        caption = str(figure.get_label())
        paths = figure_files.save(figure, path, settings)
        files += paths
        png, svg = paths[0], paths[-1]
        uri = f"data:image/png;base64,{base64.b64encode(png.read_bytes()).decode()}"
        pictures[name] = {
            "title": title, "caption": caption, "uri": uri, "name": svg.name, "png": png.name,
            "id": name,
        }  # fmt: skip
    return files, pictures


def _save_tables(stem: Path, tables: Mapping[str, pd.DataFrame]) -> list[Path]:
    """Write {end of the file name: table} as CSV, and return the paths."""
    paths = []
    for end, table in tables.items():
        paths.append(stem.with_name(f"{stem.name}{end}"))
        with whole_file(paths[-1]) as temporary:
            without_formulas(table).to_csv(temporary, index=False, float_format="%.5g")
    return paths


def page_values(
    content: arena_content.Content,
    frame: pd.DataFrame,
    families: Mapping[str, Sequence[str]],
    development: Collection[str],
    cards: Mapping[str, str],
) -> dict[str, Any]:
    """Return the values of those sections of the template that the arena and a comparison share.

    `frame` holds the records, and `cards` is {problem: link to its picture}.
    """
    present = set(content.settings["family"])
    shown = [name for name in (*families, arena.OTHER) if name in present]
    return dict(
        rule=arena.RULE, families=len(shown),
        development=[name for name in shown if name in development],
        test_half=[name for name in shown if name not in development],
        every_problem=arena_tables.problem_rows(content, families, cards),
        bounds=arena_bounds.bound_sections(content.bounds), bound_heads=arena_bounds.BOUND_HEADS,
        intervals=arena_bounds.interval_sections(content.intervals),
        interval_heads=arena_bounds.INTERVAL_HEADS,
        bound_meaning=arena_bounds.BOUND_MEANING, interval_meaning=arena_bounds.INTERVAL_MEANING,
        problems=content.settings["problem"].nunique(), cells=frame["key"].nunique(),
        estimators=arena.count_estimators(content.settings["estimator"]),
        sizes=sorted(content.settings["n"].unique()), unranked=arena_tables.unranked(content),
    )  # fmt: skip


def drawings(
    content: arena_content.Content,
    frame: pd.DataFrame,
    families: Any,
    settings: Settings,
    own: str | None = None,
) -> Iterator[tuple[str, str, Figure]]:
    """Yield (name, title, figure) for every figure of the page that is not empty.

    `own` is the id of a user's estimator, which the figures highlight.
    """
    titles = {"l1": "L1", "l2_squared": "squared error"}
    yield "cost", "Regret against CPU time", arena_plot.cost(content.settings, content.board, own)
    for notion, words in NOTIONS.items():
        if content.recommendations["notion"].eq(notion).any():
            drawn = arena_plot.errors(content.trends, content.recommendations, notion, own)
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


def table(config: Settings, plans: Iterable[Plan], frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table for the terminal: the five best estimators of every notion and estimand."""
    problems = problems_by_id(plans)
    classes = {name: ProblemSpec.of(problem.object).classes for name, problem in problems.items()}
    families = arena.read_families(config.arena)
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
