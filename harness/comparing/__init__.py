"""Compare an own estimator, problem or calibrator with all others on the arena.

The room is not called compare, because importing it would replace the function `harness.compare`.
"""
