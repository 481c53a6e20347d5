"""Estimators that leave their process in another state, and what the records of them must say."""

MODULE = """
import os, resource, signal

def lowered(which, allowed):
    def lower(p, y):
        resource.setrlimit(which, (allowed, allowed))
        return 0.25
    return lower

def rings(signum, frame):
    raise RuntimeError("own alarm")

def pops_a_variable(p, y):
    os.environ.pop("OMP_NUM_THREADS", None)
    return 0.25
def clears_the_environment(p, y):
    os.environ.clear()
    return 0.25
def leaves_an_alarm(p, y):
    signal.setitimer(signal.ITIMER_REAL, 1e-3)
    return 0.25
def leaves_an_alarm_that_raises(p, y):
    signal.signal(signal.SIGALRM, rings)
    signal.setitimer(signal.ITIMER_REAL, 1e-3)
    return 0.25
def leaves_a_profiler_that_raises(p, y):
    signal.signal(signal.SIGPROF, rings)
    signal.setitimer(signal.ITIMER_PROF, 1e-3, 1e-3)
    return 0.25
def leaves_the_folder(p, y):
    os.chdir("/")
    return 0.25
class Mute(Exception):
    def __str__(self):
        raise KeyboardInterrupt
def raises_mutely(p, y):
    raise Mute
def interrupts(p, y):
    raise KeyboardInterrupt
def fine(p, y):
    return 0.25

lowers_memory = lowered(resource.RLIMIT_AS, 2**24)
lowers_data = lowered(resource.RLIMIT_DATA, 2**20)
lowers_sizes = lowered(resource.RLIMIT_FSIZE, 10)
lowers_files = lowered(resource.RLIMIT_NOFILE, 3)
"""
# {estimator: text that the reasons of its failed cells contain, or None if no cell may fail}. An
# alarm rings inside the estimator itself if the machine is slow.
REASONS = {
    "pops_a_variable": None,
    "clears_the_environment": None,
    "leaves_an_alarm": "SIGALRM",
    "leaves_an_alarm_that_raises": "own alarm",
    "leaves_a_profiler_that_raises": "own alarm",
    "leaves_the_folder": None,
    "raises_mutely": "__str__ raises KeyboardInterrupt",
    "interrupts": "KeyboardInterrupt",
    "lowers_memory": "",
    "lowers_data": "",
    "lowers_sizes": "",
    "lowers_files": "",
    "fine": None,
}


def check(records, reps):
    """Assert that all cells have records, that failures name the cause, and others are fine."""
    cells = records.drop_duplicates("key")
    assert set(cells.groupby("estimator").size()) == {reps}
    states = cells.groupby("estimator")["status"].agg(set)
    for name in set(cells["estimator"]):
        reason, failed = REASONS.get(name), cells.query("estimator == @name and status == 'failed'")
        assert states[name] <= ({"ok"} if reason is None else {"ok", "failed"}), (name, failed)
        assert failed["reason"].str.contains(reason or "", regex=False).all(), failed["reason"]
    for name in ("raises_mutely", "interrupts", "lowers_sizes", "lowers_memory"):
        assert states[name] == {"failed"}
