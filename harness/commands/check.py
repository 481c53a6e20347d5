"""`calharness check`: test if an estimator, problem or calibrator behaves as the harness needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from harness.commands import completion

if TYPE_CHECKING:
    from harness.contract.check import Finding


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

    BIASED marks an estimator whose mean on calibrated data is not near 0, but within the bias that
    it declares (0.1 unless it has another null_bias). Your own object runs in a process of its own,
    so its crash is only reported. Exit status 1 if an item failed.
    """
    from harness.contract import check as contract

    findings = _check_supervised(target) if "." in target else contract.check(target)
    print(contract.report(findings))
    return int(any(finding.outcome == "failed" for finding in findings))


def _check_supervised(target: str) -> list[Finding]:
    """Check a user's object in a child process, and return the findings.

    Raise WorkerDiedError if the object ends the process, or exceeds the default limits of a cell.
    """
    from harness.configure.settings import Settings
    from harness.execute import processes, supervise
    from harness.execute.run import cell_limits

    try:
        limits = cell_limits(Settings.from_dict({}))
        findings: list[Finding] = supervise.call("harness.contract.check:check", target, limits)
        return findings
    except processes.EndedError as end:
        ended = end
    raise processes.WorkerDiedError(f"{target} cannot be checked, because it {ended}.")
