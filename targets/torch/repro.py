"""torch's operators in Python, for the stand-alone programs of findings: the calls that torch.cc makes in C++, as a user writes them."""

from __future__ import annotations

from typing import Callable

import torch
import torch.nn.functional as F

from normfuzz_target import Unsupported, channel_axis, first_normalized, image_channel_axis, op, target

torch.set_num_threads(1)
target(version=f"torch {torch.__version__}, cpu capability {torch.backends.cpu.get_cpu_capability()}")

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


# ---- layers ----


@op("layer_norm", arrays="torch")
def layer_norm(x, weight, bias, *, epsilon, normalized_axis=-1):
    return F.layer_norm(x, trailing_shape(x, normalized_axis), weight, bias, epsilon)


@op("layer_norm_backward", arrays="torch")
def layer_norm_backward(x, dy, weight, *, epsilon, normalized_axis=-1):
    shape = trailing_shape(x, normalized_axis)
    return gradients(lambda x, w, b: F.layer_norm(x, shape, w, b, epsilon), x, dy, weight)


@op("rms_norm", arrays="torch")
def rms_norm(x, weight, *, epsilon, normalized_axis=-1, weight_offset=0.0):
    return F.rms_norm(x, trailing_shape(x, normalized_axis), weight, epsilon)


@op("rms_norm_backward", arrays="torch")
def rms_norm_backward(x, dy, weight, *, epsilon, normalized_axis=-1, weight_offset=0.0):
    shape = trailing_shape(x, normalized_axis)
    return gradients(lambda x, w, b: F.rms_norm(x, shape, w, epsilon), x, dy, weight, biased=False)


@op("qk_norm", arrays="torch")
def qk_norm(q, k, q_weight, k_weight, *, epsilon):
    shape = q.shape[-1:]
    return {"q_out": F.rms_norm(q, shape, q_weight, epsilon), "k_out": F.rms_norm(k, shape, k_weight, epsilon)}


def norm_of_channels(x: Tensor, weight: Tensor | None, bias: Tensor | None, epsilon: float, axis: int) -> Tensor:
    """Channels moved to the end and back."""
    return F.layer_norm(x.movedim(axis, -1), (x.shape[axis],), weight, bias, epsilon).movedim(-1, axis)


@op("channel_layer_norm", arrays="torch")
def channel_layer_norm(x, weight, bias, *, epsilon, layout="nchw"):
    return norm_of_channels(x, weight, bias, epsilon, channel_axis(x, layout))


@op("channel_layer_norm_backward", arrays="torch")
def channel_layer_norm_backward(x, dy, weight, *, epsilon, layout="nchw"):
    axis = channel_axis(x, layout)
    return gradients(lambda x, w, b: norm_of_channels(x, w, b, epsilon, axis), x, dy, weight)


# ---- groups, instances, batches: channels are dimension 1; those of nhwc are moved there ----


def with_channels(forward: Callable[[Tensor], Tensor], x: Tensor, layout: str) -> Tensor:
    axis = image_channel_axis(x, layout)
    return forward(x.movedim(axis, 1)).movedim(1, axis)


def grouped(x: Tensor, weight: Tensor | None, bias: Tensor | None, groups: int, epsilon: float, layout: str) -> Tensor:
    return with_channels(lambda x: F.group_norm(x, groups, weight, bias, epsilon), x, layout)


@op("group_norm", arrays="torch")
def group_norm(x, weight, bias, *, groups, epsilon, layout="nchw"):
    return grouped(x, weight, bias, groups, epsilon, layout)


@op("group_norm_backward", arrays="torch")
def group_norm_backward(x, dy, weight, *, groups, epsilon, layout="nchw"):
    return gradients(lambda x, w, b: grouped(x, w, b, groups, epsilon, layout), x, dy, weight)


def instances(x: Tensor, weight: Tensor | None, bias: Tensor | None, epsilon: float, layout: str) -> Tensor:
    return with_channels(lambda x: torch.instance_norm(x, weight, bias, None, None, True, 0.0, epsilon, False), x, layout)


@op("instance_norm", arrays="torch")
def instance_norm(x, weight, bias, *, epsilon, layout="nchw"):
    return instances(x, weight, bias, epsilon, layout)


@op("instance_norm_backward", arrays="torch")
def instance_norm_backward(x, dy, weight, *, epsilon, layout="nchw"):
    return gradients(lambda x, w, b: instances(x, w, b, epsilon, layout), x, dy, weight)


@op("batch_norm", arrays="torch")
def batch_norm(x, weight, bias, running_mean, running_var, *, epsilon, layout="nchw", training=0, momentum=0.0, variance="population"):
    keeps = bool(training) and running_mean is not None
    if keeps and variance != "sample":
        raise Unsupported("torch's running variance is the sample's")
    mean, var = (t.clone() if keeps else t for t in (running_mean, running_var))  # updated in place
    y = with_channels(lambda x: torch.batch_norm(x, weight, bias, mean, var, bool(training), momentum, epsilon, False), x, layout)
    return {"y": y, "running_mean_new": mean, "running_var_new": var} if keeps else y


@op("batch_norm_backward", arrays="torch")
def batch_norm_backward(x, dy, weight, *, epsilon, layout="nchw"):
    def forward(x, w, b):
        return with_channels(lambda x: torch.batch_norm(x, w, b, None, None, True, 0.0, epsilon, False), x, layout)

    return gradients(forward, x, dy, weight)


# ---- norms along one dimension ----


@op("lp_norm", arrays="torch")
def lp_norm(x, *, p=2.0, axis=-1):
    return torch.linalg.vector_norm(x, p, axis)


@op("distance", arrays="torch")
def distance(a, b, *, p=2.0, axis=-1):
    return F.pairwise_distance(a.movedim(axis, -1), b.movedim(axis, -1), p, eps=0.0)


@op("cosine", arrays="torch")
def cosine(a, b, *, epsilon=0.0, epsilon_mode="none", axis=-1):
    return F.cosine_similarity(a, b, axis, epsilon)


@op("lp_normalize", arrays="torch")
def lp_normalize(x, *, p=2.0, epsilon=0.0, epsilon_mode="none", axis=-1):
    return F.normalize(x, p, axis, epsilon)
