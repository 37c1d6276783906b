"""ggml's CPU operators through ggml-python: each call builds a graph of a few nodes in a context that is used again and again, over the
caller's memory, and computes it in one thread.

A tensor of ggml has up to four dimensions, the innermost first, with strides in bytes: views go through as they are where an operator takes
them. It refuses by ending the process, so what its assertions ask for is asked here before.
"""

from __future__ import annotations

import ctypes

import numpy as np
import ggml
from ggml import ggml as g

from normfuzz_target import Unsupported, first_normalized, op, target, threads

target(version=f"ggml-python {ggml.__version__} (ggml {g.ggml_version().decode()})")

F32 = g.GGML_TYPE_F32
FLOAT_BYTES = 4

g.ggml_cpu_init()
# Room for the structures of a few nodes; the elements stay where they are (no_alloc).
CONTEXT = g.ggml_init(g.ggml_init_params(mem_size=1 << 20, mem_buffer=None, no_alloc=True))


def tensor(array: np.ndarray):
    """A view of an array of at most four dimensions, strides and all."""
    extents = (*reversed(array.shape), 1, 1, 1, 1)[:4]
    view = g.ggml_new_tensor_4d(CONTEXT, F32, *extents)
    made = view.contents
    made.data = array.ctypes.data
    if not array.flags.c_contiguous:
        for axis, stride in enumerate(reversed(array.strides)):
            made.nb[axis] = stride if array.shape[-1 - axis] > 1 else made.nb[axis]
    return view


def placed(node, array: np.ndarray):
    """The result of a node goes into an array."""
    node.contents.data = array.ctypes.data
    return node


def compute(*results) -> None:
    graph = g.ggml_new_graph(CONTEXT)
    for result in results:
        g.ggml_build_forward_expand(graph, result)
    plan = g.ggml_graph_plan(graph, threads(), None)
    work = None
    if plan.work_size:
        work = ctypes.create_string_buffer(plan.work_size)
        plan.work_data = ctypes.cast(work, type(plan.work_data))
    if g.ggml_graph_compute(graph, ctypes.byref(plan)) != 0:
        raise RuntimeError("ggml_graph_compute failed")


def require_float32(*arrays: np.ndarray | None) -> None:
    if any(a is not None and a.dtype != np.float32 for a in arrays):
        raise Unsupported("the operators are for float32 only")
    g.ggml_reset(CONTEXT)


def usable(x: np.ndarray, dense_rows: bool) -> bool:
    """Whether ggml takes this view: no repeated elements, whole floats, and dense within a row where the operator asks for it."""
    if x.ndim > 4 or any(n > 1 and (s <= 0 or s % FLOAT_BYTES) for n, s in zip(x.shape, x.strides)):
        return False
    return not dense_rows or x.shape[-1] == 1 or x.strides[-1] == FLOAT_BYTES


def rows(x: np.ndarray, normalized_axis: int, dense_rows: bool) -> np.ndarray:
    """x with what is normalized as its last dimension: as it is where it can be, else a copy of two dimensions."""
    axis = first_normalized(x, normalized_axis)
    if axis == x.ndim - 1 and usable(x, dense_rows):
        return x
    return np.ascontiguousarray(x).reshape(-1, int(np.prod(x.shape[axis:])))


def affine(node, weight: np.ndarray | None, bias: np.ndarray | None, shape: tuple[int, ...], keep: list[np.ndarray], places: list):
    """node * weight + bias, the parameters repeated over the rows. places: memory for the results of the steps, the last one's first."""
    steps = [(f, p) for f, p in ((g.ggml_mul, weight), (g.ggml_add, bias)) if p is not None]
    places = places + [np.empty_like(places[0]) for _ in steps[: len(steps) + 1 - len(places)]]
    keep += places
    placed(node, places[len(steps)])
    for left, (function, parameter) in zip(reversed(range(len(steps))), steps):
        dense = np.ascontiguousarray(parameter).reshape(shape)
        keep.append(dense)
        node = placed(function(CONTEXT, node, tensor(dense)), places[left])
    return node


def normalize(function, view: np.ndarray, weight, bias, parameter_shape: tuple[int, ...], y: np.ndarray) -> np.ndarray | None:
    """function(tensor) and the affine steps. The result is dense, in the caller's memory if that is."""
    dense = y if y.flags.c_contiguous else np.empty(y.shape, y.dtype)
    keep: list[np.ndarray] = []
    compute(affine(function(tensor(view)), weight, bias, parameter_shape, keep, [dense]))
    return None if dense is y else dense


@op("layer_norm")
def layer_norm(x, weight, bias, y, *, epsilon, normalized_axis=-1):
    require_float32(x, weight, bias)
    view = rows(x, normalized_axis, dense_rows=False)
    return normalize(lambda t: g.ggml_norm(CONTEXT, t, epsilon), view, weight, bias, (view.shape[-1],), y)


@op("rms_norm")
def rms_norm(x, weight, bias, y, *, epsilon, normalized_axis=-1, weight_offset=0.0):
    if weight_offset != 0:
        raise Unsupported("no weight offset")
    require_float32(x, weight, bias)
    view = rows(x, normalized_axis, dense_rows=True)
    return normalize(lambda t: g.ggml_rms_norm(CONTEXT, t, epsilon), view, weight, bias, (view.shape[-1],), y)


@op("group_norm")
def group_norm(x, weight, bias, y, *, groups, epsilon, layout="nchw"):
    if layout != "nchw":
        raise Unsupported("the channels are the third dimension from inside")
    if not 2 <= x.ndim <= 5:
        raise Unsupported("batch, channels and at most three more dimensions")
    require_float32(x, weight, bias)
    shape = x.shape[:2] + (1,) * max(0, 4 - x.ndim) + x.shape[2:]
    view = x if x.ndim == 4 and usable(x, dense_rows=True) else np.ascontiguousarray(x).reshape(*shape[:2], -1, shape[-1])
    channels = (1, x.shape[1], 1, 1)
    return normalize(lambda t: g.ggml_group_norm(CONTEXT, t, groups, epsilon), view, weight, bias, channels, y)


@op("lp_normalize")
def lp_normalize(x, *, p=2.0, epsilon=0.0, epsilon_mode="none", axis=-1):
    if p != 2:
        raise Unsupported("ggml_l2_norm only")
    if epsilon_mode not in ("none", "max_norm"):
        raise Unsupported("the operator takes the larger of norm and epsilon")
    if x.ndim == 0:
        raise Unsupported("a scalar has no axis to normalize")
    require_float32(x)
    moved = np.moveaxis(x, axis, -1)
    view = rows(moved, -1, dense_rows=False)
    y = np.empty(moved.shape, np.float32)
    compute(placed(g.ggml_l2_norm(CONTEXT, tensor(view), epsilon if epsilon_mode == "max_norm" else 0.0), y))
    return np.moveaxis(y, -1, axis)


@op("rms_norm_backward")
def rms_norm_backward(x, dy, weight, dweight=None, *, dx, epsilon, normalized_axis=-1, weight_offset=0.0):
    """The graph that ggml's own backward pass builds for rms_norm and mul. ggml_rms_norm_back takes the gradient first, then x."""
    if weight_offset != 0:
        raise Unsupported("no weight offset")
    require_float32(x, dy, weight)
    forward, gradient = (rows(a, normalized_axis, dense_rows=True) for a in (x, dy))
    if forward.shape != gradient.shape:  # one of them was flattened
        forward, gradient = (np.ascontiguousarray(a).reshape(-1, forward.shape[-1]) for a in (forward, gradient))
    tx, tdy = tensor(forward), tensor(gradient)
    inner, back, normalized, product = (np.empty(forward.shape, np.float32) for _ in range(4))
    tg = tdy
    if weight is not None:
        dense = np.ascontiguousarray(weight).reshape(-1)
        tg = placed(g.ggml_mul(CONTEXT, tdy, tensor(dense)), inner)
    results = [placed(g.ggml_rms_norm_back(CONTEXT, tg, tx, epsilon), back)]
    if dweight is not None:
        like, summed = np.empty(forward.shape[-1], np.float32), np.empty(forward.shape[-1], np.float32)
        y = placed(g.ggml_rms_norm(CONTEXT, tx, epsilon), normalized)
        results.append(placed(g.ggml_repeat_back(CONTEXT, placed(g.ggml_mul(CONTEXT, y, tdy), product), tensor(like)), summed))
    compute(*results)
    dx[...] = back.reshape(dx.shape)
    if dweight is not None:
        dweight[...] = summed.reshape(dweight.shape)
