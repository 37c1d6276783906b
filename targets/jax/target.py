"""JAX on the CPU: the usual layer definitions in jax.numpy, compiled by XLA; gradients through jax.vjp.

A function is compiled for each form of call (shapes, types, static parameters); epsilon and momentum are arguments like the tensors. The
layers widen 16-bit tensors to float32 and round the result once, as layer libraries on JAX do; jax.numpy.linalg.norm and
jax.nn.standardize, which are JAX's own, get them as they are. XLA takes dense arrays: strided tensors are copied.
"""

from __future__ import annotations

import functools
import os
import sys
from typing import Any, Callable

from normfuzz_target import Unsupported, channel_axis, first_normalized, image_channel_axis, op, target, threads

sys.dont_write_bytecode = False  # the host forbids it for this folder; the packages' own bytecode saves two thirds of a later start
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["NPROC"] = str(threads())  # the size of XLA's thread pool
import jax
import jax.numpy as jnp
import numpy as np

MODE = os.environ.get("NORMFUZZ_JAX_MODE", "jit")  # jit, eager, standardize, standardize_stable: set by the variants
STANDARDIZE = MODE.startswith("standardize")
jax.config.update("jax_enable_x64", True)  # float64 arrays are float32 without it
jax.config.update("jax_disable_jit", MODE == "eager")
target(version=f"jax {jax.__version__}")

COMPILED_FORMS = 256  # random shapes seldom repeat: keeps the memory of a long campaign level


@functools.lru_cache(maxsize=COMPILED_FORMS)
def compiled(function: Callable, form: tuple, **static: Any) -> Callable:
    """One compiled function per form of call, so that what is no longer used is freed with it."""
    if compiled.cache_info().misses % COMPILED_FORMS == 0:
        jax.clear_caches()  # JAX's own, of traces and lowered functions
    return jax.jit(lambda *tensors: function(*tensors, **static))


def call(function: Callable, tensors: list[np.ndarray | None], *scalars: float, **static: Any) -> Any:
    """function(*tensors, *scalars), the scalars in the type that the layers compute in."""
    wide = np.float64 if tensors[0].dtype == np.float64 else np.float32
    form = tuple(None if t is None else (t.shape, t.dtype) for t in tensors)
    results = compiled(function, form, **static)(*tensors, *(wide(s) for s in scalars))
    return jax.tree.map(np.asarray, results)


def widened(*tensors: Any) -> list[Any]:
    return [None if t is None else t if t.dtype == jnp.float64 else t.astype(jnp.float32) for t in tensors]


def affine(y: Any, weight: Any, bias: Any, shape: tuple[int, ...] | None = None) -> Any:
    if weight is not None:
        y = y * (weight if shape is None else weight.reshape(shape))
    if bias is not None:
        y = y + (bias if shape is None else bias.reshape(shape))
    return y


def normalized(x: Any, weight: Any, bias: Any, epsilon: Any, axes: tuple[int, ...], split: tuple[int, ...], shape: Any = None) -> Any:
    """x by the moments over some axes of its view of shape `split`, then the affine map of parameters of a shape that broadcasts."""
    if STANDARDIZE:
        algorithm = "stable" if MODE == "standardize_stable" else "fast"
        epsilon = epsilon.astype(x.dtype)  # as a Python number becomes, which takes the type of the array beside it
        y = jax.nn.standardize(x.reshape(split), axes, epsilon=epsilon, algorithm=algorithm)
        return affine(y.reshape(x.shape), weight, bias, shape)
    wide, weight, bias = widened(x, weight, bias)
    wide = wide.reshape(split)
    mean, variance = jnp.mean(wide, axis=axes, keepdims=True), jnp.var(wide, axis=axes, keepdims=True)
    y = (wide - mean) * jax.lax.rsqrt(variance + epsilon)
    return affine(y.reshape(x.shape), weight, bias, shape).astype(x.dtype)


def check_standardize(x: np.ndarray, *parameters: np.ndarray | None) -> None:
    """jax.nn.standardize gives a 16-bit result: an affine map of it would round twice."""
    if STANDARDIZE and x.dtype.itemsize == 2 and any(p is not None for p in parameters):
        raise Unsupported("jax.nn.standardize has no weight and bias")


def no_standardize() -> None:
    if STANDARDIZE:
        raise Unsupported("this op is not made of jax.nn.standardize")


def trailing(x: np.ndarray, axis: int) -> tuple[int, ...]:
    return tuple(range(first_normalized(x, axis), x.ndim))


def along(rank: int, axis: int) -> tuple[int, ...]:
    """The shape that broadcasts a parameter along one axis."""
    return tuple(-1 if i == axis else 1 for i in range(rank))


# ---- layers ----


def norm_of_trailing(x, weight, bias, epsilon, *, axes):
    return normalized(x, weight, bias, epsilon, axes, x.shape)


@op("layer_norm")
def layer_norm(x, weight, bias, *, epsilon, normalized_axis=-1):
    check_standardize(x, weight, bias)
    return call(norm_of_trailing, [x, weight, bias], epsilon, axes=trailing(x, normalized_axis))


def norm_of_channels(x, weight, bias, epsilon, *, axis):
    return normalized(x, weight, bias, epsilon, (axis,), x.shape, along(x.ndim, axis))


@op("channel_layer_norm")
def channel_layer_norm(x, weight, bias, *, epsilon, layout="nchw"):
    check_standardize(x, weight, bias)
    return call(norm_of_channels, [x, weight, bias], epsilon, axis=channel_axis(x, layout))


def norm_of_groups(x, weight, bias, epsilon, *, axis, groups):
    split = x.shape[:axis] + (groups, x.shape[axis] // groups) + x.shape[axis + 1 :]
    return normalized(x, weight, bias, epsilon, tuple(i for i in range(1, len(split)) if i != axis), split, along(x.ndim, axis))


@op("group_norm")
def group_norm(x, weight, bias, *, groups, epsilon, layout="nchw"):
    check_standardize(x, weight, bias)
    return call(norm_of_groups, [x, weight, bias], epsilon, axis=image_channel_axis(x, layout), groups=groups)


@op("instance_norm")
def instance_norm(x, weight, bias, *, epsilon, layout="nchw"):
    check_standardize(x, weight, bias)
    axis = image_channel_axis(x, layout)
    return call(norm_of_groups, [x, weight, bias], epsilon, axis=axis, groups=x.shape[axis])


def norm_by_running(x, weight, bias, mean, variance, epsilon, *, axis):
    wide, w, b, m, v = widened(x, weight, bias, mean, variance)
    shape = along(x.ndim, axis)
    return affine((wide - m.reshape(shape)) * jax.lax.rsqrt(v.reshape(shape) + epsilon), w, b, shape).astype(x.dtype)


def norm_of_batch(x, weight, bias, mean, variance, epsilon, momentum=None, *, axis, sample=False):
    axes = tuple(i for i in range(x.ndim) if i != axis)
    y = normalized(x, weight, bias, epsilon, axes, x.shape, along(x.ndim, axis))
    if mean is None:
        return y
    wide, old_mean, old_variance = widened(x, mean, variance)
    new_mean = (1 - momentum) * old_mean + momentum * jnp.mean(wide, axis=axes)
    new_variance = (1 - momentum) * old_variance + momentum * jnp.var(wide, axis=axes, ddof=int(sample))
    return {"y": y, "running_mean_new": new_mean.astype(mean.dtype), "running_var_new": new_variance.astype(variance.dtype)}


@op("batch_norm")
def batch_norm(x, weight, bias, running_mean, running_var, *, epsilon, layout="nchw", training=0, momentum=0.0, variance="population"):
    no_standardize()
    axis = image_channel_axis(x, layout)
    tensors = [x, weight, bias, running_mean, running_var]
    if not training:
        return call(norm_by_running, tensors, epsilon, axis=axis)
    return call(norm_of_batch, tensors, epsilon, momentum, axis=axis, sample=variance == "sample")


def root_mean_square_norm(x, weight, bias, epsilon, *, axes, offset=0.0):
    wide, w, b = widened(x, weight, bias)
    y = wide * jax.lax.rsqrt(jnp.mean(jnp.square(wide), axis=axes, keepdims=True) + epsilon)
    return affine(y, w if w is None or offset == 0 else w + offset, b).astype(x.dtype)


def offset_of(weight: np.ndarray | None, weight_offset: float) -> float:
    """An absent weight is a scale of one, whatever the offset."""
    return 0.0 if weight is None else weight_offset


@op("rms_norm")
def rms_norm(x, weight, bias, *, epsilon, normalized_axis=-1, weight_offset=0.0):
    no_standardize()
    static = {"axes": trailing(x, normalized_axis), "offset": offset_of(weight, weight_offset)}
    return call(root_mean_square_norm, [x, weight, bias], epsilon, **static)


def norm_of_sum(x, residual, weight, epsilon, *, offset):
    total = x + residual
    return {"y": root_mean_square_norm(total, weight, None, epsilon, axes=(x.ndim - 1,), offset=offset), "residual_new": total}


@op("add_rms_norm")
def add_rms_norm(x, residual, weight, *, epsilon, weight_offset=0.0):
    no_standardize()
    return call(norm_of_sum, [x, residual, weight], epsilon, offset=offset_of(weight, weight_offset))


def norm_of_heads(q, k, q_weight, k_weight, epsilon):
    q_out = root_mean_square_norm(q, q_weight, None, epsilon, axes=(q.ndim - 1,))
    return {"q_out": q_out, "k_out": root_mean_square_norm(k, k_weight, None, epsilon, axes=(k.ndim - 1,))}


@op("qk_norm")
def qk_norm(q, k, q_weight, k_weight, *, epsilon):
    no_standardize()
    return call(norm_of_heads, [q, k, q_weight, k_weight], epsilon)


# ---- layer_norm as a graph with one node changed ----


def graph(x, weight, bias, epsilon, *, pattern):
    wide, w, b = widened(x, weight, bias)
    mean = jnp.mean(wide, axis=-1, keepdims=True)
    d = wide - mean
    exponent = {"exponent_3": 3, "exponent_4": 4}.get(pattern, 2)
    root = jnp.sqrt(jnp.mean(d**exponent, axis=-1, keepdims=True) + epsilon)
    y = root / d if pattern == "swapped_div" else (mean - wide if pattern == "swapped_sub" else d) / root
    return affine(y, w, b).astype(x.dtype)


@op("layer_norm_graph")
def layer_norm_graph(x, weight, bias, *, epsilon, pattern="exact"):
    no_standardize()
    if pattern not in ("exact", "exponent_3", "exponent_4", "swapped_sub", "swapped_div"):
        raise Unsupported(f"no pattern '{pattern}'")
    return call(graph, [x, weight, bias], epsilon, pattern=pattern)


# ---- norms ----


def norm(x, *, p, axis):
    return jnp.linalg.norm(x, ord=p, axis=axis)


@op("lp_norm")
def lp_norm(x, *, p=2.0, axis=-1):
    no_standardize()
    return call(norm, [x], p=p, axis=axis)


def norm_of_difference(a, b, *, p, axis):
    return norm(jnp.subtract(*widened(a, b)), p=p, axis=axis).astype(a.dtype)


@op("distance")
def distance(a, b, *, p=2.0, axis=-1):
    no_standardize()
    return call(norm_of_difference, [a, b], p=p, axis=axis)


def root_mean_square(x, epsilon, *, axis):
    (wide,) = widened(x)
    return jnp.sqrt(jnp.mean(jnp.square(wide), axis=axis) + epsilon).astype(x.dtype)


@op("rms")
def rms(x, *, axis=-1, epsilon=0.0):
    no_standardize()
    return call(root_mean_square, [x], epsilon, axis=axis)


def denominator(x, epsilon, *, p, axis, mode):
    """The p-norm along an axis, which stays, and its epsilon."""
    if mode in ("add_inside", "max_square"):
        square = jnp.sum(jnp.square(x), axis=axis, keepdims=True)
        return jnp.sqrt(square + epsilon if mode == "add_inside" else jnp.maximum(square, epsilon))
    length = jnp.linalg.norm(x, ord=p, axis=axis, keepdims=True)
    return length + epsilon if mode == "add_outside" else jnp.maximum(length, epsilon) if mode == "max_norm" else length


def unit_vectors(x, epsilon, *, p, axis, mode):
    (wide,) = widened(x)
    return (wide / denominator(wide, epsilon, p=p, axis=axis, mode=mode)).astype(x.dtype)


@op("lp_normalize")
def lp_normalize(x, *, p=2.0, epsilon=0.0, epsilon_mode="none", axis=-1):
    no_standardize()
    return call(unit_vectors, [x], epsilon, p=p, axis=axis, mode=epsilon_mode)


def cosine_of(a, b, epsilon, *, axis, mode):
    wide_a, wide_b = widened(a, b)
    lengths = [denominator(t, epsilon, p=2, axis=axis, mode=mode) for t in (wide_a, wide_b)]
    dot = jnp.sum(wide_a * wide_b, axis=axis, keepdims=True)
    return jnp.squeeze(dot / (lengths[0] * lengths[1]), axis=axis).astype(a.dtype)


@op("cosine")
def cosine(a, b, *, epsilon=0.0, epsilon_mode="none", axis=-1):
    no_standardize()
    return call(cosine_of, [a, b], epsilon, axis=axis, mode=epsilon_mode)


# ---- gradients ----


def pulled_back(forward, x, dy, weight, epsilon, *, biased=True, **static):
    """dx and, where there is a weight, what the layer gives it and, where the layer is biased, a bias."""
    parameters = [] if weight is None else [weight, jnp.zeros_like(weight)] if biased else [weight]

    def layer(x, weight=None, bias=None):
        return forward(x, weight, bias, epsilon, **static)

    gradients = jax.vjp(layer, x, *parameters)[1](dy)
    return dict(zip(("dx", "dweight", "dbias"), gradients))


def gradients_of_trailing(*tensors, **static):
    return pulled_back(norm_of_trailing, *tensors, **static)


@op("layer_norm_backward")
def layer_norm_backward(x, dy, weight, *, epsilon, normalized_axis=-1):
    check_standardize(x, weight)
    return call(gradients_of_trailing, [x, dy, weight], epsilon, axes=trailing(x, normalized_axis))


def gradients_of_root_mean_square(*tensors, **static):
    return pulled_back(root_mean_square_norm, *tensors, biased=False, **static)


@op("rms_norm_backward")
def rms_norm_backward(x, dy, weight, *, epsilon, normalized_axis=-1, weight_offset=0.0):
    no_standardize()
    static = {"axes": trailing(x, normalized_axis), "offset": offset_of(weight, weight_offset)}
    return call(gradients_of_root_mean_square, [x, dy, weight], epsilon, **static)


def gradients_of_channels(*tensors, **static):
    return pulled_back(norm_of_channels, *tensors, **static)


@op("channel_layer_norm_backward")
def channel_layer_norm_backward(x, dy, weight, *, epsilon, layout="nchw"):
    check_standardize(x, weight)
    return call(gradients_of_channels, [x, dy, weight], epsilon, axis=channel_axis(x, layout))


def gradients_of_groups(*tensors, **static):
    return pulled_back(norm_of_groups, *tensors, **static)


@op("group_norm_backward")
def group_norm_backward(x, dy, weight, *, groups, epsilon, layout="nchw"):
    check_standardize(x, weight)
    return call(gradients_of_groups, [x, dy, weight], epsilon, axis=image_channel_axis(x, layout), groups=groups)


@op("instance_norm_backward")
def instance_norm_backward(x, dy, weight, *, epsilon, layout="nchw"):
    check_standardize(x, weight)
    axis = image_channel_axis(x, layout)
    return call(gradients_of_groups, [x, dy, weight], epsilon, axis=axis, groups=x.shape[axis])


def norm_of_batch_alone(x, weight, bias, epsilon, *, axis):
    return norm_of_batch(x, weight, bias, None, None, epsilon, axis=axis)


def gradients_of_batch(*tensors, **static):
    return pulled_back(norm_of_batch_alone, *tensors, **static)


@op("batch_norm_backward")
def batch_norm_backward(x, dy, weight, *, epsilon, layout="nchw"):
    no_standardize()
    return call(gradients_of_batch, [x, dy, weight], epsilon, axis=image_channel_axis(x, layout))
