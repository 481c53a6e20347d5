"""`calharness run`, whose name may be left out before overrides."""

from __future__ import annotations

from typing import Any

from harness.commands.base import Command, Overrides, read_run
from harness.common.paths import CONF


class RunCommand(Command):
    """Command whose help ends with all options and their defaults, from conf/config.yaml."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the options of conf/config.yaml. Settings of Hydra are left out."""
        settings = (CONF / "config.yaml").read_text().split("\nhydra:")[0]
        lines = settings[settings.index("\nn:") + 1 :].splitlines()
        formatter.write("\nOverrides and their defaults (conf/config.yaml):\n")
        formatter.write("".join(f"  {line}".rstrip() + "\n" for line in lines))


def command(overrides: Overrides = None) -> int:
    """Compute the cells that have no record yet, then draw figures, tables and a page.

    \b
    calharness experiment=berta2026_fig1
    calharness problem=[beta_wavy,dirichlet3_harmonic] 'estimator=[binned15,kde]' \\
      'n=[500,2000]' reps=20 name=mine
    calharness experiment=smoke estimator.binned15.bins=30 +problem.beta_calibrated.a=2

    An override is NAME=VALUE. Write a list in brackets and quote it: 'n=[500,2000]'. Quote a text
    with spaces or signs twice: "title='a = b'". A plus adds a parameter that the YAML of an id does
    not set, or an estimator: +estimator=kde adds one to those of the experiment. The same command
    resumes an interrupted run.

    \b
    -m, --multirun    run one job for each of several values, separated by commas:
                      calharness -m experiment=smoke seed=0,1,2
    sweep.PATH=[...]  run several values in one job: 'sweep.estimator.binned15.bins=[5,10,20]';
                      table and figure go to results/sweeps/. sweep.zip.PATH=[...] takes the values
                      of several paths together
    --config-dir=DIR  also read your own DIR/experiment/ID.yaml, DIR/problem/ID.yaml and
                      DIR/estimator/ID.yaml
    --cfg job         print the composed configuration and run nothing
    --traceback       print the whole traceback of an error
    """
    request = read_run(overrides or [])
    from harness.workflow import running

    return running.run(request)
