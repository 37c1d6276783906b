"""The normalization layers of Flax on XLA's CPU backend: modules of flax.nnx, or of flax.linen, applied to given parameters.

A function is compiled for each form of call (shapes, types, static parameters); epsilon and momentum are arguments like the tensors. Flax
has the channels last: nchw is transposed to it within the compiled function. XLA takes dense arrays: strided tensors are copied.
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
import flax
import jax
import jax.numpy as jnp
import numpy as np
from flax import linen, nnx

# Set by the variants of manifest.toml. The fast variance is Flax's default.
INTERFACE = os.environ.get("NORMFUZZ_FLAX_INTERFACE", "nnx")
FAST_VARIANCE = os.environ.get("NORMFUZZ_FLAX_VARIANCE", "fast") == "fast"
jax.config.update("jax_enable_x64", True)  # float64 arrays are float32 without it
target(version=f"flax {flax.__version__} (flax.{INTERFACE}), jax {jax.__version__}")

COMPILED_FORMS = 256  # random shapes seldom repeat: keeps the memory of a long campaign level


@functools.lru_cache(maxsize=COMPILED_FORMS)
def compiled(function: Callable, form: tuple, **static: Any) -> Callable:
    """One compiled function per form of call, so that what is no longer used is freed with it."""
    if compiled.cache_info().misses % COMPILED_FORMS == 0:
        jax.clear_caches()  # JAX's own, of traces and lowered functions
    return jax.jit(lambda *tensors: function(*tensors, **static))


def call(function: Callable, tensors: list[np.ndarray | None], *scalars: float, **static: Any) -> Any:
    """function(*tensors, *scalars), the scalars in the type that the layers compute in."""
    if INTERFACE == "nnx" and len({t.dtype for t in tensors if t is not None}) > 1:
        raise Unsupported("flax.nnx brings x and its parameters to one type")
    wide = np.float64 if tensors[0].dtype == np.float64 else np.float32
    form = tuple(None if t is None else (t.shape, t.dtype) for t in tensors)
    results = compiled(function, form, **static)(*tensors, *(wide(s) for s in scalars))
    return jax.tree.map(np.asarray, results)


def given(**parameters: Any) -> dict[str, Any]:
    return {name: value for name, value in parameters.items() if value is not None}


def applied(kind: str, x: Any, parameters: dict[str, Any], statistics: dict[str, Any] | None = None, **options: Any) -> Any:
    """The layer flax.INTERFACE.kind with these parameters; with statistics, also what it makes of them in training."""
    if kind != "RMSNorm":
        options |= {"use_bias": "bias" in parameters, "use_fast_variance": FAST_VARIANCE}
    options |= {"use_scale": "scale" in parameters, "dtype": x.dtype}
    if INTERFACE == "linen":
        layer = getattr(linen, kind)(**options)
        if statistics is None:
            return layer.apply({"params": parameters}, x)
        y, changed = layer.apply({"params": parameters, "batch_stats": statistics}, x, mutable=["batch_stats"])
        return y, changed["batch_stats"]
    for name, value in parameters.items():
        options[f"{name}_init"] = lambda key, shape, dtype, value=value: value
    layer = getattr(nnx, kind)(x.shape[-1], rngs=nnx.Rngs(0), **options)
    if statistics is None:
        return layer(x)
    layer.mean, layer.var = nnx.BatchStat(statistics["mean"]), nnx.BatchStat(statistics["var"])
    return layer(x), {"mean": layer.mean[...], "var": layer.var[...]}


def channels_last(x: Any, axis: int) -> Any:
    return jnp.moveaxis(x, axis, -1)


# ---- layers ----


def layer_norm_of(x, weight, bias, epsilon, *, count):
    """Over the last `count` axes, as one where there are several: Flax's parameters have one axis."""
    rows = x.reshape(x.shape[: x.ndim - count] + (-1,))
    flat = [None if p is None else p.reshape(-1) for p in (weight, bias)]
    return applied("LayerNorm", rows, given(scale=flat[0], bias=flat[1]), epsilon=epsilon).reshape(x.shape)


def normalized_axes(x: np.ndarray, axis: int) -> int:
    return x.ndim - first_normalized(x, axis)


@op("layer_norm")
def layer_norm(x, weight, bias, *, epsilon, normalized_axis=-1):
    return call(layer_norm_of, [x, weight, bias], epsilon, count=normalized_axes(x, normalized_axis))


def channel_norm_of(x, weight, bias, epsilon, *, axis):
    y = applied("LayerNorm", channels_last(x, axis), given(scale=weight, bias=bias), epsilon=epsilon)
    return jnp.moveaxis(y, -1, axis)


@op("channel_layer_norm")
def channel_layer_norm(x, weight, bias, *, epsilon, layout="nchw"):
    return call(channel_norm_of, [x, weight, bias], epsilon, axis=channel_axis(x, layout))


def rms_norm_of(x, weight, epsilon, *, count):
    rows = x.reshape(x.shape[: x.ndim - count] + (-1,))
    scale = None if weight is None else weight.reshape(-1)
    return applied("RMSNorm", rows, given(scale=scale), epsilon=epsilon).reshape(x.shape)


@op("rms_norm")
def rms_norm(x, weight, *, epsilon, normalized_axis=-1, weight_offset=0.0):
    if weight is not None and weight_offset != 0:
        raise Unsupported("the layer has no weight offset")
    return call(rms_norm_of, [x, weight], epsilon, count=normalized_axes(x, normalized_axis))


def heads_of(q, k, q_weight, k_weight, epsilon):
    return {"q_out": rms_norm_of(q, q_weight, epsilon, count=1), "k_out": rms_norm_of(k, k_weight, epsilon, count=1)}


@op("qk_norm")
def qk_norm(q, k, q_weight, k_weight, *, epsilon):
    return call(heads_of, [q, k, q_weight, k_weight], epsilon)


def group_norm_of(x, weight, bias, epsilon, *, axis, groups):
    y = applied("GroupNorm", channels_last(x, axis), given(scale=weight, bias=bias), epsilon=epsilon, num_groups=groups)
    return jnp.moveaxis(y, -1, axis)


@op("group_norm")
def group_norm(x, weight, bias, *, groups, epsilon, layout="nchw"):
    return call(group_norm_of, [x, weight, bias], epsilon, axis=image_channel_axis(x, layout), groups=groups)


def instance_norm_of(x, weight, bias, epsilon, *, axis):
    y = applied("InstanceNorm", channels_last(x, axis), given(scale=weight, bias=bias), epsilon=epsilon)
    return jnp.moveaxis(y, -1, axis)


@op("instance_norm")
def instance_norm(x, weight, bias, *, epsilon, layout="nchw"):
    return call(instance_norm_of, [x, weight, bias], epsilon, axis=image_channel_axis(x, layout))


def batch_norm_of(x, weight, bias, mean, variance, epsilon, of_old=1.0, *, axis, training):
    # Flax keeps them in float32. Where a case has none they play no part in y.
    held = jnp.promote_types(x.dtype, jnp.float32)
    pair = [jnp.zeros(x.shape[axis], held) if s is None else s.astype(held) for s in (mean, variance)]
    statistics = dict(zip(("mean", "var"), pair))
    options = {"epsilon": epsilon, "momentum": of_old, "use_running_average": not training}
    y, new = applied("BatchNorm", channels_last(x, axis), given(scale=weight, bias=bias), statistics, **options)
    y = jnp.moveaxis(y, -1, axis)
    if not training or mean is None:
        return y
    return {"y": y, "running_mean_new": new["mean"].astype(mean.dtype), "running_var_new": new["var"].astype(variance.dtype)}


@op("batch_norm")
def batch_norm(x, weight, bias, running_mean, running_var, *, epsilon, layout="nchw", training=0, momentum=0.0, variance="population"):
    tensors, axis = [x, weight, bias, running_mean, running_var], image_channel_axis(x, layout)
    if training and running_mean is not None and variance != "population":
        raise Unsupported("the running variance is the population's")
    # Flax's momentum is the weight of the old value.
    return call(batch_norm_of, tensors, epsilon, 1.0 - momentum, axis=axis, training=bool(training))


# ---- gradients ----


def pulled_back(forward, x, dy, weight, epsilon, **static):
    """dx and, where there is a weight, what the layer gives weight and bias."""
    parameters = [] if weight is None else [weight, jnp.zeros_like(weight)]

    def layer(x, weight=None, bias=None):
        return forward(x, weight, bias, epsilon, **static)

    return dict(zip(("dx", "dweight", "dbias"), jax.vjp(layer, x, *parameters)[1](dy)))


def layer_norm_gradients(*tensors, **static):
    return pulled_back(layer_norm_of, *tensors, **static)


@op("layer_norm_backward")
def layer_norm_backward(x, dy, weight, *, epsilon, normalized_axis=-1):
    return call(layer_norm_gradients, [x, dy, weight], epsilon, count=normalized_axes(x, normalized_axis))


def channel_norm_gradients(*tensors, **static):
    return pulled_back(channel_norm_of, *tensors, **static)


@op("channel_layer_norm_backward")
def channel_layer_norm_backward(x, dy, weight, *, epsilon, layout="nchw"):
    return call(channel_norm_gradients, [x, dy, weight], epsilon, axis=channel_axis(x, layout))


def rms_norm_gradients(x, dy, weight, epsilon, *, count):
    parameters = [] if weight is None else [weight]
    layer = lambda x, weight=None: rms_norm_of(x, weight, epsilon, count=count)
    return dict(zip(("dx", "dweight"), jax.vjp(layer, x, *parameters)[1](dy)))


@op("rms_norm_backward")
def rms_norm_backward(x, dy, weight, *, epsilon, normalized_axis=-1, weight_offset=0.0):
    if weight is not None and weight_offset != 0:
        raise Unsupported("the layer has no weight offset")
    return call(rms_norm_gradients, [x, dy, weight], epsilon, count=normalized_axes(x, normalized_axis))


def group_norm_gradients(*tensors, **static):
    return pulled_back(group_norm_of, *tensors, **static)


@op("group_norm_backward")
def group_norm_backward(x, dy, weight, *, groups, epsilon, layout="nchw"):
    return call(group_norm_gradients, [x, dy, weight], epsilon, axis=image_channel_axis(x, layout), groups=groups)


def instance_norm_gradients(*tensors, **static):
    return pulled_back(instance_norm_of, *tensors, **static)


@op("instance_norm_backward")
def instance_norm_backward(x, dy, weight, *, epsilon, layout="nchw"):
    return call(instance_norm_gradients, [x, dy, weight], epsilon, axis=image_channel_axis(x, layout))


def batch_norm_alone(x, weight, bias, epsilon, *, axis):
    return batch_norm_of(x, weight, bias, None, None, epsilon, axis=axis, training=True)


def batch_norm_gradients(*tensors, **static):
    return pulled_back(batch_norm_alone, *tensors, **static)


@op("batch_norm_backward")
def batch_norm_backward(x, dy, weight, *, epsilon, layout="nchw"):
    return call(batch_norm_gradients, [x, dy, weight], epsilon, axis=image_channel_axis(x, layout))
