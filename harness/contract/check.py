"""The contract test: what is expected of anybody's estimator, problem or calibrator, item by item.

    calharness check my_module.Mine     a class with default arguments, an instance, or a bare function (p, y) -> float
    calharness check binned15           an id of conf/estimator or conf/problem

What has a method `sample` is a problem (check_problems), what is callable an estimator (check_estimators), and what has a method
`fit` a calibrator (check_calibrators). Every item is tried under every notion that the object declares ("binary" if it declares
none); a calibrator is tried on scalars and on vectors. Seeds are fixed: a check says the same twice.

An item is a function of a case, an object under one notion. It returns a sentence on what it found. It raises ContractBrokenError
where the contract is not kept and UndefinedError where there is nothing to examine; any other exception counts as a failure.
Wherever the data are unusual, the object itself may raise UndefinedError.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from harness.calibrators.base import CalibratorSpec
from harness.common import user_code
from harness.common.escaping import message_of
from harness.common.tables import text_table
from harness.configure.options import ids
from harness.contract import calibrators, estimators, problems
from harness.contract.items import DECLARED, ContractBrokenError, generators_put_back
from harness.errors import BadInputError, UndefinedError, guess
from harness.estimators.base import EstimatorSpec
from harness.plan import requirements
from harness.plan.components import build, load
from harness.problems.base import ProblemSpec, members_of


@dataclass(frozen=True)
class Finding:
    """One item of the contract. outcome: ok | failed | not applicable."""

    item: str
    outcome: str
    detail: str


def check(target: str) -> list[Finding]:
    """Examine the estimator, problem or calibrator `target`, module.Name or an id. Raises BadInputError if it cannot be made."""
    made = _made(target)
    members = members_of(made)
    return examine(
        next(iter(members.values())) if members else made, target
    )  # a family of problems: its first member


def examine(made: Any, target: str) -> list[Finding]:
    """The findings on an estimator, a problem or a calibrator, which a sentence calls `target`."""
    from threadpoolctl import threadpool_limits

    items, cases_of, rules, reason = _contract_of(made, target)
    if isinstance(reason, str):
        return [Finding(item, "not applicable", f"it cannot run here: {reason}") for item in items]
    getattr(
        made, "notions", None
    )  # a problem whose file is not given raises the sentence that says so
    try:
        rules(made)
    except BadInputError as wrong:
        found = Finding(DECLARED, "failed", str(wrong).rstrip("."))
        return [
            found if item == DECLARED else Finding(item, "not applicable", f"{DECLARED} come first")
            for item in items
        ]
    findings = []
    with generators_put_back():
        cases = cases_of(made)
        for item, rule in items.items():
            with threadpool_limits(
                1
            ):  # anew for each item: libraries loaded meanwhile are limited too
                findings.append(_finding(item, rule, cases))
    return findings


def _contract_of(made: Any, target: str) -> tuple[Any, Any, Any, str | None]:
    """(the items, the function that makes the cases, the rules of what is declared, why it cannot run here) by what the object
    is."""
    if callable(getattr(made, "sample", None)):
        return (
            problems.ITEMS,
            problems.cases,
            requirements.problem,
            ProblemSpec.of(made).unavailable,
        )
    if callable(made):
        return (
            estimators.ITEMS,
            estimators.cases,
            requirements.estimator,
            EstimatorSpec.of(made).unavailable,
        )
    if callable(getattr(made, "fit", None)):
        return (
            calibrators.ITEMS,
            calibrators.cases,
            requirements.calibrator,
            CalibratorSpec.of(made).unavailable,
        )
    raise BadInputError(
        f"{target} is a {type(made).__name__}; an estimator (callable as (p, y) or (p, y, rng)), a problem (with a method "
        "sample(n, rng)) or a calibrator (with a method fit(p, y, rng)) is needed."
    )


def report(findings: list[Finding]) -> str:
    """One aligned line per finding."""
    outcome = {"failed": "FAILED"}
    rows = [(outcome.get(f.outcome, f.outcome), f.item, f.detail) for f in findings]
    return text_table(rows, indent=0)


def _made(target: str) -> Any:
    if "." in target:
        return build("target", target.rpartition(".")[2], {"_target_": target})
    known = {name: group for group in ("problem", "estimator") for name in ids(group)}
    if target not in known:
        raise BadInputError(
            f"there is no estimator or problem {target!r}{guess(target, list(known))}; `calharness list estimators` and "
            "`calharness list problems` show all, and one's own is module.Name."
        )
    return load(known[target], target, {})


def _finding(item: str, examine: Callable[[Any], str], cases: Any) -> Finding:
    said: dict[str, dict[str, list[str]]] = {"failed": {}, "ok": {}, "not applicable": {}}
    for case in cases:
        try:
            outcome, sentence = "ok", examine(case)
        except ContractBrokenError as broken:
            outcome, sentence = "failed", message_of(broken)
        except UndefinedError as reason:
            outcome, sentence = "not applicable", message_of(reason)
        except Exception as error:
            outcome, sentence = "failed", user_code.error_text(error)
        said[outcome].setdefault(sentence, []).append(case.notion)
    outcome = next(o for o, sentences in said.items() if sentences)
    if outcome != "failed" and [len(notions) for notions in said[outcome].values()] == [len(cases)]:
        return Finding(item, outcome, next(iter(said[outcome])))
    return Finding(
        item,
        outcome,
        "; ".join(f"{', '.join(notions)}: {s}" for s, notions in said[outcome].items()),
    )
