"""gruber2025's claims: each statistic on numbers that are known beforehand."""

import json

import numpy as np
import pandas as pd
import pytest
from harness.experiments.gruber2025 import claims as own
from harness.experiments.gruber2025 import conventions, risk_table
from record_frames import record_frame

from harness.configure.compose import compose
from harness.evaluation import claims


def cells(*rows, experiment="gruber2025_table1"):
    """Return records of rows (problem, estimator, root risk, estimate, diagnostics)."""
    names = ("problem", "estimator", "value", "diagnostics")
    records = [
        (problem, estimator, rms, json.dumps({"root_risk": root, "root_risk_se": 0.001, **more}))
        for problem, estimator, root, rms, more in rows
    ]
    common = {"notion": "top_label", "estimand": "rms", "n": 10_000, "experiment": experiment}
    return record_frame([dict(zip(names, record)) for record in records], **common)


def network(problem, roots, estimates, ids=own.CORRECTED, **more):
    return [(problem, name, root, rms, more) for name, root, rms in zip(ids, roots, estimates)]


def corrected(*networks):
    return own.of_variant(
        cells(*(row for values in networks for row in network(*values))), own.CORRECTED
    )


ROOTS, ESTIMATES = (0.0614, 0.0612, 0.0609, 0.0610, 0.0611), (0.079, 0.092, 0.098, 0.091, 0.093)


def test_kde_is_judged_by_what_it_is_without_dropping():
    result = corrected((own.DENSENET, ROOTS, ESTIMATES), (own.RESNET, ROOTS, ESTIMATES))
    assert own.worst(result).value == pytest.approx(6.09 - 6.14)
    assert own.worst(result).where == claims.PAPER
    assert own.outlier(result).value == pytest.approx(0.098 / 0.093)
    code = own.of_variant(
        cells((own.DENSENET, "tuned_kde_gruber2025", 0.1373, 0.146, {})), own.PUBLISHED
    )
    assert own.dropping(result, code).value == pytest.approx(13.73 / 6.09)


def test_ranks_and_shares_count_networks():
    result = corrected(("a", ROOTS, ESTIMATES), ("b", ROOTS[::-1], ESTIMATES))
    lead = own.lead(
        result, "ukkr", "two"
    )  # 0.03, 0.01, -0.02, -0.01 behind it on a; the reverse order on b: 0.01 in the mean
    assert lead.value == pytest.approx(100 * np.mean([0.0609 - 0.0611, 0.0609 - 0.0614]))
    assert "kde" in lead.why
    assert own.dominance(result).value == 1.0 and own.least(result, "kde").value == 1.0
    assert own.spread(result).value == pytest.approx(0.05 / 0.1)
    assert own.agreement(result).value == pytest.approx(0.098 / 0.091)
    assert own.ranks(result).value == pytest.approx(((5 - 3) + (3 - 5)) / 2)
    away = np.abs(np.array(ESTIMATES) - 0.092)
    by_hand = np.mean(
        [
            pd.Series(roots).corr(pd.Series(away), method="spearman")
            for roots in (ROOTS, ROOTS[::-1])
        ]
    )
    assert own.marks(result).value == pytest.approx(by_hand)


def test_a_network_without_all_estimators_is_left_out():
    partial = cells(*network("a", ROOTS, ESTIMATES), *network("b", ROOTS[:2], ESTIMATES[:2]))
    assert own.spread(own.of_variant(partial, own.CORRECTED)).cells == 1
    without_kde = own.of_variant(cells(*network("b", ROOTS[:2], ESTIMATES[:2])), own.CORRECTED)
    assert all(
        np.isnan(statistic.value)
        for statistic in (
            own.spread(without_kde),
            own.worst(without_kde),
            own.dominance(without_kde),
        )
    )


def test_the_printed_tables_answer_by_themselves():
    """Table 1's LeNet-5 has 14.98 +- 0.31 beside 14.96 +- 0.31; ukkr is below kkr in 5 columns,
    above in 3."""
    assert own.printed_gap().value == pytest.approx(0.02 / np.hypot(0.31, 0.31))
    assert (own.printed_trend().value, own.printed_trend().cells) == (5 / 8, 8)


def test_misaligned_labels_show_in_the_ratio_to_aligned_ones():
    rows = [
        ("simplex5_gruber2025", f"tuned_kkr{end}_gruber2025", 0.1, rms, {})
        for end, rms in (("", 0.12), ("_aligned", 0.2))
    ]
    result = cells(*rows, experiment="gruber2025_as_published").assign(notion="canonical")
    assert own.labels(result).value == pytest.approx(0.6)


def test_conventions_are_read_from_the_ids():
    names = compose(["experiment=gruber2025_as_published"]).estimator
    both = {conventions.base_and_step(name) for name in names}
    assert {base for base, _ in both} == set(conventions.BASES)
    assert {step for _, step in both} == set(conventions.ORDER)


def test_a_twin_shows_the_papers_networks_beside_its_own():
    settings = compose(["experiment=gruber2025_table6_offline"])
    records = cells(*network("snacks_toplabel", ROOTS, ESTIMATES, own.PUBLISHED))
    records = records.assign(
        problem_key="snacks", estimator_parameters=json.dumps({"folds": 10}), truth=np.nan
    )
    titles = [
        ax.get_title().splitlines()[0]
        for ax in risk_table.render(records, settings).axes
        if ax.get_visible()
    ]
    assert titles == ["Blood", "Derma", "OCT", "Snacks"]
    table = risk_table.table(records, settings)
    assert table.loc[("Blood", "kde"), "paper"] == "0.96 ± 0.23"
    assert table.loc[("Snacks", "kde"), "as published"] == "6.09 ± 0.10"
