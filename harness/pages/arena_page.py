"""The page of the arena: which estimator to trust at which n and k, the pictures, the leaderboards, and what they rest on."""

from __future__ import annotations

import base64
from dataclasses import replace
from pathlib import Path

import pandas as pd

from harness.common.version import VERSION
from harness.common.writing import whole_file
from harness.evaluation import (
    arena,
    arena_content,
    arena_memory,
    arena_own,
    arena_pairs,
    arena_seeds,
)
from harness.figures import arena_plot, figure_files, interval_plot
from harness.pages import arena_pairs_page, arena_tables, leaderboard_rows, problem_cards
from harness.pages.templating import environment
from harness.problems.base import ProblemSpec
from harness.records import truths


def save(experiment, frame: pd.DataFrame) -> list[Path]:
    """Draw and write everything: <stem>.png (regret against cost) and the other pictures, <stem>.csv (the leaderboard) and
    <stem>_families.csv, <stem>_answers.csv, <stem>_settings.parquet, and last <stem>.html. Returns the files."""
    settings = experiment.shown_settings()
    families = arena.families_of(settings.arena)
    problems = {
        name: one
        for plan in (e.plan for e in experiment.family)
        for name, one in plan.problems.items()
    }
    classes = {one.id: ProblemSpec.of(one.object).classes for one in problems.values()}
    streams = {
        one.id: stream for one in problems.values() if (stream := ProblemSpec.of(one.object).stream)
    }
    found = arena_content.content(frame, families, classes, streams=streams)
    stem = experiment.folder / experiment.stem
    files, pictures = [], []
    for name, title, figure in _pictures(found, frame, families, settings):
        path = stem if name == "cost" else stem.with_name(f"{stem.name}_{name}")
        caption = figure.get_label()
        drawn = figure_files.save(
            figure,
            path,
            replace(settings, figure=replace(settings.figure, size=None, format=["png", "svg"])),
        )
        files += drawn
        pictures.append(
            {
                "title": title,
                "caption": caption,
                "uri": _uri(drawn[0]),
                "name": drawn[-1].name,
                "id": name,
            }
        )
    tables = [
        (found.board, ""),
        (found.by_family, "_families"),
        (arena_tables.answers_table(found), "_answers"),
    ]
    if found.models is not None:
        tables.append((arena_pairs.shares(found.models), "_pairs"))
    for table, name in tables:
        path = stem.with_name(f"{stem.name}{name}.csv")
        with whole_file(path) as temporary:
            table.to_csv(temporary, index=False, float_format="%.5g")
        files.append(path)
    measured = arena_memory.read(experiment.folder)
    path = stem.with_name(f"{stem.name}_settings.parquet")
    with whole_file(path) as temporary:
        plain = arena_memory.joined(
            found.every.drop(columns=["values", "errors", "lost"]), measured
        )
        plain.to_parquet(temporary, index=False, compression="zstd")
    files.append(path)
    development = arena.development_of(settings.arena)
    shown = {*found.settings["problem"], *(streams if found.models is not None else ())}
    cards = problem_cards.save(
        stem.with_name("cards"),
        {one.id: one.key for one in problems.values() if one.id in shown},
        {**arena.family_of(families), **dict.fromkeys(streams, arena_pairs.FAMILY)},
        {one.id: card_truths(experiment.out, one, one.id in streams) for one in problems.values()},
    )
    maps = arena_tables.fitted_maps(
        experiment.out, {one.id: one.key for one in problems.values()}, families
    )
    page = stem.with_name(f"{stem.name}.html")
    text = environment().get_template("arena.html.j2").render(
        title=experiment.title,
        stamp=experiment.stamp(frame),
        version=VERSION,
        answers=arena_tables.answers(found),
        all_answers=arena_tables.all_answers(found),
        pictures=pictures,
        boards=arena_tables.boards(found, measured),
        heads=leaderboard_rows.HEADS,
        memory=arena_memory.WORDS,
        seeds=arena_seeds.read(experiment.folder),
        by_family=arena_tables.families_table(found),
        fitted=arena_tables.fitted_tables(frame, families, classes, maps) if maps else None,
        maps=maps,
        proves=arena_tables.PROVES,
        own=arena_tables.own_tables(found, frame, families, development),
        development=development,
        test_half=[name for name in families if name not in development],
        target=(arena_own.TARGET_MEAN, arena_own.TARGET_WORST),
        every_problem=arena_tables.problem_rows(
            found, families, {name: f"{path.parent.name}/{path.name}" for name, path in cards.items()}
        ),
        pairs=arena_pairs_page.section(found.models, cards),
        rule=arena.RULE,
        statements=found.statements,
        intervals=arena_tables.interval_tables(frame, families, settings),
        problems=found.settings["problem"].nunique(),
        estimators=found.settings["estimator"].nunique(),
        cells=frame["key"].nunique(),
        sizes=sorted(found.settings["n"].unique()),
        kinds={name: colour for name, (_, colour) in arena_plot.KINDS.items()},
        unranked=arena_tables.unranked(found),
        links=[path.name for path in files],
        differs=experiment.differs,
        sentence=experiment.sentence,
    )  # fmt: skip
    with whole_file(page) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return [*files, *cards.values(), page]


def _pictures(found, frame, families, settings):
    """(name, title, figure) of every picture that has something to show."""
    yield "cost", "What a good estimate costs", arena_plot.cost(found.settings, found.board)
    for estimand, title in (("l1", "L1"), ("l2_squared", "squared error")):
        for notions, name in ((("binary", "top_label"), "label"), (("canonical",), "canonical")):
            of = found.cells["estimand"].eq(estimand) & found.cells["notion"].isin(notions)
            if of.any():
                words = "binary and top label" if name == "label" else "canonical"
                yield (
                    f"use_{estimand}_{name}",
                    f"Which to use: {title}, {words}",
                    arena_plot.to_use(found.cells, estimand, notions),
                )
    for notion, words in arena_plot.NOTIONS.items():
        if found.board["notion"].eq(notion).any():
            yield (
                f"families_{notion}",
                f"Regret by family: {words}",
                arena_plot.matrix(found.by_family, found.board, notion),
            )
    for estimand, title in (("l1", "L1"), ("l2_squared", "squared error")):
        if found.pairs["by"].eq(estimand).any():
            yield (
                f"order_{estimand}",
                f"Which puts problems in order: {title}",
                arena_plot.ordering(found.pairs, estimand),
            )
    if found.models is not None:
        for estimand, title in (("l1", "L1"), ("l2_squared", "squared error")):
            drawn = arena_plot.model_pairs(arena_pairs.shares(found.models), estimand)
            yield f"pairs_{estimand}", f"Which of two models is better calibrated: {title}", drawn
    apart = (
        frame[frame["experiment"].isin(arena_content.APART)]
        if "experiment" in frame
        else frame.iloc[:0]
    )
    if len(apart):
        yield (
            "intervals",
            "Intervals: coverage against width",
            interval_plot.coverage_width(apart, families, settings),
        )
        yield (
            "power",
            "Tests: how often they reject",
            interval_plot.power(apart, families, settings),
        )


def table(experiment, frame) -> pd.DataFrame:
    """What the terminal shows: the five with the least mean regret of every notion and estimand."""
    problems = {
        name: one
        for plan in (e.plan for e in experiment.family)
        for name, one in plan.problems.items()
    }
    classes = {one.id: ProblemSpec.of(one.object).classes for one in problems.values()}
    rows = arena_content.ranked_rows(frame)
    found = arena.settings(rows, arena.families_of(experiment.settings.arena), classes)
    board = arena.leaderboard(found[found["estimand"].isin(arena.MAIN)], resamples=0)
    top = board[board["rank"].le(5)]
    said = [
        f"{regret:.2f} (worst {worst:.2f})" for regret, worst in zip(top["regret"], top["worst"])
    ]
    table = pd.DataFrame(
        {"rank": top["rank"].astype(int), "estimator": top["estimator"], "mean regret": said}
    )
    table.index = pd.MultiIndex.from_frame(top[["notion", "estimand"]])
    table.columns.name = "the least mean regret"
    return table


def card_truths(out: Path, problem, stored_alone: bool) -> dict:
    """The truths that a card shows without computing them; with `stored_alone` no others, as classwise ones take long."""
    held = truths.read_truths(out, problem.key)
    notions = ProblemSpec.of(problem.object).notions if stored_alone else ()
    return {
        **{f"{notion}|{name}": None for notion in notions for name in problem_cards.ESTIMANDS},
        **held,
    }


def _uri(path: Path) -> str:
    return f"data:image/png;base64,{base64.b64encode(path.read_bytes()).decode()}"
