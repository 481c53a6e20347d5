"""The contract test, which checks a user's estimator, problem or calibrator.

    calharness check my_module.Mine     a class with default arguments, an instance, or a function
    calharness check binned15           an id of conf/estimator or conf/problem

An object with a method `sample` is a problem, a callable is an estimator, and an object with a
method `fit` is a calibrator.

The contract consists of items, such as "determinism". Each item is checked for every notion that
the object declares, or for "binary" if it declares none. A calibrator is checked on scalars and on
vectors. Seeds are fixed, so that a check always has the same result, except for
the times of the item "cost".

An item is a function of a case, which is an object under one notion. It returns a sentence about
the result, or raises an exception:

    ContractBrokenError    the item fails
    BiasedError            the item is kept, but the object is biased
    UndefinedError         the item does not apply to this case
    any other exception    the item fails

The object itself may raise UndefinedError on unusual data.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from threadpoolctl import threadpool_limits

from harness.calibrators.base import CalibratorSpec
from harness.common import user_code
from harness.common.escaping import error_message
from harness.common.tables import text_table
from harness.common.wording import format_count
from harness.configure.options import ids
from harness.contract import calibrators, estimators, problems
from harness.contract.items import DECLARED, BiasedError, ContractBrokenError, restored_generators
from harness.errors import BadInputError, UndefinedError, guess
from harness.estimators.base import EstimatorSpec
from harness.execute.processes import is_stop
from harness.plan import requirements
from harness.plan.components import build, load
from harness.problems.base import ProblemSpec, list_members

OUTCOMES = ("failed", "biased", "ok", "not applicable")


@dataclass(frozen=True)
class Finding:
    """The result of one item of the contract.

    Parameters
    ----------
    item : str
        Name of the item.
    outcome : {"failed", "biased", "ok", "not applicable"}
        Whether the contract is kept. A bias keeps it if it is no larger than declared.
    detail : str
        What was observed.
    raised : bool
        True if the item failed only because the object raised an error.
    """

    item: str
    outcome: str
    detail: str
    raised: bool = False


def check(target: str) -> list[Finding]:
    """Check an estimator, problem or calibrator, given as module.Name or as an id.

    For a family of problems, only the first member is checked.

    Raises
    ------
    BadInputError
        If the object cannot be made.
    """
    value = _load(target)
    members = list_members(value)
    return examine(next(iter(members.values())) if members else value, target)


def examine(value: Any, target: str) -> list[Finding]:
    """Check an object: an estimator, problem or calibrator. `target` is its name in messages."""
    contract, verify, unavailable = _find_contract(value, target)
    items = contract.ITEMS
    if isinstance(unavailable, str):
        detail = f"the object cannot run here: {unavailable}"
        return [Finding(item, "not applicable", detail) for item in items]
    getattr(value, "notions", None)  # raises BadInputError for a problem that lacks its file
    try:
        verify(value)
    except BadInputError as wrong:
        first = f"correct the {DECLARED} first"
        findings = {item: Finding(item, "not applicable", first) for item in items}
        findings[DECLARED] = Finding(DECLARED, "failed", str(wrong).rstrip("."))
        return list(findings.values())
    results = []
    with restored_generators():
        cases = contract.cases(value)
        for item, rule in items.items():
            # Set the limit for each item, because an item may load further libraries.
            with threadpool_limits(1):
                results.append(_finding(item, rule, cases))
    return results


def _find_contract(value: Any, target: str) -> tuple[ModuleType, Callable[[Any], Any], str | None]:
    """Return the contract that applies to an object.

    Returns
    -------
    contract : module
        Module with the items of the contract and its cases.
    verify : callable
        Function that checks the declared properties of the object.
    unavailable : str or None
        Reason why the object cannot run here.
    """
    if callable(getattr(value, "sample", None)):
        return problems, requirements.problem, ProblemSpec.of(value).unavailable
    if callable(value):
        return estimators, requirements.estimator, EstimatorSpec.of(value).unavailable
    if callable(getattr(value, "fit", None)):
        return calibrators, requirements.calibrator, CalibratorSpec.of(value).unavailable
    raise BadInputError(
        f"{target} is a {type(value).__name__}; give an estimator (callable as (p, y) or "
        "(p, y, rng)), a problem (with a method sample(n, rng)) or a calibrator (with a method "
        "fit(p, y, rng))."
    )


def report(findings: list[Finding]) -> str:
    """Return a table of text with one line per finding."""
    words = {"failed": "FAILED", "biased": "BIASED"}
    rows = [(words.get(f.outcome, f.outcome), f.item, f.detail) for f in findings]
    return text_table(rows, indent=0)


def failure_lines(findings: Sequence[Finding]) -> list[str]:
    """Return one line for each failed item of the contract test, and one for all raised errors."""
    item = "failed item of the contract test"
    lines = [f"{item}, {one.item}: {one.detail}" for one in findings if not one.raised]
    raised = [one for one in findings if one.raised]
    if raised:
        names = ", ".join(one.item for one in raised)
        count = format_count(len(raised), "item")
        lines.append(
            f"{count} of the contract test failed because of an error ({names}): {raised[0].detail}"
        )
    return lines


def _load(target: str) -> Any:
    if "." in target:
        return build("target", target.rpartition(".")[2], {"_target_": target})
    groups = {name: group for group in ("problem", "estimator") for name in ids(group)}
    if target not in groups:
        raise BadInputError(
            f"there is no estimator or problem {target!r}{guess(target, list(groups))}; give an id "
            "of `calharness list estimators` or `calharness list problems`, or module.Name."
        )
    return load(groups[target], target, {})


def _finding(item: str, rule: Callable[[Any], str], cases: list[Any]) -> Finding:
    """Check one item in all cases, and return one finding.

    `rule` is the function of the item. The outcome is the worst over the cases. The detail has the
    sentences of the cases with this outcome, with their notions.
    """
    notions: dict[str, dict[str, list[str]]] = {outcome: defaultdict(list) for outcome in OUTCOMES}
    is_broken = False
    for case in cases:
        try:
            outcome, sentence = "ok", rule(case)
        except ContractBrokenError as broken:
            outcome, sentence, is_broken = "failed", error_message(broken), True
        except BiasedError as bias:
            outcome, sentence = "biased", error_message(bias)
        except UndefinedError as reason:
            outcome, sentence = "not applicable", error_message(reason)
        except BaseException as error:
            if is_stop(error):
                raise
            outcome, sentence = "failed", user_code.error_text(error)
        notions[outcome][sentence].append(case.notion)
    outcome = next(outcome for outcome in OUTCOMES if notions[outcome])
    by_sentence = notions[outcome]
    if outcome != "failed" and [len(names) for names in by_sentence.values()] == [len(cases)]:
        return Finding(item, outcome, next(iter(by_sentence)))
    detail = "; ".join(f"{', '.join(names)}: {text}" for text, names in by_sentence.items())
    return Finding(item, outcome, detail, outcome == "failed" and not is_broken)
