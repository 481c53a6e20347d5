"""Tests of a second or more whose behaviour a quicker test of `make test` shows too: they run with the slow ones.

What `make test` may cost is 5 CPU-minutes; this is the one place where that is weighed. A name without brackets is the test with
all its parameters.
"""

SLOW = """
test_boosting.py::test_boosted_trees_give_lower_bounds_near_the_truth[variational_catboost_ws]
test_boosting.py::test_published_runs_come_back[beta_shifted-0]
test_bounds.py::test_the_textbook_bound_covers_too_little
test_bounds.py::test_a_normal_bound_claims_too_much_where_errors_are_rare
test_check.py::test_own_estimators_keep_the_contract[ckce]
test_check.py::test_own_estimators_keep_the_contract[kde]
test_check.py::test_own_estimators_keep_the_contract[skce]
test_check.py::test_own_estimators_keep_the_contract[tuned_binned]
test_check.py::test_own_estimators_keep_the_contract[ukkr]
test_check.py::test_own_estimators_keep_the_contract[variational_isotonic]
test_check.py::test_own_estimators_keep_the_contract[variational_nadaraya_watson]
test_check_problems.py::test_own_calibrators_keep_the_contract[CatBoost]
test_ciosek2026_items.py::test_bounds_that_assume_a_variation_are_told_one_that_is_true
test_ciosek2026_items.py::test_every_experiment_composes_and_finds_its_reported_items
test_ciosek2026_items.py::test_nothing_to_draw_is_a_figure_that_says_so
test_boosting.py::test_estimates_equal_the_authors[ws_catboost(InitLogit)-mc3_cal_n1000_s0]
test_check.py::test_own_estimators_of_few_trees_keep_the_contract[variational_lightgbm_ws]
test_check.py::test_own_estimators_keep_the_contract[ucme]
test_check.py::test_own_estimators_keep_the_contract[variational_partition_insample]
test_cli.py::test_estimand_selects_what_is_shown_not_what_is_recorded
test_cli.py::test_predictions_file_under_all_notions[one of each]
test_golden_gruber2025.py::test_one_fit_and_one_setting[kkr_fit CCE-K100]
test_gruber2025_items.py::test_one_large_sample_finds_the_truth_and_the_exact_curve
test_kernel_estimators.py::test_a_large_ridge_is_nothing_and_a_small_one_is_the_truth
test_kernel_estimators.py::test_every_tuned_estimator_finds_a_plain_miscalibration[tuned_kde]
test_kernel_errors.py::test_fourier_features_vary_about_the_exact_value
test_moskvichev2025.py::test_figure_2_end_to_end
test_own_code.py::test_refresh_computes_every_cell_again_and_the_latest_counts
test_popordanoska2024.py::test_a_small_run_answers_to_its_reported_rows[fig2a]
test_tempered.py::test_truths_of_more_classes_equal_an_independent_integration[3-notions0]
test_problems.py::test_conditional_truths_of_three_classes_equal_a_quadrature[underconfident]
test_problems.py::test_samples_carry_the_truth[dirichlet10_harmonic]
test_problems.py::test_samples_carry_the_truth[dirichlet10_overconfident]
test_records.py::test_a_corrupt_part_stops_with_its_name_and_nothing_is_overwritten[cut]
test_records.py::test_a_corrupt_part_stops_with_its_name_and_nothing_is_overwritten[columns]
test_risk.py::test_pivoted_cholesky_leaves_what_it_says[vectors]
test_run.py::test_interrupt_says_so_once_and_resumes[extra1]
test_run.py::test_sigkill_then_run_again_gives_the_undisturbed_records[1]
test_sweeps.py::test_the_figure_says_what_it_draws
test_table1.py::test_ours_over_fewer_groups_or_other_data_is_shown_and_not_judged
test_tabrepo.py::test_workers_rebuild_members_from_their_configuration
test_tabular.py::test_workers_store_what_one_process_does
test_variations.py::test_a_changed_parameter_does_not_bear_the_papers_name
test_variations.py::test_a_name_alone_keeps_the_ledger_too
test_variations.py::test_items_draw_their_variations_in_sampling
test_variations.py::test_two_runs_of_one_name_at_once_are_told
test_variations.py::test_what_is_kept_beside_says_what_it_is
""".split("\n")[1:-1]


def is_dearer(nodeid: str) -> bool:
    """Whether a test, by its node id, is one of them."""
    name = nodeid.rpartition("/")[2]
    return name in SLOW or name.partition("[")[0] in SLOW
