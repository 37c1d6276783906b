"""MLX on the CPU: mlx.core.fast, the layers of mlx.nn, mlx.core.linalg; gradients through mlx.core.vjp.

MLX takes NumPy arrays with their strides and copies them. Its layers have the channels last: nchw is handed over as a transposed view.
"""

from __future__ import annotations

import functools
import os
from typing import Callable

import mlx.core as mx
import mlx.nn as nn
import numpy as np
from ml_dtypes import bfloat16

from normfuzz_target import Unsupported, rejecting, target

mx.set_default_device(mx.cpu)
mx.set_cache_limit(1 << 26)  # of freed buffers: random shapes seldom need the same again
PYTORCH_COMPATIBLE = os.environ.get("NORMFUZZ_MLX_GROUPS") == "pytorch"  # set by the variants of manifest.toml
target(version=f"mlx {mx.__version__}")

TYPES = {np.dtype(np.float64): mx.float64, np.dtype(np.float32): mx.float32, np.dtype(np.float16): mx.float16, np.dtype(bfloat16): mx.bfloat16}


def reason(error: ValueError) -> str:
    """MLX's texts end in the values received, which are not the reason."""
    return " ".join(str(error).split()).split(" but ")[0]


op = rejecting(ValueError, reason)


def arrays(*tensors: np.ndarray | None) -> list[mx.array | None]:
    dtype = tensors[0].dtype
    if any(t is not None and t.dtype != dtype for t in tensors):
        raise Unsupported("x and its parameters of different types")
    return [None if t is None else mx.array(t, dtype=TYPES[dtype]) for t in tensors]


def stored(y: mx.array) -> np.ndarray:
    """As NumPy's array; bfloat16, which the buffer protocol has no name for, by its bits."""
    return np.asarray(y.view(mx.uint16)).view(bfloat16) if y.dtype == mx.bfloat16 else np.asarray(y)


def gradients(function: Callable[..., mx.array], inputs: list[mx.array], dy: mx.array) -> dict[str, np.ndarray]:
    return {name: stored(g) for name, g in zip(("dx", "dweight", "dbias"), mx.vjp(function, inputs, [dy])[1])}


def last_axis(x: np.ndarray, axis: int) -> None:
    if x.ndim == 0 or axis % x.ndim != x.ndim - 1:
        raise Unsupported("normalizes the last axis only")


def in_float32(x: np.ndarray) -> None:
    if x.dtype == np.float64:
        raise Unsupported("mlx.core.fast computes in float32 whatever the type of x")


def channels_last(layout: str, *tensors: np.ndarray) -> list[np.ndarray]:
    if tensors[0].ndim < 2:
        raise Unsupported("the layers need batch and channels")
    return [np.moveaxis(t, 1, -1) for t in tensors] if layout == "nchw" else list(tensors)


def like_input(y: np.ndarray, layout: str) -> np.ndarray:
    return np.moveaxis(y, -1, 1) if layout == "nchw" else y


def ones(x: np.ndarray) -> np.ndarray:
    return np.ones(x.shape[-1], x.dtype)


def zeros(x: np.ndarray) -> np.ndarray:
    return np.zeros(x.shape[-1], x.dtype)


def layer(make: Callable[..., nn.Module], shape: int, weight: mx.array | None, bias: mx.array | None) -> nn.Module:
    """A layer with these parameters: it has both or none, so that ones or zeros stand in for one of them."""
    module = make(affine=weight is not None or bias is not None)
    if weight is not None or bias is not None:
        dtype = (bias if weight is None else weight).dtype
        module.weight = mx.ones(shape, dtype) if weight is None else weight
        module.bias = mx.zeros(shape, dtype) if bias is None else bias
    return module


# ---- mlx.core.fast ----


@op("layer_norm")
def layer_norm(x, weight, bias, *, epsilon, normalized_axis=-1):
    in_float32(x)
    last_axis(x, normalized_axis)
    return stored(mx.fast.layer_norm(*arrays(x, weight, bias), epsilon))


@op("channel_layer_norm")
def channel_layer_norm(x, weight, bias, *, epsilon, layout="nchw"):
    if layout != "nhwc":
        raise Unsupported("layer_norm has its channels last")
    return layer_norm(x=x, weight=weight, bias=bias, epsilon=epsilon)


@op("rms_norm")
def rms_norm(x, weight, *, epsilon, normalized_axis=-1, weight_offset=0.0):
    in_float32(x)
    last_axis(x, normalized_axis)
    if weight_offset != 0:
        raise Unsupported("the function has no weight offset")
    return stored(mx.fast.rms_norm(*arrays(x, weight), epsilon))


@op("qk_norm")
def qk_norm(q, k, q_weight, k_weight, *, epsilon):
    return {"q_out": rms_norm(x=q, weight=q_weight, epsilon=epsilon), "k_out": rms_norm(x=k, weight=k_weight, epsilon=epsilon)}


@op("layer_norm_backward")
def layer_norm_backward(x, dy, weight, *, epsilon, normalized_axis=-1):
    in_float32(x)
    last_axis(x, normalized_axis)
    *inputs, tdy = arrays(x, ones(x) if weight is None else weight, zeros(x), dy)
    return gradients(lambda x, w, b: mx.fast.layer_norm(x, w, b, epsilon), inputs, tdy)


@op("rms_norm_backward")
def rms_norm_backward(x, dy, weight, *, epsilon, normalized_axis=-1, weight_offset=0.0):
    in_float32(x)
    last_axis(x, normalized_axis)
    if weight_offset != 0:
        raise Unsupported("the function has no weight offset")
    *inputs, tdy = arrays(x, ones(x) if weight is None else weight, dy)
    return gradients(lambda x, w: mx.fast.rms_norm(x, w, epsilon), inputs, tdy)


# ---- mlx.nn ----


def by_group(channels: int, groups: int) -> np.ndarray:
    """The order of channels that GroupNorm's default mode needs: it takes channel c into group c modulo groups."""
    return np.arange(channels).reshape(groups, -1).T.ravel()


def grouped(x: np.ndarray, groups: int) -> np.ndarray:
    if groups < 1 or x.shape[-1] % groups != 0:
        raise Unsupported("the channels do not divide into the groups")
    return np.arange(x.shape[-1]) if PYTORCH_COMPATIBLE else by_group(x.shape[-1], groups)


def make_group_norm(x: np.ndarray, groups: int, epsilon: float) -> Callable[..., nn.Module]:
    if PYTORCH_COMPATIBLE:  # which calls mlx.core.fast
        in_float32(x)
    return functools.partial(nn.GroupNorm, groups, x.shape[-1], eps=epsilon, pytorch_compatible=PYTORCH_COMPATIBLE)


def normalized(make: Callable[..., nn.Module], x: np.ndarray, weight: np.ndarray | None, bias: np.ndarray | None) -> np.ndarray:
    tx, tw, tb = arrays(x, weight, bias)
    return stored(layer(make, x.shape[-1], tw, tb)(tx))


def layer_gradients(make: Callable[..., nn.Module], x: np.ndarray, dy: np.ndarray, weight: np.ndarray | None) -> dict[str, np.ndarray]:
    *inputs, tdy = arrays(x, ones(x) if weight is None else weight, zeros(x), dy)
    return gradients(lambda x, w, b: layer(make, x.shape[-1], w, b)(x), inputs, tdy)


@op("group_norm")
def group_norm(x, weight, bias, *, groups, epsilon, layout="nchw"):
    (x,) = channels_last(layout, x)
    order = grouped(x, groups)
    weight, bias = (None if p is None else p[order] for p in (weight, bias))
    y = np.empty(x.shape, x.dtype)
    y[..., order] = normalized(make_group_norm(x, groups, epsilon), x[..., order], weight, bias)
    return like_input(y, layout)


@op("group_norm_backward")
def group_norm_backward(x, dy, weight, *, groups, epsilon, layout="nchw"):
    x, dy = channels_last(layout, x, dy)
    order = grouped(x, groups)
    weight = None if weight is None else weight[order]
    found = layer_gradients(make_group_norm(x, groups, epsilon), x[..., order], dy[..., order], weight)
    results = {name: np.empty_like(g) for name, g in found.items()}
    for name, g in found.items():
        results[name][..., order] = g
    results["dx"] = like_input(results["dx"], layout)
    return results


def make_instance_norm(x: np.ndarray, epsilon: float) -> Callable[..., nn.Module]:
    in_float32(x)
    return functools.partial(nn.InstanceNorm, x.shape[-1], eps=epsilon)


@op("instance_norm")
def instance_norm(x, weight, bias, *, epsilon, layout="nchw"):
    (x,) = channels_last(layout, x)
    return like_input(normalized(make_instance_norm(x, epsilon), x, weight, bias), layout)


@op("instance_norm_backward")
def instance_norm_backward(x, dy, weight, *, epsilon, layout="nchw"):
    x, dy = channels_last(layout, x, dy)
    results = layer_gradients(make_instance_norm(x, epsilon), x, dy, weight)
    return {**results, "dx": like_input(results["dx"], layout)}


@op("batch_norm")
def batch_norm(x, weight, bias, running_mean, running_var, *, epsilon, layout="nchw", training=0, momentum=0.0, variance="population"):
    (x,) = channels_last(layout, x)
    keeps = running_mean is not None
    if training and keeps and variance != "sample":
        raise Unsupported("the running variance is the sample's")

    tx, tw, tb, mean, var = arrays(x, weight, bias, running_mean, running_var)
    module = layer(functools.partial(nn.BatchNorm, x.shape[-1], epsilon, momentum, track_running_stats=keeps), x.shape[-1], tw, tb)
    if keeps:
        module.running_mean, module.running_var = mean, var
    module.train(bool(training))
    y = like_input(stored(module(tx)), layout)
    return (y, stored(module.running_mean), stored(module.running_var)) if training and keeps else y


@op("batch_norm_backward")
def batch_norm_backward(x, dy, weight, *, epsilon, layout="nchw"):
    x, dy = channels_last(layout, x, dy)
    make = functools.partial(nn.BatchNorm, x.shape[-1], eps=epsilon, track_running_stats=False)
    results = layer_gradients(make, x, dy, weight)
    return {**results, "dx": like_input(results["dx"], layout)}


# ---- mlx.core.linalg ----


@op("lp_norm")
def lp_norm(x, *, p=2.0, axis=-1):
    return stored(mx.linalg.norm(*arrays(x), float(p), axis=axis))
