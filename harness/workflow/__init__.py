"""A run from its settings to its drawings: what the commands run, report, results and sweep use."""
