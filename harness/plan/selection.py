"""Build the problems and estimators of a run, and choose its sizes, replications and notions.

A family of problems is replaced by its members. Where the options ask for it, estimators are
wrapped by a bootstrap, and problems share one random stream.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from harness.configure.ranking import Ranking
from harness.configure.settings import Settings, as_list
from harness.errors import BadInputError
from harness.estimators.base import EstimatorSpec
from harness.plan import requirements
from harness.plan.components import Component, build_component, component
from harness.problems.base import ProblemSpec, list_members

DEFAULT_RESAMPLES = 200  # number of bootstrap resamples unless `bootstrap` is given
CHEAP_SECONDS = 60.0  # expected seconds up to which a bootstrap is used without being asked for


def check_figure_estimators(settings: Settings) -> None:
    """Raise BadInputError if `figure.estimators` names an estimator that the run does not have."""
    unknown = [
        str(name) for name in as_list(settings.figure.estimators) if name not in settings.estimator
    ]
    if unknown:
        raise BadInputError(
            f"figure.estimators has {', '.join(unknown)}, but the estimators of this run are "
            f"{', '.join(settings.estimator)}; choose among these."
        )


def add_bootstrap(
    settings: Settings, plain: dict[str, Component], size: int, existing: dict[str, Component]
) -> dict[str, Component]:
    """Return {name: estimator} with estimators wrapped by a bootstrap, for a problem from a file.

    The bootstrap resamples the rows of a sample, and adds an interval to each estimate. If the
    setting `bootstrap` is null, only cheap estimators are wrapped. In a run that belongs to a paper
    or ranks models, none is wrapped then.

    Parameters
    ----------
    settings : Settings
        Settings of the run.
    plain : dict of str to Component
        Estimators without a bootstrap.
    size : int
        Number of rows, times the number of classes if a notion of the run judges each class. The
        size decides which estimators are cheap.
    existing : dict of str to Component
        Estimators that were returned for other problems, so that none is built twice.
    """
    resamples = settings.bootstrap
    if resamples is None:
        resamples = 0 if settings.paper or settings.ranking else DEFAULT_RESAMPLES
    if not resamples:
        return plain
    estimators: dict[str, Component] = {}
    for name, part in plain.items():
        key = f"{name} ({resamples} resamples)"
        wrapped = existing.get(key)
        if wrapped is None:
            config = {
                "_target_": "harness.estimators.Bootstrap",
                "estimator": part.config,
                "resamples": resamples,
            }
            wrapped = build_component("estimator", part.id, config)._replace(origin=part.origin)
        is_cheap = wrapped.object.seconds * max(1.0, size / 1000) <= CHEAP_SECONDS
        if is_cheap or settings.bootstrap:
            estimators[key] = wrapped
        else:
            estimators[name] = part
    return estimators


def build_selected(group: str, configs: Any) -> dict[str, Component]:
    """Build the problems or estimators of a configuration, and return {id: component}.

    `configs` is {name: configuration}. A family of problems is replaced by its members.

    Raises
    ------
    BadInputError
        If nothing is selected, if a component cannot be built, or if an id occurs twice.
    """
    if not configs or not isinstance(configs, dict):
        raise BadInputError(
            f"no {group} is selected; give {group}=[ID,...] or experiment=ID "
            f"(`calharness list {group}s`)."
        )
    components: dict[str, Component] = {}
    for name, config in configs.items():
        for part in _members(group, build_component(group, name, config)):
            if part.id in components:
                raise BadInputError(
                    f"{group} {part.id!r} is selected twice, by two of {', '.join(configs)}; "
                    "leave one of them out."
                )
            requirements.verify(group, part)
            components[part.id] = part
    return components


def _members(group: str, whole: Component) -> Iterable[Component]:
    """Return the members of a family of problems. Any other component is returned alone."""
    members = list_members(whole.object) if group == "problem" else None
    if members is None:
        return [whole]
    return [
        component(group, name, member)._replace(origin=whole.id) for name, member in members.items()
    ]


def share_stream(problems: dict[str, Component], ranking: Ranking) -> dict[str, Component]:
    """Return the models of a ranking (problems), changed so that all share one random stream.

    A replication then draws the same rows for each model. A model that has no stream of its own
    gets the stream of the ranking.

    Raises
    ------
    BadInputError
        If the models have different numbers of rows or different streams.
    """
    ranking.check_models(problems)
    rows = {name: ProblemSpec.of(part.object).n_max for name, part in problems.items()}
    if len(set(rows.values())) > 1:
        sizes = ", ".join(
            f"{name} ({'generated' if n is None else f'{n:,} rows'})" for name, n in rows.items()
        )
        raise BadInputError(
            f"the models of a ranking have different numbers of rows: {sizes}; give models that "
            "predict the same rows."
        )
    models = {}
    for name, part in problems.items():
        models[name] = part
        if ProblemSpec.of(part.object).stream is None:
            paired = {
                "_target_": "harness.problems.Paired",
                "problem": part.config,
                "stream": ranking.stream,
            }
            models[name] = build_component("problem", name, paired)._replace(origin=part.origin)
    streams = list(dict.fromkeys(part.object.stream for part in models.values()))
    if len(streams) > 1:
        raise BadInputError(
            f"the models of a ranking use different random streams ({', '.join(streams)}); give "
            "them the same stream."
        )
    return models


def reference_sample(
    name: str, problem: ProblemSpec, ranking: Ranking | None, sizes: list[int]
) -> list[tuple[int, int]]:
    """Return the sample (rep, n) that determines the right order of a ranking, as a list.

    If the setting `ranking.reference` is `full`, this sample consists of all rows of a file.
    Otherwise the list is empty.

    Raises
    ------
    BadInputError
        If the problem is no file, or if one of `sizes` already uses all of its rows.
    """
    if not ranking or ranking.reference != "full":
        return []
    if problem.n_max is None or max(sizes) >= problem.n_max:
        size = "is not a file" if problem.n_max is None else f"has only {problem.n_max} rows"
        raise BadInputError(
            f"ranking.reference is full, but problem {name!r} {size}; give files with more rows "
            "than n."
        )
    return [(0, problem.n_max)]


def check_estimands(option: str, wanted: Any, estimators: dict[str, Component]) -> None:
    """Raise BadInputError if an option names an estimand that no estimator of the run declares.

    `option` is the name of the option, and `wanted` its value: an estimand or a list of estimands.
    """
    declared = [EstimatorSpec.read(part.object, "estimands") for part in estimators.values()]
    if any(names is None for names in declared):
        return
    known = sorted({name for names in declared for name in names})
    for name in as_list(wanted):
        if name not in known:
            raise BadInputError(
                f"{option} is {name!r}, which no estimator of this run estimates; choose among "
                f"{', '.join(known)}."
            )


def choose_sizes(name: str, problem: ProblemSpec, n: Any) -> list[int]:
    """Return the sample sizes for the problem `name`, given the setting `n`.

    Raises
    ------
    BadInputError
        If the problem cannot draw samples of one of the sizes.
    """
    sizes = as_list(problem.default_n if n is None else n)
    for size in sizes:
        if problem.n_max is not None and size > problem.n_max:
            raise BadInputError(
                f"n is {size}, but problem {name!r} has only {problem.n_max} rows; give a "
                "smaller n."
            )
        if problem.sizes is not None and size not in problem.sizes:
            raise BadInputError(
                f"n is {size}, but problem {name!r} exists only for certain n; choose among "
                f"{', '.join(map(str, problem.sizes))}."
            )
    return list(dict.fromkeys(sizes))


def choose_reps(reps: Any, problem: ProblemSpec) -> Sequence[int]:
    """Return the indices of the replications for a problem, given the setting `reps`."""
    reps = problem.default_reps if reps is None else reps
    return list(dict.fromkeys(reps)) if isinstance(reps, list) else range(reps)


def choose_notions(problem: ProblemSpec, names: Any) -> list[str]:
    """Return the notions under which a problem is judged, given the setting `notion`."""
    notions = as_list(problem.default_notions if names is None else names)
    if "all" in notions:
        notions = list(problem.notions)
    if "main" in notions:
        main = ("top_label", "canonical") if problem.classes > 2 else ("binary",)
        notions = [name for name in main if name in problem.notions]
        notions = notions or list(problem.default_notions)
    return list(dict.fromkeys(notions))
