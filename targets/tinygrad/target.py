"""tinygrad on the CPU: the layers of tinygrad.nn, which call Tensor.layernorm and Tensor.batchnorm, and Tensor.normalize; gradients through
Tensor.gradient.

Every call is scheduled anew, and kernels are compiled for each new shape and epsilon. Tensors are copied to dense ones.
"""

from __future__ import annotations

import importlib.metadata
from typing import Callable

import numpy as np
from ml_dtypes import bfloat16
from tinygrad import Device, Tensor, codegen, dtypes, nn, schedule
from tinygrad.dtype import DType
from tinygrad.engine import realize
from tinygrad.helpers import Context

from normfuzz_target import Rejected, Unsupported, first_normalized, op, target

target(version=f"tinygrad {importlib.metadata.version('tinygrad')} ({Device.DEFAULT}, {type(Device[Device.DEFAULT].renderer).__name__})")

# What tinygrad keeps of every kernel that it has compiled.
KEPT = (codegen.to_program_cache, realize.runtime_cache, realize.first_run_cache, schedule.schedule_cache)
KEPT_KERNELS = 512  # random shapes seldom repeat: keeps the memory of a long campaign level


def tensors(*arrays: np.ndarray | None) -> list[Tensor | None]:
    if len(realize.runtime_cache) > KEPT_KERNELS:
        for cache in KEPT:
            cache.clear()
    dtype = arrays[0].dtype
    if any(a is not None and a.dtype != dtype for a in arrays):
        raise Unsupported("x and its parameters of different types")
    return [None if a is None else loaded(np.ascontiguousarray(a)) for a in arrays]


def loaded(a: np.ndarray) -> Tensor:
    """bfloat16, for which Tensor reads no buffer, comes by its bits."""
    return Tensor(a.view(np.uint16)).bitcast(dtypes.bfloat16).realize() if a.dtype == bfloat16 else Tensor(a)


def stored(y: Tensor) -> np.ndarray:
    """As NumPy's array; bfloat16, which Tensor.numpy widens, by its bits."""
    return y.bitcast(dtypes.uint16).numpy().view(bfloat16) if y.dtype == dtypes.bfloat16 else y.numpy()


def with_parameters(make: Callable, weight: Tensor | None, bias: Tensor | None, shape: tuple[int, ...], dtype: DType) -> Callable:
    """A layer with these parameters: it applies both or none, so that ones or zeros stand in for one of them."""
    layer = make(weight is not None or bias is not None)
    if weight is not None or bias is not None:
        layer.weight = Tensor.ones(*shape, dtype=dtype) if weight is None else weight
        layer.bias = Tensor.zeros(*shape, dtype=dtype) if bias is None else bias
    return layer


def gradients(layer: Callable, x: Tensor, dy: Tensor, *parameters: Tensor) -> dict[str, np.ndarray]:
    found = layer(x).gradient(x, *parameters, gradient=dy)
    Tensor.realize(*found)
    return {name: stored(g) for name, g in zip(("dx", "dweight", "dbias"), found)}


def affine_gradients(make: Callable, shape: tuple[int, ...], x: np.ndarray, dy: np.ndarray, weight: np.ndarray | None) -> dict[str, np.ndarray]:
    """By x, weight and bias; ones stand in for a weight that is absent, zeros for the bias."""
    tx, tdy, tw, tb = tensors(x, dy, np.ones(shape, x.dtype) if weight is None else weight, np.zeros(shape, x.dtype))
    return gradients(with_parameters(make, tw, tb, shape, tx.dtype), tx, tdy, tw, tb)


def affine_layer(make: Callable, shape: tuple[int, ...], x: np.ndarray, weight: np.ndarray | None, bias: np.ndarray | None) -> np.ndarray:
    tx, tw, tb = tensors(x, weight, bias)
    return stored(with_parameters(make, tw, tb, shape, tx.dtype)(tx))


# ---- layer and RMS normalization ----


def normalized_shape(x: np.ndarray, axis: int) -> tuple[int, ...]:
    return x.shape[first_normalized(x, axis) :]


def make_layer_norm(shape: tuple[int, ...], epsilon: float) -> Callable:
    return lambda affine: nn.LayerNorm(shape, epsilon, affine)


@op("layer_norm")
def layer_norm(x, weight, bias, *, epsilon, normalized_axis=-1):
    shape = normalized_shape(x, normalized_axis)
    return affine_layer(make_layer_norm(shape, epsilon), shape, x, weight, bias)


@op("layer_norm_backward")
def layer_norm_backward(x, dy, weight, *, epsilon, normalized_axis=-1):
    shape = normalized_shape(x, normalized_axis)
    return affine_gradients(make_layer_norm(shape, epsilon), shape, x, dy, weight)


def channel_layer(x: np.ndarray, layout: str, epsilon: float) -> tuple[Callable, tuple[int, ...]]:
    if layout == "nchw" and x.ndim != 4:
        raise Unsupported("LayerNorm2d takes four dimensions")
    shape = (x.shape[1 if layout == "nchw" else -1],)
    return (lambda affine: (nn.LayerNorm2d if layout == "nchw" else nn.LayerNorm)(shape, epsilon, affine)), shape


@op("channel_layer_norm")
def channel_layer_norm(x, weight, bias, *, epsilon, layout="nchw"):
    return affine_layer(*channel_layer(x, layout, epsilon), x, weight, bias)


@op("channel_layer_norm_backward")
def channel_layer_norm_backward(x, dy, weight, *, epsilon, layout="nchw"):
    return affine_gradients(*channel_layer(x, layout, epsilon), x, dy, weight)


def rms_layer(x: np.ndarray, axis: int, epsilon: float, weight_offset: float) -> nn.RMSNorm:
    if x.dtype == np.float64:
        raise Unsupported("RMSNorm computes in float32 whatever the type of x")
    if len(normalized_shape(x, axis)) != 1:
        raise Unsupported("RMSNorm normalizes the last axis only")
    if weight_offset != 0:
        raise Unsupported("RMSNorm has no weight offset")
    return nn.RMSNorm(x.shape[-1], epsilon, elementwise_affine=False)


@op("rms_norm")
def rms_norm(x, weight, *, epsilon, normalized_axis=-1, weight_offset=0.0):
    layer = rms_layer(x, normalized_axis, epsilon, weight_offset)
    tx, layer.weight = tensors(x, weight)
    return stored(layer(tx))


@op("rms_norm_backward")
def rms_norm_backward(x, dy, weight, *, epsilon, normalized_axis=-1, weight_offset=0.0):
    layer = rms_layer(x, normalized_axis, epsilon, weight_offset)
    tx, tdy, layer.weight = tensors(x, dy, np.ones(x.shape[-1], x.dtype) if weight is None else weight)
    return gradients(layer, tx, tdy, layer.weight)


@op("qk_norm")
def qk_norm(q, k, q_weight, k_weight, *, epsilon):
    return {"q_out": rms_norm(x=q, weight=q_weight, epsilon=epsilon), "k_out": rms_norm(x=k, weight=k_weight, epsilon=epsilon)}


# ---- group, instance and batch normalization ----


def channels(x: np.ndarray, layout: str) -> int:
    if layout != "nchw" and x.ndim > 2:
        raise Unsupported("the layer has its channels in front")
    if x.ndim < 2:
        raise Unsupported("the layer needs batch and channels")
    return x.shape[1]


def group_layer(x: np.ndarray, layout: str, groups: int, epsilon: float) -> tuple[Callable, tuple[int, ...]]:
    count = channels(x, layout)
    return (lambda affine: nn.GroupNorm(groups, count, epsilon, affine)), (count,)


@op("group_norm")
def group_norm(x, weight, bias, *, groups, epsilon, layout="nchw"):
    return affine_layer(*group_layer(x, layout, groups, epsilon), x, weight, bias)


@op("group_norm_backward")
def group_norm_backward(x, dy, weight, *, groups, epsilon, layout="nchw"):
    return affine_gradients(*group_layer(x, layout, groups, epsilon), x, dy, weight)


def instance_layer(x: np.ndarray, layout: str, epsilon: float) -> tuple[Callable, tuple[int, ...]]:
    count = channels(x, layout)
    return (lambda affine: nn.InstanceNorm(count, epsilon, affine)), (count,)


@op("instance_norm")
def instance_norm(x, weight, bias, *, epsilon, layout="nchw"):
    return affine_layer(*instance_layer(x, layout, epsilon), x, weight, bias)


@op("instance_norm_backward")
def instance_norm_backward(x, dy, weight, *, epsilon, layout="nchw"):
    return affine_gradients(*instance_layer(x, layout, epsilon), x, dy, weight)


@op("batch_norm")
def batch_norm(x, weight, bias, running_mean, running_var, *, epsilon, layout="nchw", training=0, momentum=0.0, variance="population"):
    count = channels(x, layout)
    keeps = running_mean is not None
    if training and keeps and variance != "sample":
        raise Unsupported("the running variance is the sample's")
    if training and keeps and x.size == count:
        raise Rejected("division by zero: the sample variance of one value")
    tx, tw, tb, mean, var = tensors(x, weight, bias, running_mean, running_var)
    layer = nn.BatchNorm(count, epsilon, affine=False, track_running_stats=keeps, momentum=momentum)
    layer.weight, layer.bias = tw, tb  # Tensor.batchnorm takes one without the other
    if keeps:
        layer.running_mean, layer.running_var = mean, var
    with Context(TRAINING=int(training)):
        y = stored(layer(tx))
    return (y, stored(layer.running_mean), stored(layer.running_var)) if training and keeps else y


@op("batch_norm_backward")
def batch_norm_backward(x, dy, weight, *, epsilon, layout="nchw"):
    count = channels(x, layout)
    with Context(TRAINING=1):
        return affine_gradients(lambda affine: nn.BatchNorm(count, epsilon, affine, track_running_stats=False), (count,), x, dy, weight)


# ---- vectors ----


@op("lp_normalize")
def lp_normalize(x, *, p=2.0, epsilon=0.0, epsilon_mode="none", axis=-1):
    if epsilon_mode not in ("none", "max_norm"):
        raise Unsupported("normalize takes the larger of norm and epsilon, nothing else")
    if not isinstance(p, (int, float)) or p == float("inf"):
        raise Unsupported("normalize has powers only")
    (tx,) = tensors(x)
    return stored(tx.normalize(float(p), axis, epsilon if epsilon_mode == "max_norm" else 0.0))
