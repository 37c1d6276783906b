"""Tells the environment it was started in."""
import os

from normfuzz_target import op, target

target(version=lambda: "variant={} OMP={} MKL={}".format(*map(os.environ.get, ("NORMFUZZ_TEST_VARIANT", "OMP_NUM_THREADS", "MKL_NUM_THREADS"))))


@op("layer_norm")
def layer_norm(x):
    return x
