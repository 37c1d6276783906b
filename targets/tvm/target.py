"""TVM's relax operators compiled for the CPU by LLVM, each as a function of its own with symbolic shapes; layer normalization also as the
decomposed graph and its near misses, which the compiler may fuse.

A compilation takes a quarter of a second, so functions are kept by op, type, rank and attributes. Tensors are copied into TVM's memory.
"""

from __future__ import annotations

import contextlib
import functools
import os
from typing import Callable

import numpy as np
import tvm
from tvm import relax
from tvm.relax import op as relax_op
from tvm.target.codegen import llvm_version_major
from tvm.tirx import Var

from normfuzz_target import Rejected, Unsupported, first_normalized, op, target

DISABLED_PASSES = os.environ.get("NORMFUZZ_TVM_DISABLED_PASSES", "").split()  # set by the variants of manifest.toml

target(version=f"tvm {tvm.__version__} (LLVM {llvm_version_major()})")

Shape = tuple[str | int, ...]  # a name for every extent that may vary


@contextlib.contextmanager
def refusals():
    """TVM's errors end with the reason."""
    try:
        yield
    except Exception as error:  # of whatever type: InternalError, TypeError, ValueError
        raise Rejected(str(error).strip().rsplit("\n", 1)[-1]) from None


@functools.lru_cache(maxsize=96)
def compiled(build: Callable, arguments: tuple, dtype: str, shapes: tuple[tuple[str, Shape], ...]):
    """build(*arguments) gives a function of relax expressions; equal names in the shapes are equal extents."""
    extents: dict[str, Var] = {}
    for _, shape in shapes:
        for extent in shape:
            if isinstance(extent, str) and extent not in extents:
                extents[extent] = Var(extent, "int64")
    inputs = [relax.Var(n, relax.TensorType([extents.get(e, e) for e in shape], dtype)) for n, shape in shapes]
    builder = relax.BlockBuilder()
    with refusals():
        with builder.function("main", inputs):
            with builder.dataflow():
                result = builder.emit_output(build(*arguments)(*inputs))
            builder.emit_func_output(result)
        with tvm.transform.PassContext(opt_level=3, disabled_pass=DISABLED_PASSES):
            executable = tvm.compile(builder.get(), target="llvm")
        return relax.VirtualMachine(executable, tvm.cpu())["main"]


def run(build: Callable, arguments: tuple, shapes: dict[str, Shape], arrays: dict[str, np.ndarray]):
    """Compiles and calls with the arrays that there are shapes for."""
    dtypes = {a.dtype.name for a in arrays.values()}
    if len(dtypes) != 1:
        raise Unsupported("x and its parameters of different types")
    (dtype,) = dtypes
    if dtype not in ("float64", "float32", "float16"):
        raise Unsupported(f"no {dtype}")
    function = compiled(build, arguments, dtype, tuple(shapes.items()))
    with refusals():
        result = function(*(tvm.runtime.tensor(np.ascontiguousarray(arrays[name])) for name in shapes))
    parts = [part.numpy() for part in ([result] if hasattr(result, "numpy") else result)]
    if any(part.dtype.name != dtype for part in parts):
        raise Rejected(f"the function returns {parts[0].dtype.name} for {dtype}")
    return parts[0] if hasattr(result, "numpy") else parts


def names(prefix: str, count: int) -> Shape:
    return tuple(f"{prefix}{i}" for i in range(count))


def or_ones(weight: np.ndarray | None, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    return np.ones(shape, dtype) if weight is None else weight


def or_zeros(bias: np.ndarray | None, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    return np.zeros(shape, dtype) if bias is None else bias


# ---- over the trailing dimensions ----


def trailing(x: np.ndarray, normalized_axis: int) -> tuple[tuple[int, ...], tuple[int, ...], Shape, Shape]:
    """The axes as an attribute, the shape of the parameters, and the names of the extents of x and of the parameters."""
    begin = first_normalized(x, normalized_axis)
    extents = names("n", x.ndim)
    return tuple(range(begin, x.ndim)), x.shape[begin:], extents, extents[begin:]


def layer_norm_function(axes: tuple[int, ...], epsilon: float):
    return lambda x, weight, bias: relax_op.nn.layer_norm(x, weight, bias, axes=list(axes), epsilon=epsilon)


@op("layer_norm")
def layer_norm(x, weight, bias, *, epsilon, normalized_axis=-1):
    axes, shape, outer, inner = trailing(x, normalized_axis)
    arrays = {"x": x, "weight": or_ones(weight, shape, x.dtype), "bias": or_zeros(bias, shape, x.dtype)}
    return run(layer_norm_function, (axes, epsilon), {"x": outer, "weight": inner, "bias": inner}, arrays)


def rms_norm_function(axes: tuple[int, ...], epsilon: float):
    return lambda x, weight: relax_op.nn.rms_norm(x, weight, axes=list(axes), epsilon=epsilon)


@op("rms_norm")
def rms_norm(x, weight, *, epsilon, normalized_axis=-1, weight_offset=0.0):
    if weight_offset != 0:
        raise Unsupported("the operator has no weight offset")
    axes, shape, outer, inner = trailing(x, normalized_axis)
    return run(rms_norm_function, (axes, epsilon), {"x": outer, "weight": inner}, {"x": x, "weight": or_ones(weight, shape, x.dtype)})


# ---- over channels ----


def channels_of(x: np.ndarray, layout: str) -> tuple[int, tuple[int, ...]]:
    """The channels' axis and the axes of the positions."""
    if x.ndim < 2:
        raise Unsupported("the operator needs batch and channels")
    axis = 1 if layout == "nchw" else x.ndim - 1
    return axis, tuple(a for a in range(1, x.ndim) if a != axis)


def channel_call(build: Callable, arguments: tuple, x: np.ndarray, axis: int, parameters: dict[str, np.ndarray]):
    extents = list(names("n", x.ndim))
    extents[axis] = "c"
    return run(build, arguments, {"x": tuple(extents), **{name: ("c",) for name in parameters}}, {"x": x, **parameters})


def affine(x: np.ndarray, axis: int, weight: np.ndarray | None, bias: np.ndarray | None) -> dict[str, np.ndarray]:
    shape = (x.shape[axis],)
    return {"weight": or_ones(weight, shape, x.dtype), "bias": or_zeros(bias, shape, x.dtype)}


def group_norm_function(groups: int, axis: int, axes: tuple[int, ...], epsilon: float):
    return lambda x, weight, bias: relax_op.nn.group_norm(
        x, weight, bias, num_groups=groups, channel_axis=axis, axes=list(axes), epsilon=epsilon
    )


@op("group_norm")
def group_norm(x, weight, bias, *, groups, epsilon, layout="nchw"):
    axis, axes = channels_of(x, layout)
    return channel_call(group_norm_function, (groups, axis, axes, epsilon), x, axis, affine(x, axis, weight, bias))


def instance_norm_function(axis: int, axes: tuple[int, ...], epsilon: float):
    return lambda x, weight, bias: relax_op.nn.instance_norm(x, weight, bias, channel_axis=axis, axes=list(axes), epsilon=epsilon)


@op("instance_norm")
def instance_norm(x, weight, bias, *, epsilon, layout="nchw"):
    axis, axes = channels_of(x, layout)
    if not axes:
        raise Unsupported("the operator needs positions")
    return channel_call(instance_norm_function, (axis, axes, epsilon), x, axis, affine(x, axis, weight, bias))


def batch_norm_function(axis: int, epsilon: float, training: bool, momentum: float):
    return lambda x, weight, bias, mean, var: relax_op.nn.batch_norm(
        x, weight, bias, mean, var, axis=axis, epsilon=epsilon, training=training, momentum=momentum
    )


@op("batch_norm")
def batch_norm(x, weight, bias, running_mean, running_var, *, epsilon, layout="nchw", training=0, momentum=0.0, variance="population"):
    if training and running_mean is not None and variance != "population":
        raise Unsupported("the running variance is the population's")
    axis, _ = channels_of(x, layout)
    shape = (x.shape[axis],)
    parameters = affine(x, axis, weight, bias)
    parameters |= {"mean": or_zeros(running_mean, shape, x.dtype), "var": or_ones(running_var, shape, x.dtype)}
    results = channel_call(batch_norm_function, (axis, epsilon, bool(training), momentum), x, axis, parameters)
    return dict(zip(("y", "running_mean_new", "running_var_new"), results))


# ---- the decomposed graph ----


def graph_function(pattern: str, epsilon: float, has_weight: bool, has_bias: bool, dtype: str):
    exponent = {"exponent_3": 3.0, "exponent_4": 4.0}.get(pattern, 2.0)

    def graph(x, *parameters):
        rest = list(parameters)
        mean = relax_op.mean(x, axis=[-1], keepdims=True)
        difference = relax_op.subtract(mean, x) if pattern == "swapped_sub" else relax_op.subtract(x, mean)
        variance = relax_op.mean(relax_op.power(difference, relax.const(exponent, dtype)), axis=[-1], keepdims=True)
        root = relax_op.sqrt(relax_op.add(variance, relax.const(epsilon, dtype)))
        y = relax_op.divide(root, difference) if pattern == "swapped_div" else relax_op.divide(difference, root)
        if has_weight:
            y = relax_op.multiply(y, rest.pop(0))
        return relax_op.add(y, rest.pop(0)) if has_bias else y

    return graph


@op("layer_norm_graph")
def layer_norm_graph(x, weight, bias, *, epsilon, pattern="exact"):
    if x.ndim == 0:
        raise Unsupported("a scalar has no axis to reduce")
    extents = names("n", x.ndim)
    arrays = {"x": x, **{n: a for n, a in (("weight", weight), ("bias", bias)) if a is not None}}
    shapes = {name: extents if name == "x" else extents[-1:] for name in arrays}
    return run(graph_function, (pattern, epsilon, weight is not None, bias is not None, x.dtype.name), shapes, arrays)
