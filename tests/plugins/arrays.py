"""Doubles x with the tensors of a framework; f64 into y where it may be written."""

import os

from normfuzz_target import op

FRAMEWORK = os.environ["NORMFUZZ_TEST_ARRAYS"]


@op("layer_norm", arrays=FRAMEWORK)
def layer_norm(x, weight, bias, y, *, epsilon):
    assert type(x).__module__.split(".")[0] in (FRAMEWORK, "jaxlib"), type(x)
    assert weight is None and isinstance(epsilon, float)
    if FRAMEWORK == "torch" and x.element_size() == 8:
        y.copy_(x + x)
        return None
    return (x + x)[:, :-1] if x.shape[0] == 1 else x + x
