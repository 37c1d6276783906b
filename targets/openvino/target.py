"""OpenVINO's CPU plugin: a compiled model per form of call, of its own operations or, for operators that only ONNX has, through its ONNX front
end. Shapes are dynamic, so a model serves every shape of one rank.

OpenVINO's Python interface shares contiguous memory only: a strided input is copied first, a strided output afterwards. Contiguous ones are
read and written where they lie.
"""

from __future__ import annotations

import functools
import io
import os
import re
from typing import Any, Callable

import numpy as np
import openvino
from onnx import TensorProto, helper
from openvino import opset15 as ops

from normfuzz_target import Rejected, Unsupported, first_normalized, target, threads
from normfuzz_target import op as register

# Set by the variants of manifest.toml.
PRECISION = os.environ.get("NORMFUZZ_OPENVINO_PRECISION", "")
ONNX = os.environ.get("NORMFUZZ_OPENVINO_FRONTEND", "") == "onnx"

core = openvino.Core()
# No pinning: workers side by side would all be put on the first core.
CONFIG = {"INFERENCE_NUM_THREADS": threads(), "NUM_STREAMS": 1, "ENABLE_CPU_PINNING": False}
if PRECISION:
    CONFIG["INFERENCE_PRECISION_HINT"] = PRECISION
# Where the CPU has bf16 instructions, the default is to compute models of f32 in bf16 ('CPU Device', 'Data types').
HINT = PRECISION or core.get_property("CPU", "INFERENCE_PRECISION_HINT").get_type_name()

target(version=f"openvino {openvino.__version__.split('-')[0]}, inference precision {HINT}")

# Element type of OpenVINO and of ONNX, integer of the same size.
TYPES = {
    "float32": (openvino.Type.f32, TensorProto.FLOAT, np.uint32),
    "float16": (openvino.Type.f16, TensorProto.FLOAT16, np.uint16),
    "bfloat16": (openvino.Type.bf16, TensorProto.BFLOAT16, np.uint16),
    "uint16": (openvino.Type.bf16, TensorProto.BFLOAT16, np.uint16),  # the bits of bf16 where the package ml_dtypes is missing
}
# The operator-set version that a model of ONNX asks for.
OPSETS = {"RMSNormalization": 23, "GroupNormalization": 21}
IR_VERSION = 10  # what opset 23 needs

Graph = Callable[..., Any]


# ---- models ----


def native(build: Graph, element: str, ranks: tuple[int, ...]) -> openvino.Model:
    """build(x, weight, ...) gets nodes of f32 and gives one: 16-bit types are converted before and after, as the plugin itself does."""
    kind = TYPES[element][0]
    parameters = [ops.parameter(openvino.PartialShape([-1] * rank), kind) for rank in ranks]
    y = build(*(p if kind == openvino.Type.f32 else ops.convert(p, openvino.Type.f32) for p in parameters))
    return openvino.Model([y if kind == openvino.Type.f32 else ops.convert(y, kind)], parameters)


def onnx_model(operator: str, attributes: tuple[tuple[str, float | int], ...], element: str, ranks: tuple[int, ...]) -> openvino.Model:
    kind = TYPES[element][1]
    names = ["x", "weight", "bias", "mean", "var"][: len(ranks)]
    node = helper.make_node(operator, names, ["y"], **dict(attributes))
    values = [helper.make_tensor_value_info(n, kind, [f"{n}{d}" for d in range(r)]) for n, r in zip(names, ranks)]
    y = helper.make_tensor_value_info("y", kind, [f"y{d}" for d in range(ranks[0])])
    opsets = [helper.make_opsetid("", OPSETS.get(operator, 22))]
    model = helper.make_model(helper.make_graph([node], "normfuzz", values, [y]), opset_imports=opsets, ir_version=IR_VERSION)
    return core.read_model(io.BytesIO(model.SerializeToString()))


@functools.lru_cache(maxsize=256)  # 50 to 250 ms to compile one
def request(graph: Graph | str, attributes: tuple, element: str, ranks: tuple[int, ...]) -> openvino.InferRequest:
    if isinstance(graph, str):
        model = onnx_model(graph, attributes, element, ranks)
    else:
        model = native(graph(*attributes), element, ranks)
    return core.compile_model(model, "CPU", CONFIG).create_infer_request()


def tensor(array: np.ndarray) -> openvino.Tensor:
    kind, _, integer = TYPES[array.dtype.name]
    return openvino.Tensor(array.view(integer), array.shape, kind)


def reason(error: RuntimeError) -> str:
    """The text without the lines that say where it was thrown, and without the numbers of nodes, which are never the same."""
    lines = [line.strip() for line in str(error).splitlines()]
    said = [line for line in lines if line and not line.startswith(("Exception from", "Check '", "While validating", "[ "))]
    return re.sub(r"_\d+", "", (said or lines)[-1])


def run(graph: Graph | str, attributes: tuple, y: np.ndarray, *arrays: np.ndarray) -> None:
    element = arrays[0].dtype.name
    if element not in TYPES:
        raise Unsupported("the CPU plugin computes models of f64 in f32")
    if any(a.dtype != arrays[0].dtype for a in arrays):
        raise Unsupported("x and its parameters of different types")
    if element == "float32" and HINT != "f32":
        raise Unsupported(f"the default on this CPU is to compute f32 in {HINT}")
    if not all(a.size for a in arrays):
        raise Unsupported("an empty tensor")
    dense = [np.ascontiguousarray(a) for a in arrays]
    result = y if y.flags.c_contiguous else np.empty(y.shape, y.dtype)
    try:
        call = request(graph, attributes, element, tuple(a.ndim for a in dense))
        for index, array in enumerate(dense):
            call.set_input_tensor(index, tensor(array))
        call.set_output_tensor(0, tensor(result))
        call.infer()
    except RuntimeError as error:  # OpenVINO's only type
        raise Rejected(reason(error)) from None
    if result is not y:
        y[...] = result


op = register


# ---- graphs: functions of attributes that give a function of nodes ----


def f32(value: float) -> Any:
    return ops.constant(np.float32(value))


def axes_of(*axes: int) -> Any:
    return ops.constant(np.array(axes, np.int64))


def affine(y: Any, weight: Any | None, bias: Any | None) -> Any:
    y = y if weight is None else ops.multiply(y, weight)
    return y if bias is None else ops.add(y, bias)


def scaled(has_weight: bool, build: Callable[[Any], Any], prepare: Callable[[Any], Any] = lambda p: p) -> Graph:
    """x normalized by build, then scale and shift as nodes of their own; the parameters pass through prepare first."""

    def nodes(x: Any, *parameters: Any) -> Any:
        rest = [prepare(p) for p in parameters]
        weight = rest.pop(0) if has_weight else None
        return affine(build(x), weight, rest[0] if rest else None)

    return nodes


def mvn(axes: tuple[int, ...], epsilon: float, has_weight: bool, trailing: int) -> Graph:
    """MVN-6 with the parameters of a channel followed by `trailing` dimensions."""

    def per_channel(p: Any) -> Any:
        return ops.unsqueeze(p, axes_of(*range(1, trailing + 1))) if trailing else p

    return scaled(has_weight, lambda x: ops.mvn(x, axes_of(*axes), True, epsilon, "inside_sqrt"), per_channel)


def rms(axes: tuple[int, ...], epsilon: float, has_weight: bool) -> Graph:
    """As models hold it; the plugin's transformations make one RMS of it where the scale is a constant."""

    def normalized(x: Any) -> Any:
        mean = ops.reduce_mean(ops.power(x, f32(2)), axes_of(*axes), True)
        return ops.multiply(x, ops.divide(f32(1), ops.sqrt(ops.add(mean, f32(epsilon)))))

    return scaled(has_weight, normalized)


def decomposed(pattern: str, epsilon: float, has_weight: bool) -> Graph:
    def normalized(x: Any) -> Any:
        mean = ops.reduce_mean(x, axes_of(-1), True)
        d = ops.subtract(mean, x) if pattern == "swapped_sub" else ops.subtract(x, mean)
        power = ops.reduce_mean(ops.power(d, f32(4 if pattern == "exponent_4" else 2)), axes_of(-1), True)
        root = ops.sqrt(ops.add(power, f32(epsilon)))
        return ops.divide(root, d) if pattern == "swapped_div" else ops.divide(d, root)

    return scaled(has_weight, normalized)


def group(groups: int, epsilon: float) -> Graph:
    return lambda x, weight, bias: ops.group_normalization(x, weight, bias, groups, epsilon)


def batch(epsilon: float) -> Graph:
    return lambda x, weight, bias, mean, var: ops.batch_norm_inference(x, weight, bias, mean, var, epsilon)


def reduced(p: int, axis: int) -> Graph:
    return lambda x: (ops.reduce_l1 if p == 1 else ops.reduce_l2)(x, axes_of(axis), False)


def normalize_l2(axis: int, epsilon: float, mode: str) -> Graph:
    return lambda x: ops.normalize_l2(x, axes_of(axis), epsilon, mode)


# ---- ops ----


def present(*arrays: np.ndarray | None) -> list[np.ndarray]:
    return [a for a in arrays if a is not None]


def stand_in(x: np.ndarray, shape: tuple[int, ...], one: bool) -> np.ndarray:
    """The scale or shift that an operation wants where a case has none."""
    if x.dtype == np.uint16:
        return np.full(shape, 0x3F80 if one else 0, x.dtype)  # bf16 1.0
    return np.full(shape, 1 if one else 0, x.dtype)


def trailing_axes(x: np.ndarray, axis: int) -> tuple[int, ...]:
    return tuple(range(first_normalized(x, axis) - x.ndim, 0))


@op("layer_norm")
def layer_norm(x, weight, bias, y, *, epsilon, normalized_axis=-1):
    axes = trailing_axes(x, normalized_axis)
    if ONNX:
        weight = stand_in(x, x.shape[axes[0] :], True) if weight is None else weight
        run("LayerNormalization", (("axis", axes[0]), ("epsilon", epsilon)), y, x, *present(weight, bias))
    else:
        run(mvn, (axes, epsilon, weight is not None, 0), y, x, *present(weight, bias))


@op("rms_norm")
def rms_norm(x, weight, y, *, epsilon, normalized_axis=-1, weight_offset=0.0):
    if weight is not None and weight_offset != 0:
        raise Unsupported("no weight offset")
    axes = trailing_axes(x, normalized_axis)
    if ONNX:
        weight = stand_in(x, x.shape[axes[0] :], True) if weight is None else weight
        run("RMSNormalization", (("axis", axes[0]), ("epsilon", epsilon)), y, x, weight)
    else:
        run(rms, (axes, epsilon, weight is not None), y, x, *present(weight))


@op("layer_norm_graph")
def layer_norm_graph(x, weight, bias, y, *, epsilon, pattern="exact"):
    if ONNX:
        raise Unsupported("the variant of the ONNX front end runs operators of ONNX only")
    run(decomposed, (pattern, epsilon, weight is not None), y, x, *present(weight, bias))


def channels(x: np.ndarray, layout: str) -> int:
    if layout != "nchw":
        raise Unsupported("no layout but nchw")
    if x.ndim < 2:
        raise Unsupported("needs batch and channels")
    return x.shape[1]


@op("channel_layer_norm")
def channel_layer_norm(x, weight, bias, y, *, epsilon, layout="nchw"):
    if ONNX:
        raise Unsupported("ONNX normalizes trailing dimensions only")
    trailing = 0 if layout == "nhwc" else 2 if x.ndim == 3 else x.ndim - 2  # nchw of rank 3 has no batch
    run(mvn, ((-1 - trailing,), epsilon, weight is not None, trailing), y, x, *present(weight, bias))


@op("group_norm")
def group_norm(x, weight, bias, y, *, groups, epsilon, layout="nchw"):
    shape = (channels(x, layout),)
    parameters = stand_in(x, shape, True) if weight is None else weight, stand_in(x, shape, False) if bias is None else bias
    if ONNX:
        run("GroupNormalization", (("num_groups", groups), ("epsilon", epsilon)), y, x, *parameters)
    else:
        run(group, (groups, epsilon), y, x, *parameters)


@op("instance_norm")
def instance_norm(x, weight, bias, y, *, epsilon, layout="nchw"):
    shape = (channels(x, layout),)
    if x.ndim < 3:
        raise Unsupported("needs spatial dimensions")
    if ONNX:
        parameters = stand_in(x, shape, True) if weight is None else weight, stand_in(x, shape, False) if bias is None else bias
        run("InstanceNormalization", (("epsilon", epsilon),), y, x, *parameters)
    else:
        axes = tuple(range(2 - x.ndim, 0))
        run(mvn, (axes, epsilon, weight is not None, len(axes)), y, x, *present(weight, bias))


@op("batch_norm")
def batch_norm(x, weight, bias, running_mean, running_var, y, *, epsilon, layout="nchw", training=0, momentum=0.0, variance="population"):
    if training:  # momentum and variance say nothing without it
        raise Unsupported("inference only")
    shape = (channels(x, layout),)
    parameters = stand_in(x, shape, True) if weight is None else weight, stand_in(x, shape, False) if bias is None else bias
    if ONNX:
        run("BatchNormalization", (("epsilon", epsilon),), y, x, *parameters, running_mean, running_var)
    else:
        run(batch, (epsilon,), y, x, *parameters, running_mean, running_var)


@op("lp_norm")
def lp_norm(x, y, *, p=2.0, axis=-1):
    if p not in (1, 2):
        raise Unsupported("ReduceL1 and ReduceL2 only")
    if ONNX:
        raise Unsupported("the same operation as without ONNX")
    run(reduced, (int(p), axis), y, x)


@op("lp_normalize")
def lp_normalize(x, y, *, p=2.0, epsilon=0.0, epsilon_mode="none", axis=-1):
    """Without an epsilon it is ONNX's LpNormalization in every variant: OpenVINO has no such operation of its own."""
    if epsilon_mode == "none" or epsilon == 0:
        if p not in (1, 2):
            raise Unsupported("LpNormalization takes p = 1 and p = 2 only")
        run("LpNormalization", (("p", int(p)), ("axis", axis)), y, x)
        return
    mode = {"add_inside": "add", "max_square": "max"}.get(epsilon_mode)
    if p != 2 or mode is None:
        raise Unsupported("NormalizeL2 adds epsilon to the sum of squares or takes the larger of the two, nothing else")
    if ONNX:
        raise Unsupported("ONNX's LpNormalization has no epsilon")
    run(normalize_l2, (axis, epsilon, mode), y, x)
