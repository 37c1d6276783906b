"""MNN on the CPU: ONNX models of one operator, or of the graph that exporters write where ONNX or MNN's converter has no operator, converted
in memory and run in float32 with one thread.

Weights are constants of the model, as in models that people convert, so a case with weights converts its model (a few milliseconds); the
variant 'inputs' makes them inputs, and converts once for each set of attributes. MNN's variables have no strides: tensors are copied.
"""

from __future__ import annotations

import contextlib
import functools
import os

import numpy as np
import MNN
import MNN.expr as expr
import MNN.nn as nn
import _tools  # the converter; the command mnnconvert also writes to the network
from onnx import TensorProto, helper, numpy_helper

from normfuzz_target import Rejected, Unsupported, first_normalized, op, target

WEIGHTS_ARE_INPUTS = os.environ.get("NORMFUZZ_MNN_WEIGHTS", "constants") == "inputs"
OPSET, IR_VERSION = 17, 8  # LayerNormalization came with opset 17; reductions still have their axes as an attribute

target(version=f"MNN {MNN.version()}")


@contextlib.contextmanager
def silence():
    """The converter tells of every model that it converts."""
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)


def node(operator: str, inputs: list[str], output: str, **attributes):
    return helper.make_node(operator, inputs, [output], **attributes)


class Constants:
    """Arrays by name, compared by bits: what a converted model is cached by."""

    def __init__(self, arrays: dict[str, np.ndarray]):
        self.arrays = arrays
        self.key = tuple((name, a.shape, a.tobytes()) for name, a in arrays.items())

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constants) and self.key == other.key


@functools.lru_cache(maxsize=128)
def module(graph, arguments: tuple, ranks: tuple[tuple[str, int], ...], constants: Constants):
    """The converted model of graph(*arguments), which gives its nodes, from x to y."""
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [f"{name}{d}" for d in range(rank)]) for name, rank in ranks]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    held = [numpy_helper.from_array(np.ascontiguousarray(a), name) for name, a in constants.arrays.items()]
    made = helper.make_graph(graph(*arguments), "normfuzz", inputs, [output], held)
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
    source, converted = os.memfd_create("onnx"), os.memfd_create("mnn")
    try:
        os.write(source, model.SerializeToString())
        paths = [f"/proc/self/fd/{descriptor}" for descriptor in (source, converted)]
        with silence():
            done = _tools.mnnconvert(["mnnconvert", "-f", "ONNX", "--modelFile", paths[0], "--MNNModel", paths[1], "--bizCode", "normfuzz"])
            if not done:
                raise Rejected("the converter refuses the model")
            return nn.load_module_from_file(
                paths[1], [name for name, _ in ranks], ["y"], backend=expr.Backend.CPU, precision_mode=expr.PrecisionMode.High, thread_num=1
            )
    finally:
        os.close(source)
        os.close(converted)


def run(graph, arguments: tuple, x: np.ndarray, **weights: np.ndarray) -> np.ndarray:
    """graph gives its nodes for the arguments, which are hashable; its inputs are x and the weights by name."""
    if x.ndim == 0:
        raise Unsupported("a scalar has no axis to reduce")
    if any(a.dtype != np.float32 for a in (x, *weights.values())):
        raise Unsupported("float32 only")
    variables = {"x": x, **weights} if WEIGHTS_ARE_INPUTS else {"x": x}
    constants = Constants({} if WEIGHTS_ARE_INPUTS else weights)
    loaded = module(graph, arguments, tuple((name, a.ndim) for name, a in variables.items()), constants)
    handed = []
    for array in variables.values():
        variable = expr.placeholder(list(array.shape), expr.NCHW, expr.float)
        variable.write(np.ascontiguousarray(array))
        handed.append(variable)
    result = loaded.forward(handed)
    return np.array((result[0] if isinstance(result, (list, tuple)) else result).read(), np.float32)


def shaped(y: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """MNN gives a scalar the shape [1]."""
    return y.reshape(shape) if y.size == np.prod(shape) else y


def as_scale(weight: np.ndarray) -> np.ndarray:
    """A weight that repeats one element in memory is that element: ONNX broadcasts a Scale and a B to x."""
    if weight.size > 1 and not any(weight.strides):
        return weight.reshape(-1)[:1].copy()
    return weight


# ---- one operator ----


def layer_norm_node(axis: int, epsilon: float, has_bias: bool):
    return [node("LayerNormalization", ["x", "weight", "bias"][: 2 + has_bias], "y", axis=axis, epsilon=epsilon)]


@op("layer_norm")
def layer_norm(x, weight, bias, *, epsilon, normalized_axis=-1):
    first = first_normalized(x, normalized_axis)
    weights = {"weight": np.ones(x.shape[first:], x.dtype) if weight is None else as_scale(weight)}
    if bias is not None:
        weights["bias"] = as_scale(bias)
    return run(layer_norm_node, (normalized_axis, epsilon, bias is not None), x, **weights)


def channel_parameters(x: np.ndarray, weight: np.ndarray | None, bias: np.ndarray | None, layout: str) -> dict[str, np.ndarray]:
    """Both are inputs that the operator requires."""
    if layout != "nchw":
        raise Unsupported("the operator has its channels in front")
    if x.ndim < 2:
        raise Unsupported("the operator needs batch and channels")
    return {
        "weight": np.ones(x.shape[1], x.dtype) if weight is None else weight,
        "bias": np.zeros(x.shape[1], x.dtype) if bias is None else bias,
    }


def instance_norm_node(epsilon: float):
    return [node("InstanceNormalization", ["x", "weight", "bias"], "y", epsilon=epsilon)]


@op("instance_norm")
def instance_norm(x, weight, bias, *, epsilon, layout="nchw"):
    if WEIGHTS_ARE_INPUTS:
        raise Unsupported("the converter wants constants here")
    return run(instance_norm_node, (epsilon,), x, **channel_parameters(x, weight, bias, layout))


def batch_norm_node(epsilon: float):
    return [node("BatchNormalization", ["x", "weight", "bias", "running_mean", "running_var"], "y", epsilon=epsilon)]


@op("batch_norm")
def batch_norm(x, weight, bias, running_mean, running_var, *, epsilon, layout="nchw", training=0, momentum=0.0, variance="population"):
    if training:
        raise Unsupported("MNN normalizes by given statistics")
    if WEIGHTS_ARE_INPUTS:
        raise Unsupported("the converter wants constants here")
    parameters = channel_parameters(x, weight, bias, layout)
    return run(batch_norm_node, (epsilon,), x, **parameters, running_mean=running_mean, running_var=running_var)


def lp_normalize_node(p: int, axis: int):
    return [node("LpNormalization", ["x"], "y", p=p, axis=axis)]


@op("lp_normalize")
def lp_normalize(x, *, p=2.0, epsilon=0.0, epsilon_mode="none", axis=-1):
    if epsilon_mode != "none" and epsilon != 0:
        raise Unsupported("the operator has no epsilon")
    if p not in (1, 2):
        raise Unsupported("the operator takes p = 1 and p = 2 only")
    return run(lp_normalize_node, (int(p), axis), x)


def lp_norm_node(p: int, axis: int):
    return [node(f"ReduceL{p}", ["x"], "y", axes=[axis], keepdims=0)]


@op("lp_norm")
def lp_norm(x, *, p=2.0, axis=-1):
    if p not in (1, 2):
        raise Unsupported("ReduceL1 and ReduceL2 only")
    y = run(lp_norm_node, (int(p), axis), x)
    return shaped(y, tuple(np.delete(x.shape, axis)))


# ---- graphs ----


def constant(name: str, value: float):
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(np.float32(value), name))


def rms_norm_graph(axes: tuple[int, ...], epsilon: float, has_weight: bool):
    """What exporters write for RMSNorm."""
    nodes = [
        constant("two", 2),
        constant("epsilon", epsilon),
        node("Pow", ["x", "two"], "square"),
        node("ReduceMean", ["square"], "mean_square", axes=list(axes), keepdims=1),
        node("Add", ["mean_square", "epsilon"], "sum"),
        node("Sqrt", ["sum"], "root"),
        node("Div", ["x", "root"], "normalized" if has_weight else "y"),
    ]
    return nodes + ([node("Mul", ["normalized", "weight"], "y")] if has_weight else [])


@op("rms_norm")
def rms_norm(x, weight, *, epsilon, normalized_axis=-1, weight_offset=0.0):
    if weight_offset != 0:
        raise Unsupported("no weight offset")
    axes = tuple(range(first_normalized(x, normalized_axis), x.ndim))
    return run(rms_norm_graph, (axes, epsilon, weight is not None), x, **({} if weight is None else {"weight": weight}))


def layer_norm_graph_nodes(pattern: str, epsilon: float, has_weight: bool, has_bias: bool):
    exponent = {"exponent_3": 3, "exponent_4": 4}.get(pattern, 2)
    last = "weighted" if has_bias else "y"
    nodes = [
        constant("exponent", exponent),
        constant("epsilon", epsilon),
        node("ReduceMean", ["x"], "mean", axes=[-1], keepdims=1),
        node("Sub", ["mean", "x"] if pattern == "swapped_sub" else ["x", "mean"], "difference"),
        node("Pow", ["difference", "exponent"], "power"),
        node("ReduceMean", ["power"], "variance", axes=[-1], keepdims=1),
        node("Add", ["variance", "epsilon"], "sum"),
        node("Sqrt", ["sum"], "root"),
        node("Div", ["root", "difference"] if pattern == "swapped_div" else ["difference", "root"], "normalized" if has_weight else last),
    ]
    if has_weight:
        nodes.append(node("Mul", ["normalized", "weight"], last))
    return nodes + ([node("Add", [last, "bias"], "y")] if has_bias else [])


@op("layer_norm_graph")
def layer_norm_graph(x, weight, bias, *, epsilon, pattern="exact"):
    weights = {name: a for name, a in (("weight", weight), ("bias", bias)) if a is not None}
    return run(layer_norm_graph_nodes, (pattern, epsilon, weight is not None, bias is not None), x, **weights)
