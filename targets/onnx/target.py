"""The reference evaluator of the onnx package: the operators of the operator set in NumPy, and the function bodies that it defines for the
others. It takes arrays of any strides."""

from __future__ import annotations

import functools
from typing import Any, Callable

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, helper
from onnx.reference import ReferenceEvaluator

from normfuzz_target import Rejected, Unsupported, first_normalized, op, target, weight_of_old

OPSET, IR_VERSION = 23, 10  # what RMSNormalization needs
TYPES = {
    "float64": TensorProto.DOUBLE,
    "float32": TensorProto.FLOAT,
    "float16": TensorProto.FLOAT16,
    "bfloat16": TensorProto.BFLOAT16,
}

target(version=f"onnx {onnx.__version__}, reference evaluator")
np.seterr(all="ignore")  # overflow and 0 / 0 are results like others

Attributes = tuple[tuple[str, Any], ...]
Model = tuple[list[NodeProto], list[TensorProto]]  # nodes and initializers


def one_node(_: int, operator: str, inputs: tuple[str, ...], outputs: tuple[str, ...], attributes: Attributes) -> Model:
    return [helper.make_node(operator, inputs, outputs, **dict(attributes))], []


def graph(element_type: int, steps: tuple[str, ...], scalars: Attributes) -> Model:
    """A model of steps 'output = Operator inputs', the last of which gives y; a mean is over the last axis, which stays."""
    nodes = []
    for step in steps:
        output, _, operator, *inputs = step.split()
        nodes.append(helper.make_node(operator, [*inputs, "axis"] if operator == "ReduceMean" else inputs, [output]))
    nodes[-1].output[0] = "y"
    axis = helper.make_tensor("axis", TensorProto.INT64, [1], [-1])
    return nodes, [axis, *(helper.make_tensor(name, element_type, [], [value]) for name, value in scalars)]


@functools.lru_cache(maxsize=1024)
def evaluator(
    build: Callable[..., Model], arguments: tuple, element_type: int, inputs: tuple[tuple[str, int], ...], outputs: tuple[str, ...]
) -> ReferenceEvaluator:
    nodes, initializers = build(element_type, *arguments)
    values = [helper.make_tensor_value_info(n, element_type, [f"{n}{d}" for d in range(rank)]) for n, rank in inputs]
    results = [helper.make_tensor_value_info(n, element_type, None) for n in outputs]
    whole = helper.make_graph(nodes, "normfuzz", values, results, initializers)
    return ReferenceEvaluator(helper.make_model(whole, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION))


Tensors = dict[str, np.ndarray]


def run_model(build: Callable[..., Model], arguments: tuple, inputs: Tensors, outputs: tuple[str, ...]) -> list[np.ndarray]:
    dtype = inputs["x"].dtype
    if any(a.dtype != dtype for a in inputs.values()):
        raise Unsupported("x and its parameters of different types")
    ranks = tuple((n, a.ndim) for n, a in inputs.items())
    try:
        return evaluator(build, arguments, TYPES[dtype.name], ranks, outputs).run(None, inputs)
    except NotImplementedError as error:
        raise Unsupported(" ".join(str(error).split())) from None
    except (RuntimeError, TypeError, ValueError) as error:
        raise Rejected(" ".join(str(error).split())) from None


def run(operator: str, inputs: Tensors, outputs: tuple[str, ...] = ("y",), **attributes) -> Any:
    results = run_model(one_node, (operator, tuple(inputs), outputs, tuple(attributes.items())), inputs, outputs)
    return results[0] if len(outputs) == 1 else results


def scale_and_shift(x: np.ndarray, weight: np.ndarray | None, bias: np.ndarray | None, shape: tuple[int, ...]) -> Tensors:
    """With the scale of ones and shift of zeros that ONNX wants where a case has no weight or bias."""
    return {
        "x": x,
        "weight": np.ones(shape, x.dtype) if weight is None else weight,
        "bias": np.zeros(shape, x.dtype) if bias is None else bias,
    }


def normalized_shape(x: np.ndarray, axis: int) -> tuple[int, ...]:
    return x.shape[first_normalized(x, axis) :]


def channels_first(x: np.ndarray, layout: str) -> None:
    if layout != "nchw" and x.ndim > 2:
        raise Unsupported("the operator has its channels in front")
    if x.ndim < 2:
        raise Unsupported("the operator needs batch and channels")


@op("layer_norm")
def layer_norm(x, weight, bias, *, epsilon, normalized_axis=-1):
    inputs = scale_and_shift(x, weight, bias, normalized_shape(x, normalized_axis))
    if bias is None:
        del inputs["bias"]
    return run("LayerNormalization", inputs, axis=normalized_axis, epsilon=epsilon)


@op("layer_norm_graph")
def layer_norm_graph(x, weight, bias, *, epsilon, pattern="exact"):
    steps = [
        "mean = ReduceMean x",
        "difference = Sub mean x" if pattern == "swapped_sub" else "difference = Sub x mean",
        "power = Pow difference exponent",
        "variance = ReduceMean power",
        "sum = Add variance epsilon",
        "root = Sqrt sum",
        "xhat = Div root difference" if pattern == "swapped_div" else "xhat = Div difference root",
    ]
    inputs = {"x": x}
    for name, operator, tensor in (("weight", "Mul", weight), ("bias", "Add", bias)):
        if tensor is not None:
            steps.append(f"with_{name} = {operator} {steps[-1].split()[0]} {name}")
            inputs[name] = tensor
    scalars = (("exponent", 4.0 if pattern == "exponent_4" else 2.0), ("epsilon", epsilon))
    return run_model(graph, (tuple(steps), scalars), inputs, ("y",))[0]


@op("rms_norm")
def rms_norm(x, weight, *, epsilon, normalized_axis=-1, weight_offset=0.0):
    if weight is not None and weight_offset != 0:
        raise Unsupported("the operator has no weight offset")
    inputs = scale_and_shift(x, weight, None, normalized_shape(x, normalized_axis))
    del inputs["bias"]
    return run("RMSNormalization", inputs, axis=normalized_axis, epsilon=epsilon)


@op("group_norm")
def group_norm(x, weight, bias, *, groups, epsilon, layout="nchw"):
    channels_first(x, layout)
    inputs = scale_and_shift(x, weight, bias, (x.shape[1],))
    stash_type = TensorProto.DOUBLE if x.dtype == np.float64 else TensorProto.FLOAT
    return run("GroupNormalization", inputs, num_groups=groups, epsilon=epsilon, stash_type=stash_type)


@op("instance_norm")
def instance_norm(x, weight, bias, *, epsilon, layout="nchw"):
    channels_first(x, layout)
    return run("InstanceNormalization", scale_and_shift(x, weight, bias, (x.shape[1],)), epsilon=epsilon)


@op("batch_norm")
def batch_norm(x, weight, bias, running_mean, running_var, *, epsilon, layout="nchw", training=0, momentum=0.0, variance="population"):
    channels_first(x, layout)
    shape = (x.shape[1],)
    inputs = scale_and_shift(x, weight, bias, shape)
    if not training:
        inputs |= {"mean": running_mean, "variance": running_var}
        return run("BatchNormalization", inputs, epsilon=epsilon)
    keeps = running_mean is not None
    if keeps and variance != "population":
        raise Unsupported("the running variance is the population's")
    zeros = np.zeros(shape, x.dtype)
    inputs |= {"mean": running_mean, "variance": running_var} if keeps else {"mean": zeros, "variance": zeros}
    old = weight_of_old(momentum) if keeps else 0.0
    outputs = ("y", "new_mean", "new_variance")
    y, new_mean, new_variance = run("BatchNormalization", inputs, outputs, epsilon=epsilon, momentum=old, training_mode=1)
    return {"y": y, "running_mean_new": new_mean, "running_var_new": new_variance} if keeps else y


@op("lp_norm")
def lp_norm(x, *, p=2.0, axis=-1):
    if p not in (1, 2):
        raise Unsupported("there are reductions for p = 1 and p = 2 only")
    return run_model(reduction, (f"ReduceL{int(p)}", axis), {"x": x}, ("y",))[0]


def reduction(_: int, operator: str, axis: int) -> Model:
    return [helper.make_node(operator, ["x", "axis"], ["y"], keepdims=0)], [helper.make_tensor("axis", TensorProto.INT64, [1], [axis])]


@op("lp_normalize")
def lp_normalize(x, *, p=2.0, epsilon=0.0, epsilon_mode="none", axis=-1):
    if epsilon_mode != "none" and epsilon != 0:
        raise Unsupported("the operator has no epsilon")
    if p not in (1, 2):
        raise Unsupported("the operator takes p = 1 and p = 2 only")
    return run("LpNormalization", {"x": x}, axis=axis, p=int(p))
