"""The texts of `calharness --help`, `calharness COMMAND --help` and `calharness help COMMAND`."""

from __future__ import annotations

from collections.abc import Iterable

from harness.errors import BadInputError

MAIN = """calharness: estimators of calibration error against problems with known truth

  calharness experiment=berta2026_fig1                 run, resume, draw (Hydra overrides)
  calharness experiment=arena problem=[a,b] n=[500,5000] reps=20
  calharness experiment=arena +estimator.mine._target_=my_module.Mine
  calharness -m experiment=smoke estimator.binned15.bins=5,10,20,50     a sweep: one table, one figure with bins as its axis

  calharness judge preds.csv [second.csv] [--html report.html]     is it calibrated, how far off, where, what to do about it

  estimators of your choice on your own predictions (npz, csv, parquet), under a minute for 10,000 rows of two or ten classes:
  calharness problem=predictions problem.predictions.path=preds.npz \\
    'estimator=[binned15,debiased15,variational_isotonic,variational_temperature,certified_interval]'

  calharness list problems|estimators|experiments|calibrators   what there is, one line each
  calharness list papers                               the papers' figures and tables, how each was run, what came out
  calharness info ID                                   what it is: formula, parameters and defaults, truths
  calharness plan OVERRIDES                            cells to do, done, skipped and why, time left; runs nothing
  calharness status [out=DIR]                          what the records hold
  calharness report OVERRIDES                          figure, tables and page from the records; runs nothing
  calharness results [--compute | --store]             all papers: drawn from stored records, or computed from nothing
  calharness check my_module.Mine                      contract test of an estimator, problem or calibrator
  calharness compare my_module.mine                    an own estimator against all of the arena: a verdict on one page
  calharness doctor [--compact] [--repair] [OVERRIDES] broken parts, duplicates, missing cells
  calharness site [out=DIR]                            all results as pages to be read: papers, arena, estimators, your runs
  calharness data list|fetch NAME|verify|make NAME     published files: where, how large, checksums; stand-ins made here
  calharness completion bash|zsh                       the shell completes commands, ids and parameters
  calharness help COMMAND                              more on each of them, with examples (also COMMAND --help)

Options are listed in conf/config.yaml and by `calharness help run`: n, reps, notion, estimand, seed, jobs, out ...
--traceback shows the whole trace of an error; -m, --cfg and the other flags are Hydra's.
Exit status: 0 fine, 1 something failed, 2 wrong input, 130 interrupted."""

TEXTS = {
    "run": """calharness [run] OVERRIDES: compute the cells that no record holds, then draw figure, tables and page

  calharness experiment=berta2026_fig1
  calharness problem=[beta_wavy,dirichlet3_harmonic] 'estimator=[binned15,kde]' 'n=[500,2000]' reps=20 name=mine
  calharness experiment=smoke estimator.binned15.bins=30 +problem.beta_calibrated.a=2

An override is NAME=VALUE. A list is in brackets and quoted, 'n=[500,2000]'; a text with spaces or signs has quotes of its own,
"title='a = b'"; a parameter that the YAML of an id leaves out is added with +; +estimator=kde adds to the experiment's own.
Interrupted? The same command goes on.
  -m, --multirun    sweep over values with commas: calharness -m experiment=smoke seed=0,1,2; a job for each
  sweep.PATH=[...]  the same in one job: 'sweep.estimator.binned15.bins=[5,10,20]'; results/sweeps/ has table and figure
  --cfg job         print the composed configuration, run nothing
  --traceback       the whole trace of an error
  --help            this text

Options and their defaults (conf/config.yaml):
{options}""",
    "judge": """calharness judge FILE [SECOND ...] [OPTIONS]: is it calibrated, how far off, where, what would recalibration gain

  calharness judge preds.csv
  calharness judge preds.csv --html report.html labels=truth     with pictures, for people who do not know these words
  calharness judge new.npz old.npz                               which is better, on the same rows
  calharness judge preds.csv --fail-above top_label.l1.high=0.05 log_loss.gain.low=0.01     in the CI of a model

A file is a .csv, .tsv, .npz or .parquet with probabilities or logits of every class (or P(class 1) alone) and labels; `calharness
info predictions` says which names and forms are understood.
  --html FILE             the page: one file that needs nothing else. A file that judge did not make is never overwritten
  --json [FILE.json]      the values, to a file or in place of the text; their schema: harness/judging/as_json.py
  --fail-above NAME=X ... exit status 1 if a number is above X
  --save-calibrator FILE  the recalibration map that gained most: map = harness.judging.saved.load(FILE), then q = map(p)
  --level 0.95            of all tests and intervals
  --group COLUMN          judge the rows of each value of a column, too; may be given again
  --seed 0                of what is drawn
  labels= probabilities= logits= positive= class_names= top_label= split= renormalise= float32=     how files are read

Names of numbers (`--json` lists all under "numbers"; END is value, low or high):
  NOTION.ESTIMAND.END (top_label.l1.high), NOTION one of binary (two classes), top_label, classwise, canonical
  NOTION.l1.certified.low|high   NOTION.p_value   NOTION.rejected (1 or 0)   NOTION.detectable   confidence_gap.END
  log_loss.value   log_loss.miscalibration.END   log_loss.gain.END (of the best map)   log_loss.gain.METHOD.END   also of brier
  worst_class.l1.END   class.NAME.l1.END   group.COLUMN.VALUE.gap.END   difference.QUANTITY.END   SECOND:top_label.l1.high
Exit status: 0 fine, 1 a number is above its limit (or no map gained, so that none is saved), 2 wrong input, 130 interrupted.""",
    "list": """calharness list problems|estimators|experiments|calibrators [WORD | KEY=VALUE ...] [--all]: ids, a line on each
calharness list papers [WORD ...]: the papers with their figures and tables

  calharness list                                      how many there are of each
  calharness list estimators kernel notion=canonical   those with the word in id or description, and with this notion
  calharness list experiments paper=berta2026 --all
  calharness list papers gruber2025 twin               how items were run, verdicts by source, what is missing, their pages

A line has all the words and all the properties that are given: notion= (problems, estimators), estimand= (estimators),
problem= and estimator= (experiments that use it), paper=.
  --all    also paper-faithful variants (ids that end in a paper's) and legacy streams, which are hidden otherwise""",
    "info": """calharness info ID: what a problem, estimator, experiment or calibrator is

  calharness info kde              docstring, every parameter with its default, notions, estimands
  calharness info beta_wavy        and its true calibration errors
  calharness info berta2026_fig1   problems, estimators, number of cells, files it needs
  calharness info my_module.Mine   an own class""",
    "plan": """calharness plan OVERRIDES: cells to do, done, skipped and why, and the time it would take; runs nothing

  calharness plan experiment=arena
  calharness plan experiment=arena 'n=[200,1000]' reps=5 jobs=2

Takes what a run takes (`calharness help run`).""",
    "status": """calharness status [out=DIR]: what the records of a results folder hold, by estimator, and its latest runs

  calharness status
  calharness status out=/scratch/results

  out=DIR    the folder; else CALHARNESS_OUT, else results/""",
    "report": """calharness report OVERRIDES: figure, tables and page anew from the records; computes nothing

  calharness report experiment=berta2026_fig1
  calharness report experiment=smoke estimand=l2_squared figure.dpi=300

Takes what a run takes (`calharness help run`).""",
    "results": """calharness results [--compute | --store] [EXPERIMENT ...] [out=DIR]: the results of all papers at once

  calharness results                       draw every experiment that has stored records, and results/index.html
  calharness results 'berta2026_*'         those of one paper
  calharness results --compute             compute what no record holds, cheapest first, then draw; interrupted? the same goes on
  calharness results --store 'ciosek*'     write results/records_of/EXPERIMENT.parquet from the records

  out=DIR    the folder; else CALHARNESS_OUT, else results/
Experiments without any number are not drawn. Exit status 1 if one could not be drawn or computed; it stops no other.""",
    "check": """calharness check TARGET: contract test, one line per item

  calharness check my_module.Mine    an estimator: a class with default arguments, an instance, or a function (p, y) -> float;
                                     a problem: sample(n, rng) -> (p, y); or a calibrator: fit(p, y)
  calharness check binned15          an id of an estimator or a problem

Exit status 1 if an item failed.""",
    "compare": """calharness compare TARGET [NAME=VALUE ...]: where one's own estimator stands among all of the arena, on one page

  calharness compare my_module.mine                        an estimator: module.Name or an id
  calharness compare calibrator=my_module.MyCalibrator     a calibrator, in the variational estimator
  calharness compare problem=my_module.MyProblem           the arena's cheap estimators on a problem
  calharness compare my_module.mine n=200,1000 reps=10 family=rare notion=binary estimand=l1
  calharness compare --rebuild [out=DIR] [jobs=N]          compute the baseline anew, cheapest first (hours), and store it

A few cells and the contract test come first; then only the new cells are computed, with the arena's problems, sample sizes,
replications and seed. Interrupted? The same command goes on. results/compare/NAME/ has page, figure, LaTeX table, and the
sentences to be quoted.
  n= reps= family= notion= estimand=    of the arena, a part
  limit=60        seconds that one estimate may take; an estimator that takes longer is stopped and named
  jobs=-1         processes; -1 = one per core
  out=DIR         the folder of records and results; else CALHARNESS_OUT, else results/
  baseline=DIR    the stored records of the arena; else those that came with the package
Exit status 2 if it cannot be compared; the baseline is only read.""",
    "doctor": """calharness doctor [--compact] [--repair] [OVERRIDES]: broken parts, duplicates, missing cells

  calharness doctor
  calharness doctor out=/scratch/results --compact
  calharness doctor experiment=arena    and the cells of this experiment that are missing

  --compact    join the readable parts into one
  --repair     move what cannot be read into broken/, with a note; its cells are computed again
Exit status 1 if there is a problem.""",
    "data": """calharness data list | fetch NAME | verify [NAME] | make NAME: published files and stand-ins for them

  calharness data list                   all packs: size, whether they are there, licence
  calharness data fetch kull_cifar       download one pack or a group of packs below CALHARNESS_DATA
  calharness data verify                 compare checksums

  data fetch tabrepo [--datasets a,b] [--folds 0,1,2] [--table1] [--from URL] [--out DIR]   (--help says more)
  data make tabular_oof                  offline stand-in for TabRepo: models trained here (--help)
  data make digits_networks              small networks on scikit-learn's digits, trained here (seconds)
  data make perturbed_networks           small classifiers trained with and without perturbed scores (minutes)
  data make imagenet_brightness --images DIR    timm's networks on darker and brighter ImageNet images (--help)

Nothing is downloaded unasked.""",
    "site": """calharness site [out=DIR]: all results as one static site; some two minutes

  calharness site                        writes results/site/index.html, which opens from the disk and asks for no network
  calharness site out=/scratch/results   of another folder of results

Overview, papers with every figure, table and claim, the arena, estimators, problems, your own variations, sweeps and comparisons,
provenance. `make docs` puts the documentation beside it. It needs the extra `site`: pip install 'calharness[site]'. After every
run of your own results/own_runs.html lists your runs, without the site.""",
    "completion": """calharness completion bash|zsh: a script that makes the shell complete commands, options, ids and parameters

  eval "$(calharness completion bash)"       in ~/.bashrc
  eval "$(calharness completion zsh)"        in ~/.zshrc, after compinit""",
}  # fmt: skip


def text(command: str | None) -> str:
    """The help of a command, or of the whole for None. Raises BadInputError on an unknown command."""
    if command is None:
        return MAIN
    if command not in TEXTS:
        from harness.errors import guess

        raise BadInputError(f"there is no command {command!r}{guess(command, list(TEXTS))}; commands are {', '.join(TEXTS)}.")
    return TEXTS[command].replace("{options}", _options()) if command == "run" else TEXTS[command]


def _options() -> str:
    """The lines of conf/config.yaml from n on, without what is Hydra's."""
    from harness.common.paths import CONF

    settings = (CONF / "config.yaml").read_text().split("\nhydra:")[0]
    return "\n".join(f"  {line}".rstrip() for line in settings[settings.index("\nn:") + 1 :].splitlines())


def asked(arguments: list[str], commands: Iterable[str]) -> str | None:
    """The command whose help the arguments ask for ("" for the whole), or None if they ask for none. `data make X` and `data
    fetch tabrepo` have a help of their own, which is not asked for here."""
    if not arguments or arguments[0] in ("help", "--help", "-h"):
        rest = [word for word in arguments[1:] if word not in ("--help", "-h")]
        return rest[0] if rest and arguments[0] == "help" else ""
    if not {"--help", "-h"} & set(arguments):
        return None
    first = arguments[0] if arguments[0] in commands else "run"
    own = first == "data" and (arguments[1:2] == ["make"] or arguments[2:3] in (["tabrepo"], ["tabular_oof"]))
    return None if own and len(arguments) > 3 else first
