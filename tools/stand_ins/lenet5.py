"""LeNet-5 with batch normalisation: forward and backward pass in numpy and numba, on one thread.

    conv 6 x 5 x 5, max pooling, ReLU, batch normalisation,
    conv 16 x 5 x 5, ReLU, batch normalisation, max pooling, dense 120, 84, 10 with ReLU between

Max pooling before the first ReLU gives the same numbers as after it, and ReLU costs a quarter.

The images are the last axis of every array, so images have the shape (channels, height, width, n).
The inner loops of the convolutions then run over a whole row of all images, which is contiguous.
The compiler turns them into vector instructions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import njit

Weights = dict[str, np.ndarray]
SIDE = 5  # height and width of the kernels of the convolutions
CLASSES = 10
EPSILON = 1.1e-5
KEPT = 0.99  # share of a moving average that stays after a batch
SHAPES = {
    "conv1": (6, 3, SIDE, SIDE),
    "conv2": (16, 6, SIDE, SIDE),
    "dense1": (120, 400),
    "dense2": (84, 120),
    "dense3": (CLASSES, 84),
}
CHANNELS = {"norm1": 6, "norm2": 16}
MOVING = ("moving_mean", "moving_var")


@dataclass
class Buffers:
    """Outputs of the layers for n images, allocated once. The backward pass overwrites them."""

    conv1: np.ndarray
    pool1: np.ndarray
    norm1: np.ndarray
    conv2: np.ndarray
    norm2: np.ndarray
    pool2: np.ndarray

    @classmethod
    def of(cls, n: int, dtype: type = np.float32) -> Buffers:
        shapes = (6, 28, 28), (6, 14, 14), (6, 14, 14), (16, 10, 10), (16, 10, 10), (16, 5, 5)
        return cls(*(np.empty((*shape, n), dtype) for shape in shapes))


def first_weights(rng: np.random.Generator, dtype: type = np.float32) -> Weights:
    """Return He-normal kernels cut at two standard deviations, zero offsets and unit scales.

    The moving means and variances of the batch normalisations start at 0 and 1.
    """
    weights: Weights = {}
    for name, shape in SHAPES.items():
        weights[f"{name}.kernel"] = _cut_normal(shape, rng).astype(dtype)
        weights[f"{name}.bias"] = np.zeros(shape[0], dtype)
    for name, channels in CHANNELS.items():
        for part, value in (("scale", 1), ("bias", 0), (MOVING[0], 0), (MOVING[1], 1)):
            weights[f"{name}.{part}"] = np.full(channels, value, dtype)
    return weights


def logits(weights: Weights, x: np.ndarray, b: Buffers | None = None) -> np.ndarray:
    """Return the logits (classes, n) of images (3, 32, 32, n), by the moving averages."""
    b = Buffers.of(x.shape[-1], x.dtype.type) if b is None else b
    return _forward(weights, x, b, _normalise)[0][-1]


def loss_and_slopes(
    weights: Weights, x: np.ndarray, y: np.ndarray, b: Buffers
) -> tuple[float, Weights]:
    """Return the mean cross-entropy of a batch and its derivatives. Update the moving averages.

    Parameters
    ----------
    weights : dict
        Weights in the format of `first_weights`. Only the moving averages change.
    x : array (3, 32, 32, n)
        Standardised images.
    y : array (n,)
        Labels in 0..9.
    b : Buffers
        Arrays for n images.
    """
    w, n, images = weights, len(y), np.arange(len(y))
    (*inputs, z), (moments1, moments2) = _forward(w, x, b, _normalise_batch)
    p = np.exp(z - z.max(axis=0))
    p /= p.sum(axis=0)
    loss = -np.log(np.maximum(p[y, images], np.finfo(p.dtype).tiny)).mean()
    p[y, images] -= 1
    outside = p / n
    slopes: Weights = {}
    for name, h in zip(("dense3", "dense2", "dense1"), reversed(inputs)):
        slopes[f"{name}.kernel"], slopes[f"{name}.bias"] = outside @ h.T, outside.sum(axis=1)
        outside = w[f"{name}.kernel"].T @ outside
        if name != "dense1":
            outside *= h > 0
    unpool(b.norm2, b.pool2, outside.reshape(b.pool2.shape))
    _unnormalise(b.norm2, b.conv2, moments2, w, "norm2", slopes)
    slopes["conv2.bias"] = b.norm2.sum(axis=(1, 2, 3))
    slopes["conv2.kernel"] = kernel_slopes(b.norm1, b.norm2)
    input_slopes(b.norm2, w["conv2.kernel"], b.norm1)
    _unnormalise(b.norm1, b.pool1, moments1, w, "norm1", slopes)
    slopes["conv1.bias"] = b.norm1.sum(axis=(1, 2, 3))
    unpool(b.conv1, b.pool1, b.norm1)
    slopes["conv1.kernel"] = kernel_slopes(x, b.conv1)
    return float(loss), slopes


def _forward(w, x, b, normalise):
    """Return the inputs of the dense layers with the logits, and what `normalise` returned."""
    convolve(x, w["conv1.kernel"], w["conv1.bias"], b.conv1)
    pool(b.conv1, b.pool1)
    np.maximum(b.pool1, 0, out=b.pool1)
    moments1 = normalise(b.pool1, w, "norm1", b.norm1)
    convolve(b.norm1, w["conv2.kernel"], w["conv2.bias"], b.conv2)
    np.maximum(b.conv2, 0, out=b.conv2)
    moments2 = normalise(b.conv2, w, "norm2", b.norm2)
    pool(b.norm2, b.pool2)
    layers = [b.pool2.reshape(SHAPES["dense1"][1], -1)]
    for name in ("dense1", "dense2", "dense3"):
        h = w[f"{name}.kernel"] @ layers[-1] + w[f"{name}.bias"][:, None]
        layers.append(h if name == "dense3" else np.maximum(h, 0, out=h))
    return layers, (moments1, moments2)


def _normalise(x, w, name, out):
    """Standardise x by the moving averages, as a trained network does."""
    spread = np.sqrt(w[f"{name}.moving_var"] + x.dtype.type(EPSILON))
    standardise(x, w[f"{name}.moving_mean"], w[f"{name}.scale"] / spread, w[f"{name}.bias"], out)


def _normalise_batch(x, w, name, out):
    """Standardise x by the batch, update the moving averages, return mean and 1 / spread."""
    number, (mean, variance) = x[0].size, moments(x)
    inverse = 1 / np.sqrt(variance + x.dtype.type(EPSILON))
    standardise(x, mean, w[f"{name}.scale"] * inverse, w[f"{name}.bias"], out)
    # as in TensorFlow, the moving average takes the unbiased variance
    for part, value in zip(MOVING, (mean, variance * (number / (number - 1)))):
        w[f"{name}.{part}"] = (KEPT * w[f"{name}.{part}"] + (1 - KEPT) * value).astype(x.dtype)
    return mean, inverse


def _unnormalise(outside, x, mean_and_inverse, w, name, slopes):
    """Replace derivatives by outputs of a batch normalisation by those before its ReLU."""
    mean, inverse = mean_and_inverse
    slopes[f"{name}.bias"], slopes[f"{name}.scale"] = normalised_slopes(
        outside, x, mean, inverse, w[f"{name}.scale"]
    )


@njit(cache=True, fastmath=True, error_model="numpy")
def convolve(x, kernel, bias, out):
    """Write the correlation of x (inputs, h, w, n) with a kernel, without padding, into `out`."""
    outputs, height, width, n = out.shape
    inputs, m = x.shape[0], width * n
    x, flat = x.reshape(inputs, x.shape[1], -1), out.reshape(outputs, height, m)
    for y in range(height):
        for o in range(0, outputs, 2):
            first, second = flat[o, y], flat[o + 1, y]
            first[:] = bias[o]
            second[:] = bias[o + 1]
            for c in range(inputs):
                for v in range(SIDE):
                    row, k, q = x[c, y + v], kernel[o, c, v], kernel[o + 1, c, v]
                    r1, r2, r3, r4 = row[n:], row[2 * n :], row[3 * n :], row[4 * n :]
                    for j in range(m):
                        first[j] += (
                            k[0] * row[j]
                            + k[1] * r1[j]
                            + k[2] * r2[j]
                            + k[3] * r3[j]
                            + k[4] * r4[j]
                        )
                        second[j] += (
                            q[0] * row[j]
                            + q[1] * r1[j]
                            + q[2] * r2[j]
                            + q[3] * r3[j]
                            + q[4] * r4[j]
                        )


@njit(cache=True, fastmath=True, error_model="numpy")
def kernel_slopes(x, outside):
    """Return the derivatives by the kernel, given those by the output of `convolve`."""
    outputs, height, width, n = outside.shape
    inputs, m = x.shape[0], width * n
    x, flat = x.reshape(inputs, x.shape[1], -1), outside.reshape(outputs, height, m)
    result = np.zeros((outputs, inputs, SIDE, SIDE), x.dtype)
    zero = x.dtype.type(0)
    for y in range(height):
        for c in range(inputs):
            for v in range(SIDE):
                row = x[c, y + v]
                r1, r2, r3, r4 = row[n:], row[2 * n :], row[3 * n :], row[4 * n :]
                for o in range(outputs):
                    d, s0, s1, s2, s3, s4 = flat[o, y], zero, zero, zero, zero, zero
                    for j in range(m):
                        s0 += d[j] * row[j]
                        s1 += d[j] * r1[j]
                        s2 += d[j] * r2[j]
                        s3 += d[j] * r3[j]
                        s4 += d[j] * r4[j]
                    k = result[o, c, v]
                    k[0] += s0
                    k[1] += s1
                    k[2] += s2
                    k[3] += s3
                    k[4] += s4
    return result


@njit(cache=True, fastmath=True, error_model="numpy")
def input_slopes(outside, kernel, out):
    """Write the derivatives by the input of `convolve` into `out`, an array like that input."""
    outputs, height, width, n = outside.shape
    inputs, m = out.shape[0], width * n
    flat, result = outside.reshape(outputs, height, m), out.reshape(inputs, out.shape[1], -1)
    result[:] = 0
    for y in range(height):
        for c in range(inputs):
            for v in range(SIDE):
                row = result[c, y + v]
                for u in range(SIDE):
                    part = row[u * n :]
                    for o in range(0, outputs, 8):
                        d0, d1, d2, d3 = flat[o, y], flat[o + 1, y], flat[o + 2, y], flat[o + 3, y]
                        d4, d5, d6, d7 = (
                            flat[o + 4, y],
                            flat[o + 5, y],
                            flat[o + 6, y],
                            flat[o + 7, y],
                        )
                        k = kernel[o : o + 8, c, v, u]
                        for j in range(m):
                            part[j] += (
                                k[0] * d0[j] + k[1] * d1[j] + k[2] * d2[j] + k[3] * d3[j]
                                + k[4] * d4[j] + k[5] * d5[j] + k[6] * d6[j] + k[7] * d7[j]
                            )  # fmt: skip


@njit(cache=True, fastmath=True, error_model="numpy")
def pool(x, out):
    """Write the largest of each 2 x 2 values into `out`."""
    channels, height, width, n = out.shape
    for c in range(channels):
        for y in range(height):
            for u in range(width):
                top, bottom = x[c, 2 * y], x[c, 2 * y + 1]
                a, b, d, e = top[2 * u], top[2 * u + 1], bottom[2 * u], bottom[2 * u + 1]
                row = out[c, y, u]
                for j in range(n):
                    row[j] = max(max(a[j], b[j]), max(d[j], e[j]))


@njit(cache=True, fastmath=True, error_model="numpy")
def unpool(x, pooled, outside):
    """Replace x by the derivatives by the input of `pool`. The first of equal values gets all."""
    channels, height, width, n = pooled.shape
    zero = x.dtype.type(0)
    for c in range(channels):
        for y in range(height):
            for u in range(width):
                top, bottom = x[c, 2 * y], x[c, 2 * y + 1]
                a, b, d, e = top[2 * u], top[2 * u + 1], bottom[2 * u], bottom[2 * u + 1]
                largest, slope = pooled[c, y, u], outside[c, y, u]
                for j in range(n):
                    value, left = largest[j], slope[j]
                    first = left if a[j] == value else zero
                    left -= first
                    second = left if b[j] == value else zero
                    left -= second
                    third = left if d[j] == value else zero
                    left -= third
                    a[j] = first
                    b[j] = second
                    d[j] = third
                    e[j] = left if e[j] == value else zero


@njit(cache=True, fastmath=True, error_model="numpy")
def moments(x):
    """Return mean and variance of each channel of x (channels, ...)."""
    flat = x.reshape(x.shape[0], -1)
    mean, variance = np.empty(len(flat), x.dtype), np.empty(len(flat), x.dtype)
    for c in range(len(flat)):
        row, total = flat[c], x.dtype.type(0)
        for j in range(len(row)):
            total += row[j]
        middle = x.dtype.type(total / len(row))
        total = x.dtype.type(0)
        for j in range(len(row)):
            gap = row[j] - middle
            total += gap * gap
        mean[c], variance[c] = middle, total / len(row)
    return mean, variance


@njit(cache=True, fastmath=True, error_model="numpy")
def standardise(x, mean, slope, bias, out):
    """Write (x - mean) * slope + bias of each channel into `out`."""
    flat, result = x.reshape(x.shape[0], -1), out.reshape(x.shape[0], -1)
    for c in range(len(flat)):
        row, target, k, middle, shift = flat[c], result[c], slope[c], mean[c], bias[c]
        for j in range(len(row)):
            target[j] = (row[j] - middle) * k + shift


@njit(cache=True, fastmath=True, error_model="numpy")
def normalised_slopes(outside, x, mean, inverse, scale):
    """Replace derivatives by the output of a batch normalisation by those before a ReLU.

    x >= 0 is the output of that ReLU and the input of the batch normalisation. Return the
    derivatives by the offset and by the scale.
    """
    flat, values = outside.reshape(x.shape[0], -1), x.reshape(x.shape[0], -1)
    by_bias, by_scale = np.empty(len(flat), x.dtype), np.empty(len(flat), x.dtype)
    zero = x.dtype.type(0)
    for c in range(len(flat)):
        d, row, middle, k = flat[c], values[c], mean[c], inverse[c]
        total, product = zero, zero
        for j in range(len(d)):
            total += d[j]
            product += d[j] * (row[j] - middle)
        product *= k
        by_bias[c], by_scale[c] = total, product
        factor = scale[c] * k
        first = x.dtype.type(total / len(d))
        second = x.dtype.type(product * k / len(d))
        for j in range(len(d)):
            slope = factor * (d[j] - first - (row[j] - middle) * second)
            d[j] = slope if row[j] > zero else zero
    return by_bias, by_scale


def _cut_normal(shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    z = rng.standard_normal(shape)
    while (outside := np.abs(z) > 2).any():
        z[outside] = rng.standard_normal(int(outside.sum()))
    return z * np.sqrt(2 / np.prod(shape[1:]))
