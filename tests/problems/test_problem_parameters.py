"""Parameters of problems that are out of range are refused, and the message names them."""

import numpy as np
import pytest
from refusals import refuses

import harness
from harness.problems import (
    Beta,
    BinaryProblem,
    Dirichlet,
    MovedMass,
    Perturbed,
    Recalibrated,
    TemperedDirichlet,
    TopLaw,
    TwoNormals,
    maps,
)
from harness.problems.binary import BetaLaw

TEMPERATURE = harness.calibrators.Temperature()


def recalibrated(validation, test, n=None):
    problem = Recalibrated(validation, test, TEMPERATURE, n)
    return problem.sample(5, np.random.default_rng(0))


REFUSED = {
    "a=0.0, b=1.0": lambda: Beta(0.0, 1.0),
    "a=nan": lambda: Beta(np.nan, 1.0),
    "'ece'": lambda: Beta().truth("ece"),
    "classes=1": lambda: Dirichlet(1),
    "alpha=-1.0": lambda: Dirichlet(3, -1.0),
    "'l1_over'": lambda: Dirichlet().truth("l1_over"),
    "classes=1;": lambda: TemperedDirichlet(1),
    "alpha=0.0": lambda: TemperedDirichlet(3, 0.0),
    "prediction_power=-1.0": lambda: TemperedDirichlet(3, 1.0, 1.0, -1.0),
    "('binary',)": lambda: TemperedDirichlet(3, default_notions=("binary",)),
    "'l1'": lambda: TemperedDirichlet(3).truth_of_vector("l1"),
    "h is 0.0": lambda: Perturbed(BinaryProblem(), 0.0),
    "h is 'a'": lambda: Perturbed(BinaryProblem(), "a"),
    "notion is 'classwise'": lambda: Perturbed(BinaryProblem(), 0.1, "classwise"),
    "3 classes": lambda: Perturbed(Dirichlet(3), 0.1).sample(5, np.random.default_rng(0)),
    "estimand is 'l0'": lambda: harness.load_problem("score_sine_perturbed").truth("l0"),
    "atoms contains (1.5, 0.5)": lambda: BinaryProblem(atoms=((1.5, 0.5),)),
    "atoms contains (0.5, 0)": lambda: BinaryProblem(atoms=((0.5, 0.0),)),
    "sum to 1.4": lambda: BinaryProblem(atoms=((0.5, 0.7), (0.6, 0.7))),
    "atoms is (0.5, 0.7)": lambda: BinaryProblem(atoms=(0.5, 0.7)),
    "map has values from 0.5 to 1.2": lambda: BinaryProblem(maps.Affine(0.5, 0.7)),
    "a=0.5": lambda: BinaryProblem(law=BetaLaw(0.5, 1.0)),
    "separation is -1.0": lambda: TwoNormals(-1.0),
    "values has 2 entries": lambda: maps.Steps((0.1, 0.2), (0.3, 0.4)),
    "cuts is [0.6, 0.4]": lambda: maps.Steps((0.1, 0.2, 0.3), (0.6, 0.4)),
    "envelope is 'round'": lambda: maps.Wave(envelope="round"),
    "width is 0.0": lambda: maps.Bump(width=0.0),
    "classes is 2": lambda: TopLaw(2),
    "a=0.0": lambda: TopLaw(3, a=0.0),
    "decay is 0.0": lambda: TopLaw(3, decay=0.0),
    "(0.2, 0.5)": lambda: TopLaw(3, atoms=((0.2, 0.5),)),
    "sum to 1.4 ": lambda: TopLaw(3, atoms=((0.5, 0.7), (0.6, 0.7))),
    "atoms is 0.5": lambda: TopLaw(3, atoms=0.5),
    "law is": lambda: MovedMass(law=maps.Identity()),
    "to is 'nobody'": lambda: MovedMass(to="nobody"),
    "tops is": lambda: MovedMass(tops=(2, 9)),
    "consist of whole pairs": lambda: MovedMass(tops=(0, 1), to="partner"),
    "above the diagonal": lambda: MovedMass(map=maps.Bend(0.5), to="runner_up"),
    "map has values from": lambda: MovedMass(map=maps.Bend(2.5)),
    "tail is 2.0": lambda: MovedMass(tail=2.0),
    "tail is 0.5": lambda: MovedMass(map=maps.Bend(-0.5), tail=0.5),
    "validation_n is missing": lambda: recalibrated(Beta(), Beta()),
    "validation_n is 0": lambda: recalibrated(Beta(), Beta(), 0),
    "(9, 3)": lambda: recalibrated(Dirichlet(3), Dirichlet(4), 9),
    "(9,)": lambda: recalibrated(Beta(), Dirichlet(2), 9),
}


@pytest.mark.parametrize("words", REFUSED)
def test_a_parameter_out_of_range_is_refused(words):
    refuses(REFUSED[words], words.rstrip(" ;"))
