"""`calharness run`, or a line of overrides without a command."""

from __future__ import annotations

from typing import Any

from harness.commands.base import Command, Overrides
from harness.common.paths import CONF


class RunCommand(Command):
    """A command whose help ends with conf/config.yaml: all options with their defaults."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the options of conf/config.yaml, without Hydra's own."""
        settings = (CONF / "config.yaml").read_text().split("\nhydra:")[0]
        lines = settings[settings.index("\nn:") + 1 :].splitlines()
        formatter.write("\nOverrides and their defaults (conf/config.yaml):\n")
        formatter.write("".join(f"  {line}".rstrip() + "\n" for line in lines))


def command(overrides: Overrides = None) -> int:
    """Compute the cells that have no record, then draw.

    \b
    calharness experiment=berta2026_fig1
    calharness problem=[beta_wavy,dirichlet3_harmonic] 'estimator=[binned15,kde]' \\
      'n=[500,2000]' reps=20 name=mine
    calharness experiment=smoke estimator.binned15.bins=30 +problem.beta_calibrated.a=2

    An override is NAME=VALUE. Write a list in brackets and quote it: 'n=[500,2000]'. Quote a text
    with spaces or signs twice: "title='a = b'". Add a parameter that the YAML of an id leaves out
    with +. +estimator=kde adds to the experiment's own estimators. After an interruption the same
    command goes on.

    \b
    -m, --multirun    sweep over values with commas, a job for each:
                      calharness -m experiment=smoke seed=0,1,2
    sweep.PATH=[...]  the same in one job: 'sweep.estimator.binned15.bins=[5,10,20]';
                      table and figure go to results/sweeps/
    --config-dir=DIR  read your own DIR/experiment/ID.yaml, DIR/problem/ID.yaml and
                      DIR/estimator/ID.yaml, too
    --cfg job         print the composed configuration, run nothing
    --traceback       print the whole trace of an error
    """
    from harness.commands import running

    return running.run(overrides or [])
