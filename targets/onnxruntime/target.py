"""ONNX Runtime's normalization operators on the CPU: one model of one node per form of call, run on the caller's own memory.

ONNX Runtime takes contiguous tensors only: a strided input is copied first, a strided output afterwards. Contiguous ones are bound where they
lie, at whatever alignment, so that a kernel that writes beyond its output is seen.
"""

from __future__ import annotations

import functools
import os
from typing import Any

import numpy as np
import onnxruntime
from onnx import TensorProto, helper
from onnxruntime.capi import onnxruntime_pybind11_state as errors

from normfuzz_target import Rejected, Unsupported, op, target

# Set by the variants of manifest.toml.
RMS_OPERATOR = os.environ.get("NORMFUZZ_ONNXRUNTIME_RMS", "RMSNormalization")
OPTIMIZE = os.environ.get("NORMFUZZ_ONNXRUNTIME_OPTIMIZE", "all")

# The operator-set version that a model asks for. SimplifiedLayerNormalization is ONNX Runtime's own, in the default domain.
OPSETS = {"LayerNormalization": 17, "RMSNormalization": 23, "SimplifiedLayerNormalization": 17, "LpNormalization": 22}
IR_VERSION = 10  # what opset 23 needs

# uint16 holds the bits of bf16 where the package ml_dtypes is missing.
TYPES = {
    "float64": TensorProto.DOUBLE,
    "float32": TensorProto.FLOAT,
    "float16": TensorProto.FLOAT16,
    "bfloat16": TensorProto.BFLOAT16,
    "uint16": TensorProto.BFLOAT16,
}

target(version=f"onnxruntime {onnxruntime.__version__}")


@functools.lru_cache(maxsize=512)  # a session takes 0.7 ms to make; attributes are part of a model, shapes are not
def session(operator: str, element_type: int, attributes: tuple[tuple[str, float | int], ...], ranks: tuple[int, ...]) -> onnxruntime.InferenceSession:
    names = ["x", "weight", "bias"][: len(ranks)]
    node = helper.make_node(operator, names, ["y"], **dict(attributes))
    values = [helper.make_tensor_value_info(n, element_type, [f"{n}{d}" for d in range(r)]) for n, r in zip(names, ranks)]
    y = helper.make_tensor_value_info("y", element_type, [f"x{d}" for d in range(ranks[0])])
    opsets = [helper.make_opsetid("", OPSETS[operator])]
    model = helper.make_model(helper.make_graph([node], "normfuzz", values, [y]), opset_imports=opsets, ir_version=IR_VERSION)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = options.enable_mem_pattern = False  # hundreds of sessions: each would keep its own memory
    options.log_severity_level = 3
    if OPTIMIZE == "none":
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


@functools.lru_cache(maxsize=64)
def ones(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """The scale that ONNX wants where a case has no weight."""
    if dtype == np.uint16:
        return np.full(shape, 0x3F80, dtype)  # bf16 1.0
    return np.ones(shape, dtype)


def run(operator: str, arrays: list[np.ndarray], y: np.ndarray, **attributes: float | int) -> None:
    element_type = TYPES[arrays[0].dtype.name]
    if any(a.dtype != arrays[0].dtype for a in arrays):
        raise Unsupported("x and its parameters of different types")
    dense = [np.ascontiguousarray(a) for a in arrays]
    result = y if y.flags.c_contiguous else np.empty(y.shape, y.dtype)
    try:
        model = session(operator, element_type, tuple(attributes.items()), tuple(a.ndim for a in dense))
        binding = model.io_binding()
        for name, array in zip(("x", "weight", "bias"), dense):
            binding.bind_input(name, "cpu", 0, element_type, array.shape, array.ctypes.data)
        binding.bind_output("y", "cpu", 0, element_type, result.shape, result.ctypes.data)
        model.run_with_iobinding(binding)
    except errors.NotImplemented as error:
        raise Unsupported(first_line(error)) from None
    except (errors.InvalidArgument, errors.InvalidGraph, errors.Fail, errors.RuntimeException) as error:
        raise Rejected(first_line(error)) from None
    if result is not y:
        y[...] = result


def stash_type(x: np.ndarray) -> int:
    """Stage one in float32, in float64 for float64: ONNX operator specification, attribute stash_type."""
    return TensorProto.DOUBLE if x.dtype == np.float64 else TensorProto.FLOAT


def first_line(error: Any) -> str:
    return str(error).split("\n", 1)[0]


def normalized_shape(x: np.ndarray, axis: int) -> tuple[int, ...]:
    if x.ndim == 0:
        raise Unsupported("a scalar has no axis to normalize")
    return x.shape[axis % x.ndim :]


@op("layer_norm")
def layer_norm(x, weight, bias, y, *, epsilon, normalized_axis=-1):
    if RMS_OPERATOR != "RMSNormalization":
        raise Unsupported(f"the variant of {RMS_OPERATOR} runs rms_norm only")
    scale = ones(normalized_shape(x, normalized_axis), x.dtype) if weight is None else weight
    arrays = [x, scale] if bias is None else [x, scale, bias]
    run("LayerNormalization", arrays, y, axis=normalized_axis, epsilon=epsilon, stash_type=stash_type(x))


@op("rms_norm")
def rms_norm(x, weight, y, *, epsilon, normalized_axis=-1, weight_offset=0.0):
    if weight is None:
        weight = ones(normalized_shape(x, normalized_axis), x.dtype)
    elif weight_offset != 0:
        raise Unsupported("the operator has no weight offset")
    run(RMS_OPERATOR, [x, weight], y, axis=normalized_axis, epsilon=epsilon, stash_type=stash_type(x))


@op("lp_normalize")
def lp_normalize(x, y, *, p=2.0, epsilon=0.0, epsilon_mode="none", axis=-1):
    if RMS_OPERATOR != "RMSNormalization":
        raise Unsupported(f"the variant of {RMS_OPERATOR} runs rms_norm only")
    if epsilon_mode != "none" and epsilon != 0:
        raise Unsupported("the operator has no epsilon")
    if p not in (1, 2):
        raise Unsupported("the operator takes p = 1 and p = 2 only")
    run("LpNormalization", [x], y, axis=axis, p=int(p))
