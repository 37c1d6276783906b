# A title about this.
# Shrunk by normfuzz; seen with torch.
#
# Needs ml_dtypes, numpy, torch. It prints got, exact and allowed error of every element.
# Exit status 1: the divergence is there, 0: it is not.
from __future__ import annotations

import os

os.environ["ATEN_CPU_CAPABILITY"] = "avx2"

import functools
import math
import sys
from typing import Any, Callable

import numpy as np
from ml_dtypes import bfloat16
import torch
import torch.nn.functional as F


class Unsupported(Exception):
    """This target has no such kernel."""


Function = Callable[..., Any]

Converters = tuple[Callable[[Any], Any], Callable[[Any], Any]]  # from NumPy's array and back


def with_arrays(converters: Converters, function: Function) -> Function:
    """The function on NumPy's arrays: every tensor is handed over as the framework's, every one that it returns is taken back."""
    import numpy

    given, taken = converters

    @functools.wraps(function)
    def call(**arguments: Any) -> Any:
        result = function(**{n: given(a) if isinstance(a, numpy.ndarray) else a for n, a in arguments.items()})
        if isinstance(result, dict):
            return {n: taken(t) for n, t in result.items()}
        return tuple(map(taken, result)) if isinstance(result, tuple) else None if result is None else taken(result)

    return call


def torch_arrays() -> Converters:
    """Views of the same memory with the same strides, by DLPack; bf16, which NumPy's DLPack does not know, by its bits."""
    import torch

    def given(array: Any) -> Any:
        brain = array.dtype.name in ("bfloat16", "uint16")
        return torch.from_dlpack(array.view("i2")).view(torch.bfloat16) if brain else torch.from_dlpack(array)

    def taken(tensor: Any) -> Any:
        tensor = tensor.detach()
        return tensor.view(torch.int16).numpy().view(brain_type()) if tensor.dtype == torch.bfloat16 else tensor.numpy()

    return given, taken


def brain_type() -> Any:
    """NumPy's type for bf16, as the host hands it over."""
    try:
        from ml_dtypes import bfloat16 as brain
    except ImportError:
        return "u2"
    return brain


def first_normalized(x: Any, normalized_axis: int) -> int:
    """The first dimension of a row of layer_norm or rms_norm, 0 .. ndim - 1."""
    if x.ndim == 0:
        raise Unsupported("a scalar has no axis to normalize")
    return normalized_axis % x.ndim


torch.set_num_threads(1)

Tensor = torch.Tensor
Gradients = dict[str, Tensor]


def trailing_shape(x: Tensor, axis: int) -> tuple[int, ...]:
    return tuple(x.shape[first_normalized(x, axis) :])


def gradients(forward: Callable[..., Tensor], x: Tensor, dy: Tensor, weight: Tensor | None, biased: bool = True) -> Gradients:
    """By autograd, through forward(x, weight, bias)."""
    leaves = {"dx": x.requires_grad_()}
    if weight is not None:
        leaves["dweight"] = weight.requires_grad_()
        if biased:
            leaves["dbias"] = torch.zeros_like(weight).requires_grad_()
    y = forward(x, weight, leaves.get("dbias"))
    return dict(zip(leaves, torch.autograd.grad(y, list(leaves.values()), dy)))


def layer_norm_backward(x, dy, weight, *, epsilon, normalized_axis=-1):
    shape = trailing_shape(x, normalized_axis)
    return gradients(lambda x, w, b: F.layer_norm(x, shape, w, b, epsilon), x, dy, weight)


# ---- the case ----


def case_array(dtype, shape, values="", strides=None, offset=0, misalign=0):
    """Strides and offset are in elements; the buffer begins `misalign` bytes behind a multiple of 64."""
    dtype = np.dtype(dtype)
    if strides is None:
        strides = [int(np.prod(shape[i + 1 :])) for i in range(len(shape))]
    elements = offset + 1 + sum((n - 1) * s for n, s in zip(shape, strides))
    buffer = np.zeros(128 + max(elements, 1) * dtype.itemsize, np.uint8)
    start = (misalign - buffer.ctypes.data) % 64 + offset * dtype.itemsize
    array = np.ndarray(shape, dtype, buffer, start, [s * dtype.itemsize for s in strides])
    array[...] = np.array([float.fromhex(v) for v in values.split()]).reshape(shape) if values else np.nan
    return array


def run_case():
    x = case_array(bfloat16, (2, 4), """
        0x1p0 0x1.8p+3 -0x1p1 0x0p0
        0x1p0 0x1.8p+3 -0x1p1 0x0p0
    """, strides=[1, 2])
    dy = case_array(bfloat16, (2, 4), """
        0x1p0 0x1.8p+3 -0x1p1 0x0p0
        0x1p0 0x1.8p+3 -0x1p1 0x0p0
    """)
    weight = case_array(bfloat16, (4,), "0x1p0 0x1p0 0x1p0 0x1p0")
    result = with_arrays(torch_arrays(), layer_norm_backward)(x=x, dy=dy, weight=weight, epsilon=9.999999747378752e-06)
    return result if isinstance(result, dict) else dict(zip(("dx", "dweight", "dbias"), result))


# Of every element of the outputs: its row-major index, the exact value, and the largest error that the contract allows.
EXPECTED = {
    "dx": """
        0 0x1p0 0x1p-20
    """,
    "dbias": """
        1 0x1.8p4 0x1p-20
    """,
}


def main():
    print(f"torch {torch.__version__}, cpu capability {torch.backends.cpu.get_cpu_capability()}")
    results, diverges = run_case(), False
    for name, lines in EXPECTED.items():
        values = np.asarray(results[name]).reshape(-1)
        for index, exact, allowed in (line.split() for line in lines.strip().splitlines()):
            got, exact, allowed = float(values[int(index)]), float.fromhex(exact), float.fromhex(allowed)
            if math.isnan(exact):
                wrong = not math.isnan(got)
            else:
                wrong = got != exact and math.isfinite(allowed) and not abs(got - exact) <= allowed
            diverges = diverges or wrong
            print(f"{name}[{index}]: got {got:.9g}, exact {exact:.9g}, allowed error {allowed:.3g}{'  <- diverges' if wrong else ''}")
    print("the divergence is there" if diverges else "no divergence")
    return int(diverges)


if __name__ == "__main__":
    sys.exit(main())
