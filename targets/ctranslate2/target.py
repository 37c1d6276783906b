"""CTranslate2's layer normalization on the CPU, inside the smallest model that runs it: an encoder whose embeddings are the rows of x, with
the normalization after the embeddings, and one layer behind it that adds zeros. CTranslate2 has no other way to its operators from Python.

Each row is a sequence of one token, so that no row sees another. The one layer computes with what the normalization gives: a row with an
infinity or a NaN comes out of it as NaN, so such results are not reported.
"""

from __future__ import annotations

import os
import tempfile

import numpy as np
import ctranslate2
from ctranslate2.specs import TransformerEncoderModelSpec, TransformerEncoderSpec

from normfuzz_target import Rejected, Unsupported, first_normalized, op, target, threads

MAX_ROWS = 4096  # a vocabulary of that size

target(version=f"ctranslate2 {ctranslate2.__version__}")


def specification(x: np.ndarray, weight: np.ndarray, bias: np.ndarray | None):
    """The model of x [rows, columns]; without a bias the normalization is RMSNorm."""
    rows, columns = x.shape
    encoder = TransformerEncoderSpec(1, 1, pre_norm=True, no_final_norm=True, layernorm_embedding=True, rms_norm=bias is None, head_dim=1)
    encoder.scale_embeddings = False
    encoder.embeddings[0].weight = x
    encoder.position_encodings.encodings = np.zeros((1, columns), np.float32)
    encoder.layernorm_embedding.gamma = weight
    layer = encoder.layer[0]
    norms = [layer.self_attention.layer_norm, layer.ffn.layer_norm]
    for norm in norms:
        norm.gamma = np.zeros(columns, np.float32)
    if bias is not None:
        encoder.layernorm_embedding.beta = bias
        for norm in norms:
            norm.beta = np.zeros(columns, np.float32)
    for linear, outputs, inputs in (
        (layer.self_attention.linear[0], 3, columns),
        (layer.self_attention.linear[1], columns, 1),
        (layer.ffn.linear_0, 1, columns),
        (layer.ffn.linear_1, columns, 1),
    ):
        linear.weight = np.zeros((outputs, inputs), np.float32)
        linear.bias = np.zeros(outputs, np.float32)
    model = TransformerEncoderModelSpec(encoder)
    model.register_vocabulary([str(row) for row in range(rows)])
    return model


def load(model, epsilon: float) -> ctranslate2.Encoder:
    """The model goes in as files in memory."""
    model.config.layer_norm_epsilon = epsilon
    model.validate()
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        model.save(folder)
        files = {}
        for name in os.listdir(folder):
            with open(os.path.join(folder, name), "rb") as file:
                files[name] = file.read()
    return ctranslate2.Encoder("normfuzz", device="cpu", compute_type="float32", inter_threads=1, intra_threads=threads(), files=files)


def run(x: np.ndarray, weight: np.ndarray | None, bias: np.ndarray | None, epsilon: float, normalized_axis: int) -> np.ndarray:
    first = first_normalized(x, normalized_axis)
    if any(a is not None and a.dtype != np.float32 for a in (x, weight, bias)):
        raise Unsupported("float32 only: the CPU has no float16 or bfloat16 computation")
    columns = int(np.prod(x.shape[first:]))
    table = np.ascontiguousarray(x).reshape(-1, columns)
    if len(table) > MAX_ROWS:
        raise Unsupported(f"more than {MAX_ROWS} rows")
    gamma = np.ones(columns, np.float32) if weight is None else np.ascontiguousarray(weight).reshape(-1)
    beta = None if bias is None else np.ascontiguousarray(bias).reshape(-1)
    try:
        encoder = load(specification(table, gamma, beta), epsilon)
        output = encoder.forward_batch([[row] for row in range(len(table))])
    except (RuntimeError, ValueError) as error:
        raise Rejected(str(error).split("\n", 1)[0]) from None
    y = np.array(output.last_hidden_state).reshape(x.shape)
    if not np.isfinite(y).all():
        raise Unsupported("a result that is not finite, which the layer behind the normalization does not pass on")
    return y


@op("layer_norm")
def layer_norm(x, weight, bias, *, epsilon, normalized_axis=-1):
    zeros = np.zeros(x.shape[normalized_axis % max(x.ndim, 1) :], np.float32) if bias is None else bias
    return run(x, weight, zeros, epsilon, normalized_axis)


@op("rms_norm")
def rms_norm(x, weight, *, epsilon, normalized_axis=-1, weight_offset=0.0):
    if weight_offset != 0:
        raise Unsupported("no weight offset")
    return run(x, weight, None, epsilon, normalized_axis)
