"""Selection of a run: its components, sample sizes, replications and notions, by the options.

Problems and estimators are made from their configuration, families as their members. Estimators are
wrapped by a bootstrap, and problems put on one random stream, where the options ask for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from harness.configure.ranking import Ranking
from harness.configure.settings import Settings, as_list
from harness.errors import BadInputError
from harness.estimators.base import EstimatorSpec
from harness.plan import requirements
from harness.plan.components import Component, component, configured
from harness.problems.base import ProblemSpec, list_members

DEFAULT_RESAMPLES = 200
CHEAP_SECONDS = 60.0  # a bootstrap that takes longer is not a default


def check_drawn(settings: Settings) -> None:
    """Raise BadInputError if the figure shows an estimator that is not in the run."""
    unknown = [
        str(name) for name in as_list(settings.figure.estimators) if name not in settings.estimator
    ]
    if unknown:
        raise BadInputError(
            f"figure.estimators has {', '.join(unknown)}, which is not in this run; its estimators "
            f"are {', '.join(settings.estimator)}."
        )


def with_intervals(
    settings: Settings, plain: dict[str, Component], size: int, existing: dict[str, Component]
) -> dict[str, Component]:
    """Return the estimators for the rows of a file, with a bootstrap of the rows if asked for.

    By default, cheap bootstraps are used in runs that are of no paper and rank nothing.

    Parameters
    ----------
    settings : Settings
        The configuration.
    plain : dict of str to Component
        The estimators as configured.
    size : int
        Number of rows, times the number of classes if each class is judged.
    existing : dict of str to Component
        Estimators of other problems, which may be wrapped already.
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
            wrapped = configured("estimator", part.id, config)._replace(origin=part.origin)
        is_cheap = wrapped.object.seconds * max(1.0, size / 1000) <= CHEAP_SECONDS
        if is_cheap or settings.bootstrap:
            estimators[key] = wrapped
        else:
            estimators[name] = part
    return estimators


def chosen(group: str, configs: Any) -> dict[str, Component]:
    """Make the problems or estimators of a configuration, by id; families as their members."""
    if not configs or not isinstance(configs, dict):
        raise BadInputError(
            f"no {group} is selected; give {group}=[ID,...] or experiment=ID "
            f"(`calharness list {group}s`)."
        )
    components: dict[str, Component] = {}
    for name, config in configs.items():
        for part in _members(group, configured(group, name, config)):
            if part.id in components:
                raise BadInputError(
                    f"{group} {part.id!r} comes from two of {', '.join(configs)}; select one of "
                    "them."
                )
            requirements.verify(group, part)
            components[part.id] = part
    return components


def _members(group: str, whole: Component) -> Iterable[Component]:
    """Return the members of a family of problems; any other component itself."""
    members = list_members(whole.object) if group == "problem" else None
    if members is None:
        return [whole]
    return [
        component(group, name, member)._replace(origin=whole.id) for name, member in members.items()
    ]


def on_one_stream(problems: dict[str, Component], ranking: Ranking) -> dict[str, Component]:
    """Give the models of a ranking one random stream: a replication draws the same rows for all.

    A model that names no stream gets that of the ranking.
    """
    ranking.check_models(problems)
    rows = {name: ProblemSpec.of(part.object).n_max for name, part in problems.items()}
    if len(set(rows.values())) > 1:
        sizes = ", ".join(
            f"{name} ({'generated' if n is None else f'{n:,} rows'})" for name, n in rows.items()
        )
        raise BadInputError(
            f"the models of a ranking are {sizes}; they must predict the same rows."
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
            models[name] = configured("problem", name, paired)._replace(origin=part.origin)
    streams = list(dict.fromkeys(part.object.stream for part in models.values()))
    if len(streams) > 1:
        raise BadInputError(
            f"the models of a ranking draw from the streams {', '.join(streams)}; one is needed."
        )
    return models


def full_sample(
    name: str, problem: ProblemSpec, ranking: Ranking | None, sizes: list[int]
) -> list[tuple[int, int]]:
    """Return [(rep, n)] of the draw that orders the models of a ranking with reference `full`.

    It is all rows of a file, once.
    """
    if not ranking or ranking.reference != "full":
        return []
    if problem.n_max is None or max(sizes) >= problem.n_max:
        size = "is a generator" if problem.n_max is None else f"holds {problem.n_max}"
        raise BadInputError(
            f"ranking.reference is full, but problem {name!r} {size}; files with more rows than n "
            "are needed."
        )
    return [(0, problem.n_max)]


def check_estimands(option: str, wanted: Any, estimators: dict[str, Component]) -> None:
    """Raise BadInputError for an estimand that no estimator of the run declares."""
    declared = [EstimatorSpec.read(part.object, "estimands") for part in estimators.values()]
    if any(names is None for names in declared):
        return
    known = sorted({name for names in declared for name in names})
    for name in as_list(wanted):
        if name not in known:
            raise BadInputError(
                f"{option} is {name!r}, which no estimator of this run gives; they give "
                f"{', '.join(known)}."
            )


def sizes_of(name: str, problem: ProblemSpec, n: Any) -> list[int]:
    sizes = as_list(problem.default_n if n is None else n)
    for size in sizes:
        if problem.n_max is not None and size > problem.n_max:
            raise BadInputError(
                f"n is {size}, but problem {name!r} holds {problem.n_max} samples; give at most "
                "that."
            )
        if problem.sizes is not None and size not in problem.sizes:
            raise BadInputError(
                f"n is {size}, but problem {name!r} exists only for n in "
                f"{', '.join(map(str, problem.sizes))}."
            )
    return list(dict.fromkeys(sizes))


def reps_of(reps: Any, problem: ProblemSpec) -> Sequence[int]:
    reps = problem.default_reps if reps is None else reps
    return list(dict.fromkeys(reps)) if isinstance(reps, list) else range(reps)


def notions_of(problem: ProblemSpec, names: Any) -> list[str]:
    notions = as_list(problem.default_notions if names is None else names)
    if "all" in notions:
        notions = list(problem.notions)
    if "main" in notions:
        main = ("top_label", "canonical") if problem.classes > 2 else ("binary",)
        notions = [name for name in main if name in problem.notions]
        notions = notions or list(problem.default_notions)
    return list(dict.fromkeys(notions))
