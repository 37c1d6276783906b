"""Shows what a target sees: gives x back, and describes the call in the log."""
from normfuzz_target import op, target

target(version="mirror")


@op("layer_norm", "rms_norm")
def mirror(x, **arguments):
    address = x.__array_interface__["data"][0]
    print("x", x.dtype.name, x.shape, [s // x.itemsize for s in x.strides], address % 64, end="")
    for name, value in sorted(arguments.items()):
        print("", name, value if not hasattr(value, "dtype") else value.tolist(), end="")
    print()
    return x
