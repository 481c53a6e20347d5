"""Claims of popordanoska2024: statistics of the printed numbers by hand, and of small made-up
records."""

import pandas as pd
import pytest
from harness.experiments.popordanoska2024 import claims as paper_claims
from harness.experiments.popordanoska2024 import fig6, networks
from record_frames import record_frame

from harness.configure.compose import compose
from harness.configure.settings import Settings


@pytest.fixture(scope="module")
def settings():
    return compose(["experiment=popordanoska2024_claims"])


def test_statistics_of_the_printed_tables_by_hand(settings):
    """Eleven and twelve networks of twelve, five of six; losses .01, .04, .03, .10, .03, .01; the
    output .839 against .689."""
    result = paper_claims.of_printed_tables(None, settings) | paper_claims.of_printed_curves(
        None, settings
    )
    assert result["temperature is better in KL, printed"].value == 11
    assert result["isotonic is better in squared L2, printed"].value == 12
    assert result["isotonic may harm KL"].value == 5
    assert result["isotonic keeps the accuracy, printed"].value == pytest.approx(0.22 / 6)
    assert result["the estimators order classes alike, printed"].value == pytest.approx(
        0.964, abs=1e-3
    )
    assert result["sharpness falls up to the output"].value == pytest.approx(0.15, abs=5e-3)


def test_the_least_clear_case_decides():
    """Problem a: the second is closer by 0.2, without noise but 0.01; b: by 0.1 +- more; so b."""
    rows = []
    for problem, gap, noise in (("a", 0.2, 0.01), ("b", 0.1, 0.2)):
        for rep, sign in enumerate((1, -1, 1, -1)):
            rows += [
                (problem, rep, "first", 1.0 + gap + sign * noise),
                (problem, rep, "second", 1.0),
            ]
    fine = pd.DataFrame(rows, columns=["problem", "rep", "estimator", "value"]).assign(
        n=100, truth=0.0
    )
    fine["key"] = fine["problem"] + fine["estimator"]
    result = paper_claims.least_clear(fine, "first", "second", "fig2a", "why")
    assert result.value == pytest.approx(0.1)
    assert result.low < 0 < result.high
    assert len(result.keys) == 4


def test_a_change_is_a_mean_over_seeds_of_means_over_networks():
    """Seed 5: 1 and 3 lower by isotonic: 2. Seed 10: 2 and 2: 2. Ours by our defaults are not in
    it."""
    lower = {("mlp16", 5): 1.0, ("mlp32", 5): 3.0, ("mlp16", 10): 2.0, ("mlp32", 10): 2.0}
    rows = []
    for (net, seed), by in lower.items():
        base = f"digits/{net}_seed{seed}"
        rows += [
            (base, 0.10),
            (f"{base}/isotonic_popordanoska2024", 0.10 - by / 100),
            (f"{base}/isotonic", 0.0),
        ]
    fine = pd.DataFrame(rows, columns=["problem", "value"]).assign(
        estimand="kl", key=lambda f: f["problem"]
    )
    fine = paper_claims.recalibrated(fine, Settings.from_dict({}), 100)
    assert networks.OURS not in set(fine["variant"])
    result = paper_claims.change(
        fine, "kl", "digits", "none", "isotonic", "seed", "why", "table2_offline"
    )
    assert (result.value, result.cells) == (pytest.approx(2.0), 2) and len(result.keys) == 8


def test_changes_of_no_training_are_none(settings):
    mine, settings_of_part = paper_claims.part(record_frame([]), settings, "fig6_offline")
    assert not len(fig6.changes(mine, settings_of_part))
