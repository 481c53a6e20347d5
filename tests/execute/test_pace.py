"""The remaining time of simulated runs, whose cells differ in cost by a factor of 1,000."""

import heapq
import itertools
from collections import Counter
from types import SimpleNamespace

import numpy as np

from harness.execute.pace import WARM_UP, Left, Pace, Times, Work
from harness.execute.pending import make_chunks
from harness.plan.cells import Cell

COSTS = {"fast": 1e-3, "middle": 3e-2, "slow": 0.1}  # seconds of a cell at n = 100
SIZES = (100, 1000)
SHAPES = {"fast": 0.0, "middle": 0.5, "slow": 1.0}  # exponents of n
PROBLEMS = "abcde"


def seconds(estimator, n):
    return COSTS[estimator] * (n / 100) ** SHAPES[estimator]


def simulate(seed, workers, reps=40, records_faster=None, busy=lambda now: 1.0):
    """Simulate a run. Return [(share of the time, true remaining seconds, Left)] for all answers.

    Problems differ in cost by a random factor of about 1.4, cells of a kind by one of 1.3. At the
    time `now`, all cells take `busy(now)` times as long.
    """
    rng = np.random.default_rng(seed)
    factor = {problem: np.exp(0.35 * rng.normal()) for problem in PROBLEMS}
    plan = SimpleNamespace(
        problems={name: SimpleNamespace(key=name) for name in PROBLEMS},
        estimators={name: SimpleNamespace(key=name) for name in COSTS},
        owner=lambda cell: None,
    )
    groups = [
        [Cell("", problem, "binary", n, rep, estimator, 0) for estimator in COSTS]
        for problem in PROBLEMS
        for rep in range(reps)
        for n in SIZES
    ]
    cells = list(itertools.chain.from_iterable(groups))
    past = [
        (name, problem, "binary", n, seconds(name, n) * factor[problem] / records_faster)
        for name, problem, n in itertools.product(COSTS, PROBLEMS, SIZES)
        if records_faster
    ]
    pace = Pace(plan, Counter(cell.kind for cell in cells), past)
    chunks = make_chunks(groups, len(cells), pace, workers)
    running, seen, count, cold = [], [], itertools.count(), workers
    for now in [0.0] * workers:
        heapq.heappush(running, (now, next(count), [], Work()))
    while running:
        now, _, done, work = heapq.heappop(running)
        if done:
            pace.add([cell.kind for cell in done], work, now)
            seen.append((now, pace.left(workers, now)))
        chunk = next(chunks, None)
        if chunk is None:
            continue
        work = Work()
        for cell in chunk:
            cost = seconds(cell.estimator, cell.n) * factor[cell.problem]
            cost *= np.exp(0.26 * rng.normal()) * busy(now)
            is_cold = cold > 0
            work.add_cell(cell.kind, cost + 2.0 * is_cold, is_cold)
            cold -= is_cold
        heapq.heappush(running, (now + work.seconds, next(count), chunk, work))
    end = now
    return [(moment / end, end - moment, left) for moment, left in seen]


def moments(runs, low=0.02, high=1.0):
    """Return (true remaining seconds, low end, high end) between two shares of the duration."""
    rows = [
        (truth, left.low, left.high)
        for run in runs
        for share, truth, left in run
        if low < share < high and not left.untimed
    ]
    return np.array(rows).T


def coverage(*rows):
    truth, low, high = moments(*rows)
    return np.mean((low <= truth) & (truth <= high))


def test_the_range_contains_the_remaining_time():
    """In 60 runs, it did at 96 % of the moments. It is a factor of 4 wide and narrow at the end."""
    for workers in (1, 4):
        runs = [simulate(seed, workers) for seed in range(6)]
        assert coverage(runs) > 0.9
        truth, low, high = moments(runs, 0.1, 0.5)
        assert np.median(high / truth) < 3.0 and np.median(low / truth) > 1 / 6
        truth, low, high = moments(runs, 0.8, 0.9)
        assert np.median(high / truth) < 1.5


def test_nothing_is_promised_of_kinds_that_nobody_has_timed():
    """The end of the range that is known is called a lower bound, and no guess is made."""
    plan = SimpleNamespace(
        problems={"p": SimpleNamespace(key="p")},
        estimators={name: SimpleNamespace(key=name) for name in COSTS},
    )
    fast, slow = ("p", "binary", "fast", 100), ("p", "binary", "slow", 100)
    pace = Pace(plan, {fast: 500, slow: 50})
    assert pace.left(2) == Left(0.0, 0.0, 550) and pace.mean(slow) is None
    pace.add([fast] * 100, Work(0, 10.0, {fast: Times(100, 10.0, 1.0)}), now=10.0)
    left = pace.left(2, now=10.0)
    assert left.untimed == 50 and left.remaining.startswith("at least 15 s left (50 cells")
    assert "untimed" not in Left(0.0, 0.0, 7).text and "about" not in Left(0.0, 0.4).text


def test_earlier_records_count_as_much_as_this_run_confirms():
    """Records of a machine that was three times as fast are corrected after the first cells."""
    runs = [simulate(seed, workers=1, records_faster=3.0) for seed in range(6)]
    assert not any(left.untimed for run in runs for _, _, left in run)
    assert coverage(runs, 0.1) > 0.9


def test_a_run_that_gets_slower_is_noticed():
    """No record foretells that cells take twice as long from some time on. The range follows."""
    runs = [simulate(seed, 1, busy=lambda now: 1.0 + (now > 20.0)) for seed in range(6)]
    assert coverage(runs, 0.6) > 0.7


def test_spread_of_further_cells():
    """The variance of a sum around its estimate is checked by simulation."""
    rng = np.random.default_rng(0)
    errors, variances = [], []
    for _ in range(4000):
        sample, further = rng.gamma(2.0, 1.0, 10), rng.gamma(2.0, 1.0, 40)
        times = Times(10, sample.sum(), (sample**2).sum())
        errors.append(further.sum() - 40 * times.mean)
        variances.append(times.variance_of(40))
    assert abs(np.var(errors) / np.mean(variances) - 1.0) < 5 * np.sqrt(2.0 / 4000)
    assert Times(1, 3.0, 9.0).variance_of(1) == 18.0  # one time: the mean is the standard deviation


def test_a_first_cell_counts_only_if_it_is_long():
    work = Work()
    work.add_cell(("p", "binary", "e", 10), WARM_UP - 1.0, is_cold=True)
    assert not work.times and work.seconds == WARM_UP - 1.0
    work.add_cell(("p", "binary", "e", 10), WARM_UP + 1.0, is_cold=True)
    assert work.times["p", "binary", "e", 10].count == 1
