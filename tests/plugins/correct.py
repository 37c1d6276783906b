"""A correct target in Python: layer_norm and rms_norm in float32, with the arithmetic of correct.c step by step."""
import numpy as np
from normfuzz_target import op, target, Unsupported

target(version="example 1.0")


@op("layer_norm")
def layer_norm(x, weight, bias, *, epsilon, normalized_axis=-1):
    if x.dtype != np.float32 or normalized_axis not in (-1, x.ndim - 1):
        raise Unsupported("only float32 and the last dimension")
    one = np.float32(1)
    n = np.float32(x.shape[-1])
    mean = np.add.accumulate(x, axis=-1)[..., -1:] / n  # in order, as correct.c adds
    squares = np.add.accumulate((x - mean) * (x - mean), axis=-1)[..., -1:]
    y = (x - mean) * (one / np.sqrt(squares / n + np.float32(epsilon)))
    return y * (one if weight is None else weight) + (np.float32(0) if bias is None else bias)
