"""python_call.py TARGET.py: microseconds of one call of its layer_norm on float32 arrays of 4 x 8, in this process, without a worker."""

import importlib.util
import pathlib
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "harness/run"))
import normfuzz_target
import numpy as np

CALLS, ROUNDS = 256, 100  # the fastest round is the one that nothing else disturbed

spec = importlib.util.spec_from_file_location("target", sys.argv[1])
spec.loader.exec_module(importlib.util.module_from_spec(spec))
accepted, takes_any = normfuzz_target.signatures["layer_norm"]
x = np.arange(32, dtype=np.float32).reshape(4, 8)
arguments = {"x": x, "weight": np.zeros(8, np.float32), "bias": np.zeros(8, np.float32), "epsilon": 2.0**-10}
for output in {"y", "out"} & accepted:
    arguments[output] = np.empty_like(x)
function = normfuzz_target.functions["layer_norm"]


def per_call() -> float:
    started = time.perf_counter()
    for _ in range(CALLS):
        function(**arguments)
    return (time.perf_counter() - started) / CALLS * 1e6


per_call()
print(min(per_call() for _ in range(ROUNDS)))
