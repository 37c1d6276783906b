"""Write a target for normfuzz in Python: one decorated function per op.

    from normfuzz_target import op

    @op("layer_norm")
    def layer_norm(x, weight, bias, *, epsilon, normalized_axis=-1):
        ...
        return y

Arguments come by name. `@op("layer_norm", arrays="torch")` (or "jax", "mlx") hands over that framework's tensors and takes them back. Else
tensors are NumPy views of the caller's memory with its strides (bf16 as ml_dtypes.bfloat16 where that package is
installed, as uint16 bits otherwise); an absent tensor is None; parameters are int, float or str. Return the output (a tuple, or a dict by
name, for several), in exactly the dtype and shape of the output; or take a parameter named like the output ("y"), or `out`, and write there.

A tensor or parameter that the function does not take makes the call unsupported: ignoring it would compute something else. Raise Unsupported
where there is no such kernel and Rejected where the arguments are refused; any other exception is reported as a rejection with its type.
"""

from __future__ import annotations

import functools
import inspect
import os
import struct
from typing import Any, Callable, Iterable

__all__ = [
    "op", "rejecting", "target", "threads", "Unsupported", "Rejected",
    "first_normalized", "channel_axis", "image_channel_axis", "weight_of_old",
]  # fmt: skip


class Unsupported(Exception):
    """This target has no such kernel."""


class Rejected(Exception):
    """This target has such a kernel and refuses these arguments."""


Function = Callable[..., Any]
functions: dict[str, Function] = {}
signatures: dict[str, tuple[frozenset[str], bool]] = {}  # names of the parameters; takes any keyword
_version: str | Callable[[], str] = ""


def op(*names: str, arrays: str = "numpy") -> Callable[[Function], Function]:
    """Registers a function for one or several ops. `arrays`: whose tensors it gets and gives, "numpy", "torch", "jax" or "mlx"."""
    if arrays != "numpy" and arrays not in frameworks:
        raise ValueError(f"arrays={arrays!r}, expected one of: {', '.join(['numpy', *frameworks])}")

    def register(function: Function) -> Function:
        if arrays != "numpy":
            function = with_arrays(frameworks[arrays](), function)
        accepted = inspect.signature(function).parameters
        takes_any = any(p.kind is p.VAR_KEYWORD for p in accepted.values())
        for name in names:
            functions[name] = function
            signatures[name] = frozenset(accepted), takes_any
        return function

    return register


def rejecting(errors: type | tuple[type, ...], reason: Callable[[Any], str]) -> Callable[..., Callable[[Function], Function]]:
    """`op` for a framework that refuses by exceptions of its own: they become rejections with `reason(error)`."""

    def register(*names: str) -> Callable[[Function], Function]:
        def decorate(function: Function) -> Function:
            @functools.wraps(function)
            def call(**arguments: Any) -> Any:
                try:
                    return function(**arguments)
                except errors as error:
                    raise Rejected(reason(error)) from None

            return op(*names)(call)

        return decorate

    return register


def target(*, version: str | Callable[[], str]) -> None:
    """Tells the version of the framework behind this target; it appears in every report."""
    global _version
    _version = version


def threads() -> int:
    """How many threads this process may use; 1 but for the runs that look whether that number changes a bit."""
    return int(os.environ.get("NORMFUZZ_THREADS", "1"))


# ---- tensors of other frameworks, for op(arrays=...) ----

Converters = tuple[Callable[[Any], Any], Callable[[Any], Any]]  # from NumPy's array and back


def with_arrays(converters: Converters, function: Function) -> Function:
    """The function on NumPy's arrays: every tensor is handed over as the framework's, every one that it returns is taken back."""
    import numpy

    given, taken = converters

    @functools.wraps(function)
    def call(**arguments: Any) -> Any:
        result = function(**{n: given(a) if isinstance(a, numpy.ndarray) else a for n, a in arguments.items()})
        if isinstance(result, dict):
            return {n: taken(t) for n, t in result.items()}
        return tuple(map(taken, result)) if isinstance(result, tuple) else None if result is None else taken(result)

    return call


def torch_arrays() -> Converters:
    """Views of the same memory with the same strides, by DLPack; bf16, which NumPy's DLPack does not know, by its bits."""
    import torch

    def given(array: Any) -> Any:
        brain = array.dtype.name in ("bfloat16", "uint16")
        return torch.from_dlpack(array.view("i2")).view(torch.bfloat16) if brain else torch.from_dlpack(array)

    def taken(tensor: Any) -> Any:
        tensor = tensor.detach()
        return tensor.view(torch.int16).numpy().view(brain_type()) if tensor.dtype == torch.bfloat16 else tensor.numpy()

    return given, taken


def jax_arrays() -> Converters:
    """Dense tensors by DLPack, which keeps the memory where its alignment suits XLA; strided and bf16 ones are copied. Nothing is written in
    place: return the result."""
    import jax
    import numpy

    jax.config.update("jax_enable_x64", True)  # float64 becomes float32 without it

    def given(array: Any) -> Any:
        dense = array.flags.c_contiguous and array.dtype.kind == "f" and array.size
        return jax.dlpack.from_dlpack(array) if dense else jax.numpy.asarray(array)

    return given, numpy.asarray


def mlx_arrays() -> Converters:
    """Copies on the way in: MLX has its own memory. Nothing is written in place: return the result."""
    import mlx.core as mx
    import numpy

    def given(array: Any) -> Any:
        if array.dtype.name in ("bfloat16", "uint16"):
            return mx.array(array.view("u2")).view(mx.bfloat16)
        return mx.array(array, dtype=mx.float64) if array.dtype == numpy.float64 else mx.array(array)

    def taken(tensor: Any) -> Any:
        return numpy.asarray(tensor.view(mx.uint16)).view(brain_type()) if tensor.dtype == mx.bfloat16 else numpy.asarray(tensor)

    return given, taken


def brain_type() -> Any:
    """NumPy's type for bf16, as the host hands it over."""
    try:
        from ml_dtypes import bfloat16 as brain
    except ImportError:
        return "u2"
    return brain


frameworks: dict[str, Callable[[], Converters]] = {"torch": torch_arrays, "jax": jax_arrays, "mlx": mlx_arrays}

# ---- what the parameters of a call mean, for adapters ----


def first_normalized(x: Any, normalized_axis: int) -> int:
    """The first dimension of a row of layer_norm or rms_norm, 0 .. ndim - 1."""
    if x.ndim == 0:
        raise Unsupported("a scalar has no axis to normalize")
    return normalized_axis % x.ndim


def channel_axis(x: Any, layout: str) -> int:
    """Of channel_layer_norm: nchw of rank 3 is one image, CHW."""
    return 0 if layout == "nchw" and x.ndim == 3 else image_channel_axis(x, layout)


def image_channel_axis(x: Any, layout: str) -> int:
    """Of group, instance and batch norm: the first dimension is the batch."""
    return x.ndim - 1 if layout == "nhwc" else 1


def weight_of_old(momentum: float) -> float:
    """1 - momentum, for a framework whose momentum is the weight of the old statistics and a float32."""
    old = 1.0 - momentum
    if struct.unpack("f", struct.pack("f", old))[0] != old:
        raise Unsupported("1 - momentum, which the operator takes, is no float32")
    return old


def version_text() -> str:
    return str(_version() if callable(_version) else _version)


class Binding:
    """How one function takes the arguments of one form of call: worked out once, used for every case of that form."""

    def __init__(self, name: str, inputs: Iterable[tuple[str, bool]], outputs: Iterable[str], parameters: Iterable[str]):
        if name not in functions:
            raise Unsupported(f"no function for op '{name}'")
        self.function = functions[name]
        self.outputs = list(outputs)
        accepted, takes_any = signatures[name]
        for kind, wanted in (("input", [n for n, present in inputs if present]), ("parameter", parameters)):
            for argument in wanted:
                if not takes_any and argument not in accepted:
                    raise Unsupported(f"no {kind} '{argument}' in this function")
        self.absent = {n: None for n, present in inputs if not present and (takes_any or n in accepted)}
        # Keyword under which each output is handed over, None where the function returns it.
        self.output_keys = [n if n in accepted else None for n in self.outputs]
        if len(self.outputs) == 1 and self.output_keys == [None] and "out" in accepted:
            self.output_keys = ["out"]
        self.in_place = any(key is not None for key in self.output_keys)

    def store(self, result: Any, arrays: list[Any]) -> None:
        """Copies what the function returned into the outputs."""
        if result is None:
            if not self.in_place:
                raise TypeError("returned None, expected " + ", ".join(self.outputs))
            return
        if len(arrays) == 1 and not isinstance(result, (dict, tuple)):
            return store_one(self.outputs[0], result, arrays[0])
        results = [result[n] for n in self.outputs] if isinstance(result, dict) else list(result)
        if len(results) != len(arrays):
            raise TypeError(f"returned {len(results)} outputs, expected {', '.join(self.outputs)}")
        for name, value, array in zip(self.outputs, results, arrays):
            if value is not None:
                store_one(name, value, array)


def store_one(name: str, value: Any, array: Any) -> None:
    if value is array:
        return
    if getattr(value, "dtype", None) != array.dtype or value.shape != array.shape:
        got = f"{value.dtype} of shape {value.shape}" if hasattr(value, "dtype") else type(value).__name__
        raise TypeError(f"{name}: returned {got}, expected {array.dtype} of shape {array.shape}")
    array[...] = value
