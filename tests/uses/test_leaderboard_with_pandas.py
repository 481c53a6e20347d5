"""The leaderboard of docs/how-to/leaderboard-with-pandas.md needs pandas, but not this project."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/how-to/leaderboard-with-pandas.md"
BLOCKED = """import sys
for name in ("harness", "calharness", "duckdb", "hydra"):
    sys.modules[name] = None  # importing it raises ImportError
"""


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Run the code of the page where the project cannot be imported. Return rmse and board."""
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    folder = tmp_path_factory.mktemp("tables")
    paths = {name: folder / f"{name}.csv" for name in ("rmse", "board")}
    code += "".join(f"\n{name}.to_csv({str(path)!r})" for name, path in paths.items())
    subprocess.run([sys.executable, "-c", BLOCKED + code], cwd=ROOT, check=True)
    return {name: pd.read_csv(path) for name, path in paths.items()}


def test_the_rmse_equals_that_of_the_arenas_table(tables):
    """The arena's table has the geometric mean over the settings of a family, then over families.

    An estimator without an answer somewhere is left out, because the arena counts a penalty there.
    """
    description = json.loads((ROOT / "results/baseline/baseline.json").read_text())
    family = {name: f for f, names in description["families"].items() for name in names}
    rmse = tables["rmse"].assign(family=lambda rows: rows["problem"].map(family).fillna("other"))
    logs = np.log(rmse.set_index(["estimator", "family"])["rmse"])
    ours = np.exp(logs.groupby(level=[0, 1]).mean().groupby(level=0).mean())
    table = pd.read_csv(ROOT / "results/arena/index.csv")
    table = table[table["notion"].eq("top_label") & table["estimand"].eq("l1")]
    complete = table[table["undefined"].add(table["failed"]).eq(0)].set_index("estimator")
    names = complete.index.intersection(ours.index)
    assert len(names) >= 12
    np.testing.assert_allclose(ours[names], complete["rmse"][names], rtol=1e-4)


def test_the_best_three_of_each_size_are_printed(tables):
    board = tables["board"]
    assert board.groupby("n").size().eq(3).all() and board["median"].ge(1).all()
    assert {50, 20000} <= set(board["n"]) and "oracle" not in set(board["estimator"])
