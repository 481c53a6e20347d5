"""Wrong command lines: one line on standard error with the remedy, and exit status 2.

No traceback is printed, and nothing is written.
"""

import shlex
import sys

import pytest

import harness
from harness import BadInputError

# a command line => an id, option or remedy that the message names; @ stands for experiment=smoke
MISTAKES = """
lst problems => (did you mean 'list'?)
help pln => (did you mean 'plan'?)
run => no problem is selected; give problem=[ID,...] or experiment=ID
run smoke => 'smoke' is not an option; did you mean experiment=smoke?
@ --rep 3 => there is no flag '--rep'; options are written without dashes, so give reps=3
@ --cfg foo => invalid choice: 'foo'
@ --cfg => expected one argument
-m seed=0,1 => -m is given without an experiment= or problem= to run
-m experiment=smoke,smokee => there is no experiment 'smokee' (did you mean 'smoke'?)
-m @ hydra/launcher=nope => there is no hydra/launcher 'nope'; known are basic, joblib
@ hydra/launcher=submitit_nope => `pip install 'calharness[slurm]'` installs it
@ estimator=[binned15, oracle] => put quotes around it: 'estimator=[binned15, oracle]'
@ 'n =5' => n =5 cannot be read
@ n => 'n' has no value; give n=VALUE
@ n:5 => 'n:5' is not an option (did you mean 'n'?)
@ n=100,200 => n=100,200 is a list without brackets; write 'n=[100,200]'
@ n=range(100,400,100) => write 'n=[100,200,300]'
@ n=[100,200 => lacks a closing bracket; write 'n=[100,200]'
@ estimator=binned15,kde => write 'estimator=[binned15,kde]'
@ sweep.estimator.binned15.bins=5,10 => write 'sweep.estimator.binned15.bins=[5,10]'
@ jobs=1,2 => jobs=1,2 has several values; give one, or -m for a job of each value
@ seed=0,1 => write 'sweep.seed=[0,1]', or -m for a job of each value
@ "title='a',b" => is a text with a comma
@ estimator.binned15.bins=interval(2,9) => cannot be read
@ sweep.binned15.bins=[5,6] => give sweep.estimator.binned15.bins=[values]
@ 'title=a: b=c' => title=a: b=c cannot be read
@ 'paper=${foo}' => Interpolation key 'foo' not found
@ rep=3 => there is no option 'rep' (did you mean 'reps'?)
@ +foo=1 => there is no option 'foo'; options are problem, estimator, experiment, n, reps
@ labels.problem=3 => labels.problem is 3
@ +figure.dpj=1 => did you mean 'figure.dpi'?
@ figure=3 => figure is 3
@ figure.estimators=[kde] => figure.estimators has kde
@ estimator=[binned15] figure.estimand=kl => figure.estimand is 'kl'
@ figure.dpi=1 => figure.dpi is 1; give a number from 30 to 1200
@ bootstrap=200 => no problem of this run is a file whose rows could be resampled; leave it out
@ estimator=[binned15] estimand=kl => no estimator of this run estimates; choose among l1, l2
@ sweep=3 => sweep
@ sweep.estimator.binned15.bins=[] => sweep.estimator.binned15.bins is an empty list
@ sweep.estimator.binned15.bins=[5,5.0] => sweep.estimator.binned15.bins contains 5 twice
@ sweep.estimator.binned15.bins=[5,0] => bins is 0
@ sweep.estimator.binned15.binz=[5,6] => parameters are bins, rule
@ sweep.estimator.binned15=[5,6] => give sweep.estimator.ID.PARAMETER=[values]
@ sweep.sed=[5,6] => did you mean 'seed'?
@ sweep.reps=[1,2] => give reps=[1, 2]
@ sweep.out=[a,b] => out cannot be swept
@ sweep.problem.beta_calibrated.q=[1,2] => parameters are a, b, map
problem=beta_wavy estimator=[simplex_ece] sweep.estimator.simplex_ece.intervals=[3,4] => no binary
@ sweep.estimator.kde.bandwidth=[0.1,0.2] => add it to estimator=[...]
experiment=ranking_dirichlet10 sweep.seed=[0,1] => leave out ranking or the sweep
-m @ estimator.binned15.bins=5,0 => bins is 0
-m @ estimator.binned15.bins=interval(2,9) => give values such as 1,2,5
-m @ out=a,b => out cannot be swept
-m @ shard=0,1 => shard is 1, but shards=1
-m @ +estimator.x._target_=a.B,a.C => estimator.x._target_
-m @ problem=beta_wavy,beta_wawy => there is no problem 'beta_wawy' (did you mean 'beta_wavy'?)
@ +n=5 => +n=5 cannot be read
@ n.a=3 => n.a=3
@ ~estimator => ~estimator cannot be read
experiment= => experiment is empty; give experiment=ID, or leave it out
experiment=[smoke,arena] => `-m experiment=a,b` runs several in turn
@ experiment=arena => names several experiments
@ estimator=null => estimator=null cannot be read
@ estimator=[] => no estimator is selected
@ estimator=[binned16] => there is no estimator 'binned16' (did you mean 'binned15'?)
@ estimator=glob(nothing*) => no estimator matches 'nothing*'
@ estimator=[oracle] +estimator=kde => put kde into estimator=
@ estimator.binned15.binz=3 => did you mean 'estimator.binned15.bins'?
@ +estimator.binned15.binz=3 => has no parameter binz (did you mean 'bins'?)
@ estimator.variational_isotonic.folds=3 => +estimator.variational_isotonic.folds=VALUE
@ +estimator.variational_isotonic.folds=abc => folds is 'abc'
@ estimator.binned15=7 => estimator.binned15 is 7
@ estimator.binned15.rule=mess => rule is 'mess'; allowed are width, mass, kmeans
@ +estimator.kde.bandwidth=0.1 => add +estimator=kde
@ +problem.beta_calibrated.a=abc => problem 'beta_calibrated'
@ problem.beta_calibrated.q=1 => beta_calibrated has map, a, b.
problem=beta_calibrated_legacy estimator=[binned15] n=[300] => for certain n; choose among 200, 264
@ +estimator.mine=3 => by +estimator.mine._target_=module.ClassOrFunction
@ +estimator.mine.bins=3 => estimator 'mine' has no _target_
@ +estimator.mine._target_=nowhere.Mine => cannot import 'nowhere'
@ +estimator.mine._target_=Mine => names no module; write my_module.Mine
@ +estimator.mine._target_=math.Mine => module 'math' has no 'Mine'
@ +estimator.mine._target_=harness.estimators.Bootstrap => Bootstrap needs a value for estimator
@ +estimator.mine._target_=harness.math.notions.one_hot +estimator.mine.k=3 => has no parameter k
problem=predictions => problem.predictions.path is missing
problem=predictions problem.predictions.path=absent.csv => no file absent.csv
@ n=0 => n is 0; give positive integers
@ item=fig1 => give paper=PAPER
@ engine=threads => engine is 'threads'; allowed are serial, loky, dask, ray
@ name='a b' => name is 'a b'
@ name=records => name is 'records', a folder that the harness uses itself
@ out= => out is ''
@ out=file/below => is a file; give the path of a folder
@ "out='~no_such_user/x'" => which is not a path
report @ => run it first
list estimator => did you mean 'estimators'?
list things => give one of problems, estimators, experiments, calibrators
list problems --al => list: No such option: --al
list estimators notion=strong => no estimator matches notion=strong
list estimators kind=lower => estimators cannot be filtered by 'kind'
info => info: Missing argument 'ID'; `calharness info --help`
info beta_wawy => did you mean 'beta_wavy'?
check => check: Missing argument
check binned16 => binned16
check math.pi => math.pi
status n=5 => it takes out=
status out=nowhere => nowhere', which does not exist
doctor foo=1 => there is no option 'foo'
data => data: Missing command
data fetsh => No such command 'fetsh'
data fetch no_pack => there is no pack 'no_pack'
data fetch tabrepo --folds x => such as 0,1
data fetch kull_cifar --folds 0 => kull_cifar takes no options
data verify no_pack => there is no pack 'no_pack'
data make digits_networks --kinds foo => --kinds has foo; allowed are layers
data make tabular_oof --models nope => --models has nope; allowed are CatBoost
data make imagenet_brightness => Missing option '--images'
judge preds.csv --level much => '--level'
results n=3 => has no option 'n'
results --compute --store => --compute or --store
compare mine.A --rebuilt => compare: No such option: --rebuilt
"""


@pytest.mark.parametrize("line", MISTAKES.strip().splitlines())
def test_mistake_is_answered_in_one_sentence(cli, out, tmp_path, monkeypatch, line):
    monkeypatch.setattr(sys, "argv", ["calharness"])  # Hydra's entry sets it
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("")
    command, _, named = line.partition(" => ")
    code, _, err = cli(*shlex.split(command.replace("@", "experiment=smoke")))
    assert code == 2 and len(err.strip().splitlines()) == 1 and "Traceback" not in err
    assert named in err
    assert not out.exists() and [path.name for path in tmp_path.iterdir()] == ["file"]


# Forms of files have their tests in tests/sources/test_files.py.
ROWS = "p,y\n0.2,0\n0.7,1\n0.4,1\n"
FILES = {  # name, content, options, and an option, value or remedy that the message names
    "empty": ("a.csv", "", "", "is an empty file"),
    "percent": ("a.csv", "p,y\n20,0\n70,1\n", "", "divide percent by 100"),
    "no archive": ("a.npz", "PK and so on", "", "np.savez('preds.npz', probs=p, labels=y)"),
    "no parquet": ("a.parquet", "PAR1", "", "frame.to_parquet('preds.parquet')"),
    "json": ("a.json", "{}", "", "allowed are .npz, .csv, .tsv, .parquet and .jsonl"),
    "no such column": ("a.csv", ROWS, "problem.predictions.labels=z", "z"),
    "more samples than rows": ("a.csv", ROWS, "n=9", "has only 3 rows"),
    "few resamples": ("a.csv", ROWS, "bootstrap=3", "bootstrap is 3"),
    "one file of two": ("a.csv", ROWS, "sweep.problem.predictions.path=[a.csv,b.csv]", "b.csv"),
    "two parts": ("a.csv", ROWS, "problem.predictions.split=validation", "has only one part"),
}


@pytest.mark.parametrize("case", FILES)
def test_file_that_cannot_be_judged_is_answered_in_one_sentence(
    cli, out, tmp_path, monkeypatch, case
):
    name, content, option, named = FILES[case]
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(content)
    path = f"problem.predictions.path={name}"
    code, _, err = cli("problem=predictions", path, "estimator=[binned15]", *option.split())
    assert code == 2 and len(err.strip().splitlines()) == 1 and "Traceback" not in err
    assert named in err and not out.exists()


def test_options_of_a_run_are_a_list():
    with pytest.raises(BadInputError, match="the text 'problem=beta_wavy'; give a list of texts"):
        harness.run("problem=beta_wavy")
