"""Estimators for the injections. They misbehave on some samples, which nobody has selected."""

import ctypes
import os
import time

import numpy as np


def is_selected(p):
    """Return True if the estimators below misbehave on this sample. About one in three is."""
    return int(p[0] * 1e6) % 3 == 0


def slow(p, y):
    time.sleep(0.02)
    return float(p.mean())


def raises(p, y):
    return 1 // 0 if is_selected(p) else float(p.mean())


def hangs(p, y):
    time.sleep(1000 if is_selected(p) else 0)
    return float(p.mean())


def hangs_in_c(p, y):
    if is_selected(p):
        ctypes.PyDLL(None).sleep(1000)  # keeps the interpreter's lock, as C code can
    return float(p.mean())


def eats_memory(p, y):
    arrays = []
    while is_selected(p):
        arrays.append(np.ones(5_000_000))
    return float(p.mean())


def crashes(p, y):
    return ctypes.string_at(0) if is_selected(p) else float(p.mean())


def exits(p, y):
    return os._exit(3) if is_selected(p) else float(p.mean())


def forks(p, y):
    if is_selected(p) and not os.fork():
        return -1.0
    return float(p.mean())


def detaches(p, y):
    if is_selected(p) and not os.fork():
        os.setsid()
        os.fork()
        time.sleep(1000)
    return float(p.mean())


def prints(p, y):
    while is_selected(p):
        print("printed " * 1000, flush=True)
        time.sleep(0.01)
    return float(p.mean())


def alters(p, y):
    if is_selected(p):
        p[:] = 0.5
    return float(p.mean())
