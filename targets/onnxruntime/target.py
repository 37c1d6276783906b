"""ONNX Runtime's normalization operators on the CPU: one small model per form of call, run on the caller's own memory.

ONNX Runtime takes contiguous tensors only: a strided input is copied first, a strided output afterwards. Contiguous ones are bound where
they lie, at whatever alignment, so that a kernel that writes beyond its output is seen.
"""

from __future__ import annotations

import functools
import os
from typing import Any, Callable

import numpy as np
import onnxruntime
from onnx import NodeProto, TensorProto, helper
from onnxruntime.capi import onnxruntime_pybind11_state as errors

from normfuzz_target import Rejected, Unsupported, first_normalized, op, target, threads, weight_of_old

# Set by the variants of manifest.toml. FORM names the operator that computes an op where there are several: "operator" is the one of the
# operator set, "simplified", "skip" and "branchwise" are ONNX Runtime's own, "mvn" is MeanVarianceNormalization, "decomposed" a graph of
# simple nodes that the optimizer fuses.
FORM = os.environ.get("NORMFUZZ_ONNXRUNTIME_FORM", "operator")
OPTIMIZE = os.environ.get("NORMFUZZ_ONNXRUNTIME_OPTIMIZE", "all")

OPSET, IR_VERSION = 23, 10  # what RMSNormalization needs
REDUCE_OPSET = 17  # reductions with axes as an attribute; SimplifiedLayerNormalization, ONNX Runtime's own in the default domain
CONTRIB = "com.microsoft"

# uint16 holds the bits of bf16 where the package ml_dtypes is missing.
TYPES = {
    "float64": TensorProto.DOUBLE,
    "float32": TensorProto.FLOAT,
    "float16": TensorProto.FLOAT16,
    "bfloat16": TensorProto.BFLOAT16,
    "uint16": TensorProto.BFLOAT16,
}

target(version=f"onnxruntime {onnxruntime.__version__}")


# ---- models ----

Model = tuple[list[NodeProto], list[TensorProto]]  # nodes and initializers
Attributes = tuple[tuple[str, Any], ...]


def one_node(_: int, operator: str, inputs: str, outputs: str, domain: str, attributes: Attributes) -> Model:
    """A model of one operator. Names are separated by blanks; '-' stands for what is left out."""
    names = [["" if n == "-" else n for n in text.split()] for text in (inputs, outputs)]
    return [helper.make_node(operator, *names, domain=domain, **dict(attributes))], []


def graph(element_type: int, inputs: tuple[str, ...], steps: tuple[str, ...], scalars: Attributes, axes: int, widened: bool) -> Model:
    """A model of steps 'output = Operator inputs', the last of which gives y; a mean is over the last axes, which stay. Widened: 16-bit
    tensors are cast to float32 first, and y back."""
    nodes, outer = [], {}
    if widened:
        outer = {name: f"{name}_wide" for name in inputs}
        nodes = [helper.make_node("Cast", [name], [wide], to=TensorProto.FLOAT) for name, wide in outer.items()]
    for step in steps:
        output, _, operator, *names = step.split()
        attributes = {"axes": list(range(-axes, 0)), "keepdims": 1} if operator == "ReduceMean" else {}
        nodes.append(helper.make_node(operator, [outer.get(n, n) for n in names], [output], **attributes))
    if widened:
        nodes.append(helper.make_node("Cast", [nodes[-1].output[0]], ["y"], to=element_type))
    nodes[-1].output[0] = "y"
    scalar_type = TensorProto.FLOAT if widened else element_type
    return nodes, [helper.make_tensor(name, scalar_type, [], [value]) for name, value in scalars]


@functools.lru_cache(maxsize=512)  # a session takes 0.7 ms to make; attributes are part of a model, shapes are not
def session(
    build: Callable[..., Model],
    arguments: tuple,
    element_type: int,
    inputs: tuple[tuple[str, int], ...],
    outputs: tuple[tuple[str, int], ...],
    opset: int,
) -> onnxruntime.InferenceSession:
    """inputs and outputs with their ranks."""

    def values(tensors: tuple[tuple[str, int], ...]) -> list:
        return [helper.make_tensor_value_info(n, element_type, [f"{n}{d}" for d in range(rank)]) for n, rank in tensors]

    nodes, initializers = build(element_type, *arguments)
    whole = helper.make_graph(nodes, "normfuzz", values(inputs), values(outputs), initializers)
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid(CONTRIB, 1)]
    model = helper.make_model(whole, opset_imports=opsets, ir_version=IR_VERSION)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads(), 1
    options.enable_cpu_mem_arena = options.enable_mem_pattern = False  # hundreds of sessions: each would keep its own memory
    options.log_severity_level = 4  # refusals are reported as such
    if OPTIMIZE == "none":
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


Tensors = dict[str, np.ndarray]


def run_model(build: Callable[..., Model], arguments: tuple, inputs: Tensors, outputs: Tensors, opset: int) -> None:
    dtypes = {a.dtype for a in (*inputs.values(), *outputs.values())}
    if len(dtypes) > 1:
        raise Unsupported("x and its parameters of different types")
    element_type = TYPES[dtypes.pop().name]
    dense = {n: np.ascontiguousarray(a) for n, a in inputs.items()}
    results = {n: a if a.flags.c_contiguous else np.empty(a.shape, a.dtype) for n, a in outputs.items()}
    ranks = [tuple((n, a.ndim) for n, a in tensors.items()) for tensors in (inputs, outputs)]
    try:
        model = session(build, arguments, element_type, *ranks, opset)
        binding = model.io_binding()
        for name, array in dense.items():
            binding.bind_input(name, "cpu", 0, element_type, array.shape, array.ctypes.data)
        for name, array in results.items():
            binding.bind_output(name, "cpu", 0, element_type, array.shape, array.ctypes.data)
        model.run_with_iobinding(binding)
    except errors.NotImplemented as error:
        raise Unsupported(first_line(error)) from None
    except (errors.InvalidArgument, errors.InvalidGraph, errors.Fail, errors.RuntimeException) as error:
        raise Rejected(first_line(error)) from None
    for name, array in outputs.items():
        if results[name] is not array:
            array[...] = results[name]


def run(operator: str, inputs: Tensors, outputs: Tensors, *, results: str = "", domain: str = "", opset: int = OPSET, **attributes) -> None:
    """One operator. `results` where some of its outputs are left out."""
    arguments = (operator, " ".join(inputs), results or " ".join(outputs), domain, tuple(attributes.items()))
    run_model(one_node, arguments, inputs, outputs, opset)


def run_beside_zeros(operator: str, inputs: Tensors, y: np.ndarray, epsilon: float) -> None:
    """An operator that adds a skip, here zeros, and takes matrices."""
    x, rows = (a.reshape(-1, a.shape[-1]) for a in (inputs["x"], y))
    tensors = {"x": x, "skip": np.zeros(x.shape, x.dtype), **{n: a for n, a in inputs.items() if n != "x"}}
    run(operator, tensors, {"y": rows}, domain=CONTRIB, epsilon=epsilon)
    if not y.flags.c_contiguous:  # reshape made a copy
        y[...] = rows.reshape(y.shape)


def run_graph(steps: list[str], inputs: Tensors, y: np.ndarray, *, axes: int = 1, widened: bool = False, **scalars: float) -> None:
    """A graph of simple nodes that ends in the affine map of the weight and bias among the inputs."""
    for name, operator in (("weight", "Mul"), ("bias", "Add")):
        if name in inputs:
            steps = [*steps, f"with_{name} = {operator} {steps[-1].split()[0]} {name}"]
    arguments = (tuple(inputs), tuple(steps), tuple(scalars.items()), axes, widened and y.dtype.itemsize == 2)
    run_model(graph, arguments, inputs, {"y": y}, REDUCE_OPSET)


def first_line(error: Any) -> str:
    return str(error).split("\n", 1)[0]


# ---- arguments ----


@functools.lru_cache(maxsize=64)
def filled(value: int, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """The scale of ones or shift of zeros that ONNX wants where a case has no weight or bias."""
    if dtype == np.uint16:
        return np.full(shape, 0x3F80 * value, dtype)  # bf16 1.0
    return np.full(shape, value, dtype)


def scale_and_shift(x: np.ndarray, weight: np.ndarray | None, bias: np.ndarray | None, shape: tuple[int, ...]) -> Tensors:
    return {
        "x": x,
        "weight": filled(1, shape, x.dtype) if weight is None else weight,
        "bias": filled(0, shape, x.dtype) if bias is None else bias,
    }


def present(**tensors: np.ndarray | None) -> Tensors:
    return {n: a for n, a in tensors.items() if a is not None}


def stash_type(x: np.ndarray) -> int:
    """Stage one in float32, in float64 for float64: ONNX operator specification, attribute stash_type."""
    return TensorProto.DOUBLE if x.dtype == np.float64 else TensorProto.FLOAT


def normalized_shape(x: np.ndarray, axis: int) -> tuple[int, ...]:
    return x.shape[first_normalized(x, axis) :]


def only(*forms: str) -> None:
    if FORM not in forms:
        raise Unsupported(f"this op has no form '{FORM}'")


def last_axis(x: np.ndarray, axis: int) -> None:
    if len(normalized_shape(x, axis)) != 1:
        raise Unsupported(f"the form '{FORM}' normalizes the last axis only")


def channels_first(x: np.ndarray, layout: str) -> None:
    if layout != "nchw" and x.ndim > 2:
        raise Unsupported("the operator has its channels in front")
    if x.ndim < 2:
        raise Unsupported("the operator needs batch and channels")


def mean_variance_normalization(x: np.ndarray, weight, bias, y: np.ndarray, epsilon: float, axes: tuple[int, ...]) -> None:
    """(x - mean) / sqrt(variance), which has no epsilon and no parameters."""
    if epsilon != 0 or weight is not None or bias is not None:
        raise Unsupported("the operator has no epsilon, weight and bias")
    run("MeanVarianceNormalization", {"x": x}, {"y": y}, axes=axes)


# ---- ops ----


@op("layer_norm")
def layer_norm(x, weight, bias, y, *, epsilon, normalized_axis=-1):
    only("operator", "skip", "mvn", "decomposed")
    shape = normalized_shape(x, normalized_axis)
    if FORM == "mvn":
        return mean_variance_normalization(x, weight, bias, y, epsilon, tuple(range(x.ndim - len(shape), x.ndim)))
    if FORM == "decomposed":
        tensors = present(x=x, weight=weight, bias=bias)
        return run_graph(layer_norm_steps("exact"), tensors, y, axes=len(shape), widened=True, exponent=2.0, epsilon=epsilon)
    if FORM == "skip":
        last_axis(x, normalized_axis)
        return run_beside_zeros("SkipLayerNormalization", scale_and_shift(x, weight, bias, shape), y, epsilon)
    inputs = present(x=x, weight=filled(1, shape, x.dtype) if weight is None else weight, bias=bias)
    run("LayerNormalization", inputs, {"y": y}, axis=normalized_axis, epsilon=epsilon, stash_type=stash_type(x))


def layer_norm_steps(pattern: str) -> list[str]:
    """layer_norm as exporters write it, and its near misses."""
    difference = "difference = Sub mean x" if pattern == "swapped_sub" else "difference = Sub x mean"
    quotient = "xhat = Div root difference" if pattern == "swapped_div" else "xhat = Div difference root"
    power = ["power = Pow difference exponent", "variance = ReduceMean power", "sum = Add variance epsilon", "root = Sqrt sum"]
    return ["mean = ReduceMean x", difference, *power, quotient]


@op("layer_norm_graph")
def layer_norm_graph(x, weight, bias, y, *, epsilon, pattern="exact"):
    only("operator", "decomposed")
    exponent = 4.0 if pattern == "exponent_4" else 2.0
    run_graph(layer_norm_steps(pattern), present(x=x, weight=weight, bias=bias), y, exponent=exponent, epsilon=epsilon)


@op("rms_norm")
def rms_norm(x, weight, y, *, epsilon, normalized_axis=-1, weight_offset=0.0):
    only("operator", "simplified", "skip", "branchwise", "decomposed")
    if weight is not None and weight_offset != 0:
        raise Unsupported("the operator has no weight offset")
    shape = normalized_shape(x, normalized_axis)
    if FORM == "decomposed":
        steps = ["power = Pow x exponent", "square = ReduceMean power", "sum = Add square epsilon", "root = Sqrt sum", "xhat = Div x root"]
        return run_graph(steps, present(x=x, weight=weight), y, axes=len(shape), widened=True, exponent=2.0, epsilon=epsilon)
    if FORM == "branchwise":  # the last dimension is one branch; the scale may be left out
        last_axis(x, normalized_axis)
        inputs = present(x=x[..., None, :], weight=weight)
        return run("BranchwiseRMSNorm", inputs, {"y": y[..., None, :]}, domain=CONTRIB, epsilon=epsilon)
    scale = filled(1, shape, x.dtype) if weight is None else weight
    if FORM == "skip":
        last_axis(x, normalized_axis)
        return run_beside_zeros("SkipSimplifiedLayerNormalization", {"x": x, "weight": scale}, y, epsilon)
    operator, opset = ("RMSNormalization", OPSET) if FORM == "operator" else ("SimplifiedLayerNormalization", REDUCE_OPSET)
    inputs = {"x": x, "weight": scale}
    run(operator, inputs, {"y": y}, opset=opset, axis=normalized_axis, epsilon=epsilon, stash_type=stash_type(x))


@op("add_rms_norm")
def add_rms_norm(x, residual, weight, y, residual_new, *, epsilon, weight_offset=0.0):
    only("operator")
    if weight is not None and weight_offset != 0:
        raise Unsupported("the operator has no weight offset")
    inputs = {"x": x, "residual": residual, "weight": filled(1, normalized_shape(x, -1), x.dtype) if weight is None else weight}
    outputs = {"y": y, "sum": residual_new}
    run("SkipSimplifiedLayerNormalization", inputs, outputs, results="y - - sum", domain=CONTRIB, epsilon=epsilon)


@op("group_norm")
def group_norm(x, weight, bias, y, *, groups, epsilon, layout="nchw"):
    only("operator")
    channels_first(x, layout)
    inputs = scale_and_shift(x, weight, bias, (x.shape[1],))
    run("GroupNormalization", inputs, {"y": y}, num_groups=groups, epsilon=epsilon, stash_type=stash_type(x))


@op("instance_norm")
def instance_norm(x, weight, bias, y, *, epsilon, layout="nchw"):
    only("operator", "mvn")
    channels_first(x, layout)
    if FORM == "mvn":
        return mean_variance_normalization(x, weight, bias, y, epsilon, tuple(range(2, x.ndim)))
    run("InstanceNormalization", scale_and_shift(x, weight, bias, (x.shape[1],)), {"y": y}, epsilon=epsilon)


@op("batch_norm")
def batch_norm(
    x, weight, bias, running_mean, running_var, y, running_mean_new=None, running_var_new=None, *,
    epsilon, layout="nchw", training=0, momentum=0.0, variance="population",
):  # fmt: skip
    only("operator", "mvn")
    channels_first(x, layout)
    if FORM == "mvn":
        if not training or running_mean is not None:
            raise Unsupported("the operator has no running statistics")
        return mean_variance_normalization(x, weight, bias, y, epsilon, (0, *range(2, x.ndim)))
    shape = (x.shape[1],)
    inputs = scale_and_shift(x, weight, bias, shape)
    if not training:
        inputs |= {"mean": running_mean, "variance": running_var}
        return run("BatchNormalization", inputs, {"y": y}, opset=15, epsilon=epsilon)
    keeps = running_mean is not None
    if keeps and variance != "population":
        raise Unsupported("the running variance is the population's")
    zeros = filled(0, shape, x.dtype)
    inputs |= {"mean": running_mean, "variance": running_var} if keeps else {"mean": zeros, "variance": zeros}
    statistics = (running_mean_new, running_var_new) if keeps else (np.empty(shape, x.dtype), np.empty(shape, x.dtype))
    outputs = {"y": y, "new_mean": statistics[0], "new_variance": statistics[1]}
    old = weight_of_old(momentum) if keeps else 0.0
    run("BatchNormalization", inputs, outputs, opset=15, epsilon=epsilon, momentum=old, training_mode=1)


@op("lp_norm")
def lp_norm(x, y, *, p=2.0, axis=-1):
    only("operator")
    if p not in (1, 2):
        raise Unsupported("there are reductions for p = 1 and p = 2 only")
    run(f"ReduceL{int(p)}", {"x": x}, {"y": y}, opset=REDUCE_OPSET, axes=(axis,), keepdims=0)


@op("lp_normalize")
def lp_normalize(x, y, *, p=2.0, epsilon=0.0, epsilon_mode="none", axis=-1):
    only("operator")
    if epsilon_mode != "none" and epsilon != 0:
        raise Unsupported("the operator has no epsilon")
    if p not in (1, 2):
        raise Unsupported("the operator takes p = 1 and p = 2 only")
    run("LpNormalization", {"x": x}, {"y": y}, axis=axis, p=int(p))
