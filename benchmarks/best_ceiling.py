"""Ask how good a network like that of `best` would be that knew the test families of the arena.

    python benchmarks/best_ceiling.py FOLDER [--jobs 2]        FOLDER of tools/train_best.py

`best` has seen no test family. Here a network of the same form, with the same ingredients, is
trained on half of the simulated scalar settings and, with the same total weight, on samples of the
test problems themselves. It is judged on other samples of these problems. So it is no estimator
that anybody could use. It shows what these ingredients allow, as far as one training finds it.

The rivals, the test over families and Holm's correction are those of the arena's recommendations.
The RMSEs of the rivals are the stored ones. Simulations of scalars must be in FOLDER. It takes
about five CPU minutes.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

import harness
from harness.common.seeds import data_rng, digest
from harness.common.threads import one_thread
from harness.configure.options import option
from harness.estimators import learned
from harness.estimators.ingredients import compute_ingredients
from harness.evaluation import arena
from harness.evaluation.arena.better_or_worse import holm, statement, verdicts
from harness.evaluation.arena.rules import floors
from harness.math.folds import assign_folds
from harness.pages.arena import data as arena_data

sys.path.insert(0, str(Path(__file__).parent.parent / "tools"))
import train_best

SEED = 12  # of the samples, which the arena does not use
SAMPLES = {50: 48, 100: 48, 200: 48, 1_000: 48, 5_000: 24, 20_000: 12}  # to train on, by n
JUDGED = {50: 120, 100: 120, 200: 80, 1_000: 40, 5_000: 40, 20_000: 40}  # other samples, by n
SIMULATED = 10_000  # scalar settings
NOTIONS = ["binary", "top_label"]
PLACE = ["notion", "estimand", "n"]


def samples(problem_id: str, notion: str, n: int) -> list[Any]:
    """Return the ingredients of the samples of a problem: those to train on, then the others."""
    problem, drawn = harness.load_problem(problem_id), []
    with one_thread():
        for rep in range(SAMPLES[n] + JUDGED[n]):
            rng = data_rng(SEED, digest(f"{problem_id}|{notion}|{n}"), rep)
            p, y = harness.reduce(*problem.sample(n, rng), notion)
            drawn.append(compute_ingredients(p, y, assign_folds(y, 5, False, rng), rng))
    return drawn


def arrays(places: pd.DataFrame, drawn: list[list[Any]]) -> dict[str, np.ndarray]:
    """Return the samples to train on in the form of `train_best.simulate_rows`.

    Three samples of a problem are a setting, as in the simulation.
    """
    rows: dict[str, list[Any]] = {}
    for i, (place, ingredients) in enumerate(zip(places.itertuples(), drawn)):
        for rep, g in enumerate(ingredients[: SAMPLES[place.n]]):
            row = {"features": g.features, "n": place.n, "setting": -1 - 100 * i - rep // 3}
            row |= {"shape": "test", "rarity": 1.0, "events": g.events, "classes": 2}
            for name in arena.MAIN:
                row[f"truth_{name}"] = getattr(place, name)
                row[f"unit_{name}"], row[f"lowest_{name}"] = g.units[name], g.lowest[name]
                row[f"candidates_{name}"] = g.candidates[name]
            for name, x in row.items():
                rows.setdefault(name, []).append(x)
    return {name: np.array(x) for name, x in rows.items()}


def trained(
    simulated: dict[str, np.ndarray], of_tests: dict[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Train an ensemble in which the settings `of_tests` have half of the weight."""
    both = {name: np.concatenate([simulated[name], x]) for name, x in of_tests.items()}
    rows = train_best.Rows.of(both, train_best.PRIORS["stated"]["scalar"], 0)
    is_own = np.bincount(rows.group, both["setting"] < 0) > 0
    weight = np.where(is_own, 0.0, rows.weight)
    weight[is_own] = weight.sum() / is_own.sum()
    part = np.where(is_own, "weights", rows.part)
    rows = replace(rows, weight=weight / weight.mean(), part=part)
    return train_best.train(rows, train_best.WIDTH_DECAY["scalar"])


def judged(
    places: pd.DataFrame, drawn: list[list[Any]], net: dict[str, np.ndarray]
) -> pd.DataFrame:
    """Return the RMSE of the network for each place and estimand, from the samples to judge by."""
    networks = learned.split_networks(net)
    rows = []
    for place, ingredients in zip(places.itertuples(), drawn):
        others = ingredients[SAMPLES[place.n] :]
        x = (np.array([g.features for g in others]) - net["centre"]) / net["spread"]
        hidden = [learned.hidden_layer(weights, x) for weights in networks]
        for name in arena.MAIN:
            candidates, unit, lowest = (
                np.array([getattr(g, part)[name] for g in others])
                for part in ("candidates", "units", "lowest")
            )
            value = learned.ensemble_value(networks, name, hidden, candidates, unit, lowest)
            rmse = np.sqrt(np.mean((value - getattr(place, name)) ** 2))
            rows.append((place.problem, place.notion, place.n, name, rmse))
    return pd.DataFrame(rows, columns=["problem", "notion", "n", "estimand", "network"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parser.parse_args()
    stored = arena_data.read()
    assert stored is not None, "there is no stored arena"
    development = option("experiment", "arena").config["arena"]["development"]
    settings = stored.settings
    settings = settings[settings["estimand"].isin(arena.MAIN) & settings["notion"].isin(NOTIONS)]
    table = arena.recommendations(settings, development)
    test = settings[~settings["family"].isin(development) & settings["truth"].notna()]
    truths = test.drop_duplicates(["problem", *PLACE])
    places = truths.pivot(index=["problem", "notion", "n"], columns="estimand", values="truth")
    places = places.dropna().reset_index()
    tasks = places[["problem", "notion", "n"]].itertuples(index=False)
    drawn = Parallel(arguments.jobs)(delayed(samples)(*task) for task in tasks)
    folder = arguments.folder / f"scalar_{train_best.simulation_hash('scalar')[:12]}"
    simulated = train_best.load("scalar", folder, SIMULATED)
    errors = judged(places, drawn, trained(simulated, arrays(places, drawn)))

    lines = []
    for line in table.itertuples():
        here = test["estimator"].eq(line.rival) & ~test["calibrated"]
        rivals = test[here & test[PLACE].eq([line.notion, line.estimand, line.n]).all(axis=1)]
        rows = rivals.merge(errors, on=["problem", *PLACE])
        least = floors(rows)
        logs = np.log(np.maximum(rows["network"], least) / np.maximum(rows["rmse"], least))
        s = statement(rows.assign(log=logs), "network", str(line.rival))
        lines.append((line.notion, line.estimand, line.n, line.rival, line.ratio, line.verdict, s))
    corrected = pd.DataFrame([(*line[:2], line[-1].p_value) for line in lines])
    corrected = corrected.groupby([0, 1])[2].transform(holm)
    print("notion, estimand | n | rival | ratio and verdict of best | of the network [95 %]")
    for (notion, estimand, n, rival, ratio, verdict, s), p in zip(lines, corrected):
        print(f"{notion} {estimand} | {n:,} | {rival} | {ratio:.2f} {verdict} | "
              f"{s.ratio:.2f} [{s.low:.2f}, {s.high:.2f}] {verdicts([s.ratio], [p])[0]}"
              )  # fmt: skip


if __name__ == "__main__":
    main()
