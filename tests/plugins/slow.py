"""Correct, 20 ms a call, and talkative."""
import time

from normfuzz_target import op, target

from correct import layer_norm as correct

target(version="slow 1.0")


@op("layer_norm")
def layer_norm(x, weight, bias, *, epsilon):
    print(f"slow: {x.shape[-1]} columns")
    time.sleep(0.02)
    return correct(x, weight, bias, epsilon=epsilon)
