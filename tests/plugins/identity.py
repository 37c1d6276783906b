"""The cheapest function there is: y = x. What the benchmark then measures is the way to it and back."""
from normfuzz_target import op


@op("layer_norm")
def layer_norm(x, weight, bias, *, epsilon):
    return x
