"""`calharness check`: test if an estimator, problem or calibrator behaves as the harness needs."""

from __future__ import annotations

from typing import Annotated

import typer

from harness.commands import completion


def command(
    target: Annotated[
        str,
        typer.Argument(
            help="module.Name of your own object, or the id of an estimator or problem.",
            autocompletion=completion.problem_or_estimator,
        ),
    ],
) -> int:
    """Test an estimator, problem or calibrator, and print one line for each item of the test.

    \b
    calharness check my_module.Mine    an estimator: a class with default arguments, an instance,
                                       or a function (p, y) -> float;
                                       a problem: sample(n, rng) -> (p, y);
                                       or a calibrator: fit(p, y)
    calharness check binned15          an id of an estimator or a problem

    Exit status 1 if an item failed.
    """
    from harness.contract import check as contract

    findings = contract.check(target)
    print(contract.report(findings))
    return int(any(finding.outcome == "failed" for finding in findings))
