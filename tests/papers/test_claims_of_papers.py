"""Claims of the papers: each has a statistic, and without records a reason."""

import importlib
import re

import numpy as np
import pandas as pd
import pytest

from harness.common.paths import EXPERIMENTS
from harness.configure.compose import compose
from harness.evaluation import claim_tables, propositions, reproduction
from harness.records.schema import COLUMNS

RESULTS = EXPERIMENTS.parent / "results"
PAPERS = sorted(path.parent.name for path in EXPERIMENTS.glob("*/claims.py"))
NO_RECORDS = pd.DataFrame(
    {name: pd.Series(dtype=object) for name in (*COLUMNS, "truth", "truth_error", "experiment")}
)


WITHOUT_RECORDS = {  # claims that follow from printed numbers, formulas or stored seconds
    "ciosek2026": {
        "the first derivative is bounded after the perturbation": "holds",
        "the second derivative is bounded after the perturbation": "holds",
        "sech noise has the smaller slope": "holds",
        "training with the perturbation is cheap": "holds",
    },
    "gruber2025": {
        "kde is worst beyond the error bars": "holds",
        "ukkr beats kkr in all results": "undecided",
        "most estimates of Figure 5 agree": "holds",
        "kde is worst on two medical sets": "undecided",
        "the risk is insensitive on LeNet-5": "holds",
        "canonical risks are similar on CIFAR-10": "holds",
    },
    "popordanoska2024": {
        "temperature is better in KL, printed": "undecided",
        "isotonic is better in squared L2, printed": "undecided",
        "isotonic may harm KL": "holds",
        "isotonic keeps the accuracy, printed": "undecided",
        "the estimators order classes alike, printed": "holds",
        "sharpness as estimated falls up to the output": "fails",
    },
}


@pytest.mark.parametrize("paper", PAPERS)
def test_every_claim_is_judged_or_has_a_reason(paper):
    config = compose([f"experiment={paper}_claims"])
    statistics = importlib.import_module(f"experiments.{paper}.claims").statistics(
        NO_RECORDS, config
    )
    assert all(statistic.why for statistic in statistics.values() if np.isnan(statistic.value))
    judged = claim_tables.judged(statistics, config).set_index("row")
    assert set(judged.index) == set(reproduction.reported(paper, ["claims"])["row"])
    open_ones = judged["verdict"].eq("not reproducible here")
    assert judged.loc[~open_ones, "verdict"].to_dict() == WITHOUT_RECORDS.get(paper, {})
    assert judged.loc[open_ones, "reason"].notna().all()


@pytest.mark.parametrize("paper", propositions.papers())
def test_every_verdict_that_fails_was_read_a_second_time(paper):
    """NOTES.md has a row for each: name, the paper's words with their place, conditions, date."""
    claims = pd.read_csv(RESULTS / paper / "claims.csv")
    names = {*claims.loc[claims["verdict"].eq("fails"), "claim"]}
    stated = propositions.read(RESULTS, paper)
    names |= {*stated.loc[stated["verdict"].eq("fails"), "place"]}
    notes = (EXPERIMENTS / paper / "NOTES.md").read_text(encoding="utf-8")
    section = notes.partition("## Second reading of the verdicts that fail\n")[2]
    lines = section.partition("\n## ")[0].splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("|")]
    read = {name: rest for name, *rest in rows[2:]}
    assert names <= set(read)
    for words, conditions, reading, date in read.values():
        assert re.fullmatch(r'[^"]+: ".+"', words)
        assert conditions and reading
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", date)
