"""A small run that tests of sweeps vary."""

PAIR = "problem=[beta_calibrated,beta_overconfident]"
BASE = ("experiment=smoke", PAIR, "estimator=[binned15,oracle]", "n=[60]", "reps=2", "jobs=1")
BINS = "sweep.estimator.binned15.bins=[5,10]"
