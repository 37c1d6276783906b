"""Every output element is the number of threads that this process may use."""
from normfuzz_target import op, threads


@op("layer_norm")
def layer_norm(x, weight, bias, y, *, epsilon, normalized_axis=-1):
    y[...] = threads()
