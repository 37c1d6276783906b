"""The faults of faulty.c in Python, by the width of x."""
import os
import signal
import sys
import time

import numpy as np
from normfuzz_target import Unsupported, op, target

from correct import layer_norm as correct

target(version="faulty 1.0")


def poke(array, byte_offset, value):
    """Writes a float32 at a distance from an array's first element, as a kernel with a wrong index does."""
    import ctypes

    ctypes.c_float.from_address(array.ctypes.data + byte_offset).value = value


@op("layer_norm")
def layer_norm(x, weight, bias, y, *, epsilon):
    n = x.shape[-1]
    if n == 3:
        os.kill(os.getpid(), signal.SIGSEGV)
    if n == 5:
        time.sleep(1e6)
    if n == 15:
        sys.exit(4)
    if n == 17:
        blocks = [np.ones(8 << 20) for _ in range(1 << 20)]
    if n == 19:
        os.kill(os.getpid(), signal.SIGKILL)
    if n == 23:
        raise Unsupported("no kernel for 23 columns")
    if n == 25:
        raise ValueError("25 columns are refused")
    result = correct(x, weight, bias, epsilon=epsilon)
    if n == 13:
        y[0, :12], y[1] = result[0, :12], result[1]
        return
    y[...] = result
    if n == 7:
        poke(y, y.nbytes, 1)
    if n == 9:
        x[0, 1] += 1
    if n == 11:
        y[0, 0] = np.nan
    if n == 21:
        poke(y, -4, 1)
    if n == 27:
        poke(y, 4 * 27, 1)
    if n == 29:
        poke(y, y.nbytes + 2000, 1)
