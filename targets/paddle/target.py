"""PaddlePaddle's operators on the CPU, in dynamic mode: layer, group, instance and batch norm, vector norms, distances, cosine similarity
and normalized vectors; gradients through paddle.grad.

Tensors are taken by DLPack: views of the caller's memory with the caller's strides.
"""

from __future__ import annotations

import importlib.util
import sys
import types

import numpy as np

def without_setuptools() -> None:
    """Paddle's builder of extensions is imported with it and derives from classes of setuptools, which the environment does not have."""
    if importlib.util.find_spec("setuptools") is not None:
        return
    for name, members in (("", {"__file__": __file__}), (".command", {}), *((f".command.{c}", {c: type(c, (), {})}) for c in COMMANDS)):
        module = sys.modules["setuptools" + name] = types.ModuleType("setuptools" + name)
        module.__dict__.update(members)


COMMANDS = ("easy_install", "build_ext", "install")
without_setuptools()

import paddle
import paddle.nn.functional as F
from paddle.utils.dlpack import from_dlpack

from normfuzz_target import Unsupported, first_normalized, rejecting, target, weight_of_old

paddle.set_device("cpu")
target(version=f"paddlepaddle {paddle.__version__}")

DATA_FORMATS = {"nchw": (None, None, "NC", "NCL", "NCHW", "NCDHW"), "nhwc": (None, None, "NC", "NLC", "NHWC", "NDHWC")}


def reason(error: ValueError | RuntimeError) -> str:
    """The values that Paddle's texts name are not the reason."""
    text = " ".join(str(error).split())
    return text.split(" But received")[0].split(" [Hint:")[0].split(", but got")[0].rstrip(",. ")


op = rejecting((ValueError, RuntimeError), reason)


def tensors(*arrays: np.ndarray | None) -> list[paddle.Tensor | None]:
    """Views as Paddle's tensors. There are no CPU kernels for 16-bit types."""
    dtype = arrays[0].dtype
    if dtype not in (np.float32, np.float64):
        raise Unsupported(f"no CPU kernel for {dtype}")
    if any(a is not None and a.dtype != dtype for a in arrays):
        raise Unsupported("x and its parameters of different types")
    return [None if a is None else from_dlpack(a.__dlpack__()) for a in arrays]


def data_format(x: np.ndarray, layout: str) -> str:
    if not 2 <= x.ndim <= 5:
        raise Unsupported("Paddle has data formats for two to five dimensions")
    return DATA_FORMATS[layout][x.ndim]


def normalized_shape(x: np.ndarray, axis: int) -> list[int]:
    return list(x.shape[first_normalized(x, axis) :])


def flat(parameter: paddle.Tensor | None) -> paddle.Tensor | None:
    """The kernels that normalize several dimensions want their parameters with one."""
    return parameter if parameter is None or parameter.ndim == 1 else parameter.flatten()


# ---- forward ----


@op("layer_norm")
def layer_norm(x, weight, bias, *, epsilon, normalized_axis=-1):
    tx, tw, tb = tensors(x, weight, bias)
    shape = normalized_shape(x, normalized_axis)
    return F.layer_norm(tx, shape, flat(tw), flat(tb), epsilon).numpy()


@op("group_norm")
def group_norm(x, weight, bias, *, groups, epsilon, layout="nchw"):
    tx, tw, tb = tensors(x, weight, bias)
    return F.group_norm(tx, groups, epsilon=float(epsilon), weight=tw, bias=tb, data_format=data_format(x, layout)).numpy()


@op("instance_norm")
def instance_norm(x, weight, bias, *, epsilon, layout="nchw"):
    if layout != "nchw":  # the function has data formats with the channels in front only
        raise Unsupported("instance_norm has no layout but nchw")
    tx, tw, tb = tensors(x, weight, bias)
    return F.instance_norm(tx, weight=tw, bias=tb, eps=epsilon).numpy()


@op("batch_norm")
def batch_norm(x, weight, bias, running_mean, running_var, *, epsilon, layout="nchw", training=0, momentum=0.0, variance="population"):
    tx, tw, tb = tensors(x, weight, bias)
    form = data_format(x, layout)
    if not training:
        mean, var = tensors(running_mean, running_var)
        return F.batch_norm(tx, mean, var, tw, tb, training=False, epsilon=epsilon, data_format=form).numpy()
    keeps = running_mean is not None
    if keeps and variance != "population":
        raise Unsupported("the running variance is the population's")
    channels = x.shape[1 if layout == "nchw" else -1]
    # Updated in place: a copy, or zeros where nobody asks for it.
    mean, var = tensors(*(np.array(a) if keeps else np.zeros(channels, x.dtype) for a in (running_mean, running_var)))
    old = weight_of_old(momentum) if keeps else 0.0
    y = F.batch_norm(tx, mean, var, tw, tb, training=True, momentum=old, epsilon=epsilon, data_format=form).numpy()
    return {"y": y, "running_mean_new": mean.numpy(), "running_var_new": var.numpy()} if keeps else y


def uses_avx512() -> bool:
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as cpuinfo:
        return " avx512f " in cpuinfo.read().replace("\n", " ")


AVX512 = uses_avx512()


@op("rms_norm")
def rms_norm(x, weight, bias, *, epsilon, normalized_axis=-1, weight_offset=0.0):
    """incubate's fused_rms_norm: nn.functional.rms_norm has kernels for GPUs only."""
    if not AVX512:
        raise Unsupported("the CPU kernel of fused_rms_norm is AVX-512 code, called without asking: it ends in an illegal instruction here")
    if weight_offset != 0:
        raise Unsupported("the function has no weight offset")
    if weight is None:
        raise Unsupported("the kernel has no form without a weight")
    if x.dtype != np.float32:
        raise Unsupported("the CPU kernel is for float32 only")
    tx, tw, tb = tensors(x, weight, bias)
    begin = x.ndim - len(normalized_shape(x, normalized_axis))
    return paddle.incubate.nn.functional.fused_rms_norm(tx, flat(tw), flat(tb), epsilon, begin)[0].numpy()


# ---- norms along one dimension ----


@op("lp_norm")
def lp_norm(x, *, p=2.0, axis=-1):
    (tx,) = tensors(x)
    return paddle.linalg.norm(tx, float(p), axis).numpy()


@op("distance")
def distance(a, b, *, p=2.0, axis=-1):
    """pairwise_distance takes the last dimension and adds an epsilon to the difference: none here."""
    ta, tb = tensors(np.moveaxis(a, axis, -1), np.moveaxis(b, axis, -1))
    return F.pairwise_distance(ta, tb, float(p), 0.0).numpy()


@op("cosine")
def cosine(a, b, *, epsilon=0.0, epsilon_mode="none", axis=-1):
    if epsilon_mode != "none" and epsilon != 0:
        raise Unsupported("Paddle's epsilon is a lower limit of the product of the lengths, not of each")
    ta, tb = tensors(a, b)
    return F.cosine_similarity(ta, tb, axis, 0.0).numpy()


@op("lp_normalize")
def lp_normalize(x, *, p=2.0, epsilon=0.0, epsilon_mode="none", axis=-1):
    if epsilon_mode not in ("none", "max_norm"):
        raise Unsupported("normalize takes the larger of norm and epsilon, nothing else")
    (tx,) = tensors(x)
    return F.normalize(tx, float(p), axis, epsilon if epsilon_mode == "max_norm" else 0.0).numpy()


# ---- backward ----


def gradients(y: paddle.Tensor, dy: paddle.Tensor, variables: list[paddle.Tensor]) -> dict[str, np.ndarray]:
    return {name: g.numpy() for name, g in zip(("dx", "dweight", "dbias"), paddle.grad([y], variables, [dy]))}


def leaves(x: np.ndarray, weight: np.ndarray | None, shape: tuple[int, ...] | list[int]) -> list[paddle.Tensor]:
    """x, weight and bias to differentiate by. Paddle has gradients only of parameters that are there: ones and zeros stand in."""
    result = tensors(x, np.ones(shape, x.dtype) if weight is None else weight, np.zeros(shape, x.dtype))
    for leaf in result:
        leaf.stop_gradient = False
    return result


@op("layer_norm_backward")
def layer_norm_backward(x, dy, weight, *, epsilon, normalized_axis=-1):
    shape = normalized_shape(x, normalized_axis)
    tx, tw, tb = leaves(x, weight, shape)
    (tdy,) = tensors(dy)
    return gradients(F.layer_norm(tx, shape, flat(tw), flat(tb), epsilon), tdy, [tx, tw, tb])


@op("group_norm_backward")
def group_norm_backward(x, dy, weight, *, groups, epsilon, layout="nchw"):
    form = data_format(x, layout)
    tx, tw, tb = leaves(x, weight, [x.shape[1 if layout == "nchw" else -1]])
    (tdy,) = tensors(dy)
    return gradients(F.group_norm(tx, groups, epsilon=float(epsilon), weight=tw, bias=tb, data_format=form), tdy, [tx, tw, tb])


@op("instance_norm_backward")
def instance_norm_backward(x, dy, weight, *, epsilon, layout="nchw"):
    if layout != "nchw":
        raise Unsupported("instance_norm has no layout but nchw")
    if x.ndim < 2:
        raise Unsupported("instance_norm needs batch and channels")
    tx, tw, tb = leaves(x, weight, [x.shape[1]])
    (tdy,) = tensors(dy)
    return gradients(F.instance_norm(tx, weight=tw, bias=tb, eps=epsilon), tdy, [tx, tw, tb])


@op("batch_norm_backward")
def batch_norm_backward(x, dy, weight, *, epsilon, layout="nchw"):
    form = data_format(x, layout)
    channels = [x.shape[1 if layout == "nchw" else -1]]
    tx, tw, tb = leaves(x, weight, channels)
    (tdy,) = tensors(dy)
    mean, var = paddle.zeros(channels, x.dtype.name), paddle.ones(channels, x.dtype.name)
    y = F.batch_norm(tx, mean, var, tw, tb, training=True, epsilon=epsilon, data_format=form)
    return gradients(y, tdy, [tx, tw, tb])
