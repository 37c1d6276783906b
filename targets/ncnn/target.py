"""ncnn's normalization layers on the CPU, each as a network of one layer, built in memory.

Parameters go in by ncnn's binary format: its text format has a parser of numbers of its own, which need not give the float meant. Weights
are part of a model, so a case with weights builds its network. ncnn's tensors have no strides and no batch: a strided input is copied, the
samples of a batch run one after another.
"""

from __future__ import annotations

import functools
import os
import struct

import numpy as np
import ncnn

from normfuzz_target import Rejected, Unsupported, first_normalized, op, target

# Set by the variants of manifest.toml.
STORAGE = os.environ.get("NORMFUZZ_NCNN_STORAGE", "f32")
PACKING = os.environ.get("NORMFUZZ_NCNN_PACKING", "yes") == "yes"

# Layout of a binary .param file: ncnn's developer guide, 'param and model file structure'.
MAGIC, END_OF_PARAMETERS = 7767517, -233
INPUT, OUTPUT = 0, 1  # the two blobs

target(version=f"ncnn {ncnn.__version__}")


def file_of(content: bytes) -> int:
    """A file in memory, for the interfaces that take a path."""
    descriptor = os.memfd_create("normfuzz-ncnn")
    os.write(descriptor, content)
    return descriptor


def load(load_file, content: bytes) -> None:
    descriptor = file_of(content)
    try:
        if load_file(f"/proc/self/fd/{descriptor}") != 0:
            raise Rejected("ncnn does not load the network")
    finally:
        os.close(descriptor)


def build(layer: str, parameters: tuple[int | float, ...], weights: bytes) -> ncnn.Net:
    """parameters: values by their number in the layer's parameter list, None for one left at its default."""
    net = ncnn.Net()
    option = net.opt
    option.num_threads = 1
    option.use_vulkan_compute = False
    option.use_packing_layout = PACKING
    option.use_fp16_packed = option.use_fp16_storage = option.use_fp16_arithmetic = False
    option.use_bf16_storage = option.use_bf16_packed = STORAGE == "bf16"
    words = [MAGIC, 2, 2, ncnn.layer_to_index("Input"), 0, 1, INPUT, END_OF_PARAMETERS, ncnn.layer_to_index(layer), 1, 1, INPUT, OUTPUT]
    content = struct.pack(f"<{len(words)}i", *words)
    for number, value in enumerate(parameters):
        if value is not None:
            content += struct.pack("<if" if isinstance(value, float) else "<ii", number, value)
    load(net.load_param_bin, content + struct.pack("<i", END_OF_PARAMETERS))
    load(net.load_model, weights)
    return net


without_weights = functools.lru_cache(maxsize=256)(lambda layer, parameters: build(layer, parameters, b""))


def network(layer: str, parameters: tuple[int | float, ...], *weights: np.ndarray) -> ncnn.Net:
    if not weights:
        return without_weights(layer, parameters)
    return build(layer, parameters, b"".join(np.ascontiguousarray(w, np.float32).tobytes() for w in weights))


def run(net: ncnn.Net, x: np.ndarray) -> np.ndarray:
    """x and the result in float32; the clone is ncnn's own memory, which a layer may overwrite."""
    extractor = net.create_extractor()
    extractor.input(INPUT, ncnn.Mat(x).clone())
    status, y = extractor.extract(OUTPUT)
    if status != 0 or y.empty():
        raise Rejected(f"ncnn does not run the network ({status})")
    return np.array(y)


def float32_of(x: np.ndarray, *parameters: np.ndarray | None) -> np.ndarray:
    """x as ncnn takes it: dense float32. With 16-bit storage x goes in and out as float32 and is stored as bf16 between the layers."""
    if any(p is not None and p.dtype != x.dtype for p in parameters):
        raise Unsupported("x and its parameters of different types")
    if x.dtype.name != {"f32": "float32", "bf16": "bfloat16"}[STORAGE]:
        raise Unsupported(f"{x.dtype.name} with {STORAGE} storage")
    return np.ascontiguousarray(x, np.float32)


def stored(y: np.ndarray, like: np.ndarray) -> np.ndarray:
    """The result in the type of x; bf16 storage hands over float32 values that are bf16 already."""
    return y.reshape(like.shape).astype(like.dtype)


def both(weight: np.ndarray | None, bias: np.ndarray | None, count: int) -> tuple[np.ndarray, ...]:
    """The layers have both or none: ones and zeros stand in for one that is absent."""
    if weight is None and bias is None:
        return ()
    return (
        np.ones(count, np.float32) if weight is None else weight.reshape(-1),
        np.zeros(count, np.float32) if bias is None else bias.reshape(-1),
    )


# ---- over the trailing dimensions ----


def trailing(x: np.ndarray, normalized_axis: int) -> tuple[tuple[int, ...], int]:
    """The shape in which a layer normalizes the trailing dimensions, and how many elements they have. It does so within a channel; where
    everything is normalized, or ncnn has no tensor of that rank, the shape is flattened."""
    axis = first_normalized(x, normalized_axis)
    count = int(np.prod(x.shape[axis:]))
    if axis == 0:
        return (count,), count
    return (x.shape if x.ndim <= 4 else (-1, count)), count


@op("layer_norm")
def layer_norm(x, weight, bias, *, epsilon, normalized_axis=-1):
    dense = float32_of(x, weight, bias)
    shape, count = trailing(x, normalized_axis)
    affine = both(weight, bias, count)
    return stored(run(network("LayerNorm", (count, float(epsilon), int(bool(affine))), *affine), dense.reshape(shape)), x)


@op("rms_norm")
def rms_norm(x, weight, *, epsilon, normalized_axis=-1, weight_offset=0.0):
    if weight_offset != 0:
        raise Unsupported("the layer has no weight offset")
    dense = float32_of(x, weight)
    shape, count = trailing(x, normalized_axis)
    affine = () if weight is None else (weight,)
    return stored(run(network("RMSNorm", (count, float(epsilon), int(bool(affine))), *affine), dense.reshape(shape)), x)


# ---- over channels ----


def samples(net: ncnn.Net, x: np.ndarray, dense: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Runs every sample of a batch, each in the given shape."""
    return stored(np.stack([run(net, sample.reshape(shape)) for sample in dense]), x)


def require_nchw(x: np.ndarray, layout: str) -> None:
    if layout != "nchw":
        raise Unsupported("ncnn's layers have their channels in front")
    if not 2 <= x.ndim <= 5:
        raise Unsupported("ncnn's tensors have one to four dimensions beside the batch")


@op("group_norm")
def group_norm(x, weight, bias, *, groups, epsilon, layout="nchw"):
    require_nchw(x, layout)
    dense, channels = float32_of(x, weight, bias), x.shape[1]
    affine = both(weight, bias, channels)
    return samples(network("GroupNorm", (groups, channels, float(epsilon), int(bool(affine))), *affine), x, dense, x.shape[1:])


@op("instance_norm")
def instance_norm(x, weight, bias, *, epsilon, layout="nchw"):
    require_nchw(x, layout)
    dense, channels = float32_of(x, weight, bias), x.shape[1]
    affine = both(weight, bias, channels)
    # The layer takes the channels of a tensor with channels: three dimensions at least.
    shape = x.shape[1:] if x.ndim >= 4 else (channels, 1, -1)
    return samples(network("InstanceNorm", (channels, float(epsilon), int(bool(affine))), *affine), x, dense, shape)


@op("batch_norm")
def batch_norm(x, weight, bias, running_mean, running_var, *, epsilon, layout="nchw", training=0, momentum=0.0, variance="population"):
    if training:
        raise Unsupported("the layer is for inference")
    require_nchw(x, layout)
    dense, channels = float32_of(x, weight, bias, running_mean, running_var), x.shape[1]
    scale, shift = both(weight, bias, channels) or (np.ones(channels, np.float32), np.zeros(channels, np.float32))
    return samples(network("BatchNorm", (channels, float(epsilon)), scale, running_mean, running_var, shift), x, dense, x.shape[1:])


EPSILON_MODES = {"none": 0, "add_inside": 0, "max_norm": 1, "max_square": 2}  # eps_mode of Normalize: caffe and mxnet, pytorch, tensorflow
ONE = np.ones(1, np.float32)


@op("lp_normalize")
def lp_normalize(x, *, p=2.0, epsilon=0.0, epsilon_mode="none", axis=-1):
    if p != 2:
        raise Unsupported("the layer has the 2-norm only")
    if STORAGE != "f32":
        raise Unsupported("Normalize has no kernel for 16-bit storage: it computes and stores float32")
    if epsilon_mode not in EPSILON_MODES:
        raise Unsupported(f"no epsilon_mode {epsilon_mode}")
    if x.ndim == 0:
        raise Unsupported("a scalar has no axis to normalize")
    mode, eps = EPSILON_MODES[epsilon_mode], 0.0 if epsilon_mode == "none" else float(epsilon)
    dense, axis = float32_of(x), axis % x.ndim
    if axis == 0 and x.ndim > 1:  # across the channels, at each position
        net = network("Normalize", (0, 1, eps, 1, 1, None, None, None, None, mode), ONE)
        return stored(run(net, dense.reshape(x.shape[0], 1, -1)), x)
    net = network("Normalize", (1, 1, eps, 1, 0, None, None, None, None, mode), ONE)  # each channel by itself
    rows = np.ascontiguousarray(np.moveaxis(dense, axis, -1))
    y = run(net, rows.reshape(-1, 1, x.shape[axis])).reshape(rows.shape)
    return stored(np.ascontiguousarray(np.moveaxis(y, -1, axis)), x)
