"""TensorFlow and Keras on the CPU: the functions and layers of Keras, tf.norm and tf.math.l2_normalize, layer_norm as a graph in tf.function;
gradients by tf.GradientTape.

TensorFlow has no strided tensors: what is passed is copied where it is not dense.
"""

from __future__ import annotations

import functools
import os
from typing import Any, Callable

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ["KERAS_BACKEND"] = "tensorflow"

import keras
import numpy as np
import tensorflow as tf

from normfuzz_target import Unsupported, channel_axis, first_normalized, rejecting, target, threads

XLA = os.environ.get("NORMFUZZ_TENSORFLOW_XLA", "") == "1"  # set by a variant of manifest.toml

tf.config.threading.set_intra_op_parallelism_threads(threads())
tf.config.threading.set_inter_op_parallelism_threads(1)
target(version=f"tensorflow {tf.__version__}, keras {keras.__version__}")

Function = Callable[..., Any]


op = rejecting((ValueError, TypeError, tf.errors.OpError), lambda error: str(error).strip().split("\n", 1)[0])


def tensors(*arrays: np.ndarray | None) -> list[tf.Tensor | None]:
    if any(a is not None and a.dtype == np.uint16 for a in arrays):
        raise Unsupported("bf16 needs the package ml_dtypes")
    return [None if a is None else tf.convert_to_tensor(a) for a in arrays]


@functools.lru_cache(maxsize=128)  # XLA takes half a second for each form and set of shapes
def compiled(make: Function, attributes: tuple, specifications: tuple) -> Function:
    return tf.function(make(*attributes), jit_compile=True, autograph=False, input_signature=specifications)


@functools.lru_cache(maxsize=128)
def graph(make: Function, attributes: tuple, specifications: tuple) -> Function:
    """With dynamic shapes; Grappler's optimizations are those of every tf.function."""
    dynamic = tuple(tf.TensorSpec([None] * s.shape.rank, s.dtype) for s in specifications)
    return tf.function(make(*attributes), autograph=False, input_signature=dynamic)


def run(make: Function, attributes: tuple, *arrays: np.ndarray | None, as_graph: bool = False) -> Any:
    """make(*attributes) gives a function of the arrays that are there. It runs eagerly, as a graph, or compiled by XLA."""
    inputs = [t for t in tensors(*arrays) if t is not None]
    if XLA or as_graph:
        specifications = tuple(tf.TensorSpec(t.shape, t.dtype) for t in inputs)
        result = (compiled if XLA else graph)(make, attributes, specifications)(*inputs)
    else:
        result = make(*attributes)(*inputs)
    return {k: v.numpy() for k, v in result.items()} if isinstance(result, dict) else result.numpy()


def split(has_weight: bool, parameters: tuple) -> tuple:
    """weight and bias, either of which may be absent."""
    rest = list(parameters)
    weight = rest.pop(0) if has_weight else None
    return weight, rest[0] if rest else None


# ---- functions of attributes that give functions of tensors ----


def layer_normalization(axes: tuple[int, ...], epsilon: float, has_weight: bool) -> Function:
    axis = axes[0] if len(axes) == 1 else list(axes)

    def forward(x, *parameters):
        weight, bias = split(has_weight, parameters)
        return keras.ops.layer_normalization(x, weight, bias, axis=axis, epsilon=epsilon)

    return forward


def rms_normalization(axes: tuple[int, ...], epsilon: float) -> Function:
    axis = axes[0] if len(axes) == 1 else axes
    return lambda x, weight=None: keras.ops.rms_normalization(x, weight, axis=axis, epsilon=epsilon)


@functools.lru_cache(maxsize=256)
def layer(kind: type, shape: tuple[int, ...], dtype: str, settings: tuple) -> keras.Layer:
    """A layer that is called with weights given at each call: its own are never used."""
    result = kind(dtype=dtype, **dict(settings))
    result.build((None,) * len(shape) if not shape else shape)
    return result


def group_normalization(groups: int, axis: int, epsilon: float, has_weight: bool, has_bias: bool) -> Function:
    settings = (("groups", groups), ("axis", axis), ("epsilon", epsilon), ("scale", has_weight), ("center", has_bias))

    def forward(x, *parameters):
        one = layer(keras.layers.GroupNormalization, known(x, axis), x.dtype.name, settings)
        return one.stateless_call(list(parameters), [], x)[0]

    return forward


def batch_normalization(axis: int, epsilon: float, has_weight: bool, has_bias: bool, training: bool, old: float, keeps: bool) -> Function:
    settings = (("axis", axis), ("epsilon", epsilon), ("scale", has_weight), ("center", has_bias), ("momentum", old))

    def forward(x, *parameters):
        one = layer(keras.layers.BatchNormalization, known(x, axis), x.dtype.name, settings)
        count = has_weight + has_bias
        channels = x.shape[axis]
        running = list(parameters[count:]) or [tf.zeros(channels, x.dtype), tf.ones(channels, x.dtype)]
        y, updated = one.stateless_call(list(parameters[:count]), running, x, training=training)
        return {"y": y, "running_mean_new": updated[0], "running_var_new": updated[1]} if keeps else y

    return forward


def known(x: tf.Tensor, axis: int) -> tuple:
    """What a layer asks of a shape: its rank and the number of channels."""
    axis %= x.shape.rank
    return tuple(x.shape[i] if i == axis else None for i in range(x.shape.rank))


def decomposed(pattern: str, epsilon: float, has_weight: bool) -> Function:
    """Nodes of float32 for the 16-bit types."""

    def forward(x, *parameters):
        kind = x.dtype
        wide = tf.float64 if kind == tf.float64 else tf.float32
        weight, bias = (None if p is None else tf.cast(p, wide) for p in split(has_weight, parameters))
        x = tf.cast(x, wide)
        mean = tf.reduce_mean(x, -1, keepdims=True)
        d = mean - x if pattern == "swapped_sub" else x - mean
        power = tf.pow(d, tf.constant(4 if pattern == "exponent_4" else 2, wide))
        root = tf.sqrt(tf.reduce_mean(power, -1, keepdims=True) + tf.constant(epsilon, wide))
        y = root / d if pattern == "swapped_div" else d / root
        y = y if weight is None else y * weight
        return tf.cast(y if bias is None else y + bias, kind)

    return forward


def norm(p: float, axis: int) -> Function:
    return lambda x: tf.norm(x, ord=p, axis=axis)


def l2_normalize(axis: int, epsilon: float) -> Function:
    return lambda x: tf.math.l2_normalize(x, axis, epsilon)


def normalize(p: float, axis: int, epsilon: float) -> Function:
    return lambda x: keras.ops.normalize(x, axis=axis, order=p, epsilon=epsilon)


def gradient(make: Function, attributes: tuple) -> Function:
    """dx, dweight, dbias of a function of x, weight and bias."""
    forward = make(*attributes)

    def backward(dy, *variables):
        with tf.GradientTape() as tape:
            for v in variables:
                tape.watch(v)
            y = forward(*variables)
        return dict(zip(("dx", "dweight", "dbias"), tape.gradient(y, variables, dy)))

    return backward


# ---- ops ----


def trailing_axes(x: np.ndarray, axis: int) -> tuple[int, ...]:
    return tuple(range(first_normalized(x, axis), x.ndim))


def image_axis(x: np.ndarray, layout: str) -> int:
    if x.ndim < 2:
        raise Unsupported("needs batch and channels")
    return -1 if layout == "nhwc" else 1


def same_type(*arrays: np.ndarray | None) -> None:
    if any(a is not None and a.dtype != arrays[0].dtype for a in arrays):
        raise Unsupported("x and its parameters of different types: a layer's weights have the layer's type")


@op("layer_norm")
def layer_norm(x, weight, bias, *, epsilon, normalized_axis=-1):
    return run(layer_normalization, (trailing_axes(x, normalized_axis), epsilon, weight is not None), x, weight, bias)


@op("channel_layer_norm")
def channel_layer_norm(x, weight, bias, *, epsilon, layout="nchw"):
    return run(layer_normalization, ((channel_axis(x, layout),), epsilon, weight is not None), x, weight, bias)


@op("rms_norm")
def rms_norm(x, weight, *, epsilon, normalized_axis=-1, weight_offset=0.0):
    if weight is not None and weight_offset != 0:
        raise Unsupported("the function has no weight offset")
    return run(rms_normalization, (trailing_axes(x, normalized_axis), epsilon), x, weight)


@op("layer_norm_graph")
def layer_norm_graph(x, weight, bias, *, epsilon, pattern="exact"):
    return run(decomposed, (pattern, epsilon, weight is not None), x, weight, bias, as_graph=True)


@op("group_norm")
def group_norm(x, weight, bias, *, groups, epsilon, layout="nchw"):
    same_type(x, weight, bias)
    attributes = (groups, image_axis(x, layout), epsilon, weight is not None, bias is not None)
    return run(group_normalization, attributes, x, weight, bias)


@op("instance_norm")
def instance_norm(x, weight, bias, *, epsilon, layout="nchw"):
    """What GroupNormalization does with as many groups as channels, by its documentation instance normalization."""
    return group_norm(x=x, weight=weight, bias=bias, groups=-1, epsilon=epsilon, layout=layout)


@op("batch_norm")
def batch_norm(x, weight, bias, running_mean, running_var, *, epsilon, layout="nchw", training=0, momentum=0.0, variance="population"):
    same_type(x, weight, bias, running_mean, running_var)
    keeps = bool(training) and running_mean is not None
    if keeps and variance != "population":
        raise Unsupported("the running variance is the population's")
    old = 1.0 - momentum  # the layer's momentum is the weight of the old value, from which it computes that of the new one
    if keeps and 1.0 - old != momentum:
        raise Unsupported("the layer takes 1 - momentum, which is no double")
    attributes = (image_axis(x, layout), epsilon, weight is not None, bias is not None, bool(training), old, keeps)
    return run(batch_normalization, attributes, x, weight, bias, running_mean, running_var)


@op("lp_norm")
def lp_norm(x, *, p=2.0, axis=-1):
    return run(norm, (float(p), axis), x)


@op("lp_normalize")
def lp_normalize(x, *, p=2.0, epsilon=0.0, epsilon_mode="none", axis=-1):
    if epsilon_mode == "max_norm":
        return run(normalize, (int(p) if float(p).is_integer() else float(p), axis, epsilon), x)
    if p != 2 or epsilon_mode not in ("none", "max_square"):
        raise Unsupported("l2_normalize has p = 2 and takes the larger of the sum of squares and epsilon, nothing else")
    return run(l2_normalize, (axis, epsilon), x)


def variables(x: np.ndarray, weight: np.ndarray | None, shape: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """x, weight and bias to differentiate by; ones and zeros stand in."""
    weight = np.ones(shape, x.dtype) if weight is None else weight
    return x, weight, np.zeros(shape, weight.dtype)


@op("layer_norm_backward")
def layer_norm_backward(x, dy, weight, *, epsilon, normalized_axis=-1):
    axes = trailing_axes(x, normalized_axis)
    return run(gradient, (layer_normalization, (axes, epsilon, True)), dy, *variables(x, weight, x.shape[axes[0] :]))


@op("channel_layer_norm_backward")
def channel_layer_norm_backward(x, dy, weight, *, epsilon, layout="nchw"):
    axis = channel_axis(x, layout)
    return run(gradient, (layer_normalization, ((axis,), epsilon, True)), dy, *variables(x, weight, (x.shape[axis],)))


@op("rms_norm_backward")
def rms_norm_backward(x, dy, weight, *, epsilon, normalized_axis=-1, weight_offset=0.0):
    if weight is not None and weight_offset != 0:
        raise Unsupported("the function has no weight offset")
    axes = trailing_axes(x, normalized_axis)
    return run(gradient, (rms_normalization, (axes, epsilon)), dy, *variables(x, weight, x.shape[axes[0] :])[:2])


@op("group_norm_backward")
def group_norm_backward(x, dy, weight, *, groups, epsilon, layout="nchw"):
    same_type(x, weight)
    axis = image_axis(x, layout)
    return run(gradient, (group_normalization, (groups, axis, epsilon, True, True)), dy, *variables(x, weight, (x.shape[axis],)))


@op("instance_norm_backward")
def instance_norm_backward(x, dy, weight, *, epsilon, layout="nchw"):
    return group_norm_backward(x=x, dy=dy, weight=weight, groups=-1, epsilon=epsilon, layout=layout)


@op("batch_norm_backward")
def batch_norm_backward(x, dy, weight, *, epsilon, layout="nchw"):
    same_type(x, weight)
    axis = image_axis(x, layout)
    attributes = (axis, epsilon, True, True, True, 0.0, False)
    return run(gradient, (batch_normalization, attributes), dy, *variables(x, weight, (x.shape[axis],)))
