"""write_repro.py ENTRY.json REPRO.py: writes the stand-alone Python program of a BugZoo entry. Called by reports/bugzoo_repro.cc, which puts
the case, what is expected and where the target lies into ENTRY.json. On a refusal the last line that it prints is the reason."""

from __future__ import annotations

import json
import re
import sys
import textwrap

from extract_function import CannotExtract, Extract, third_party

WIDTH = 118  # of lines of numbers

PROGRAM = '''\
{title}
#
# Needs {packages}. It prints got, exact and allowed error of every element.
# Exit status 1: {shows}, 0: it is not.
from __future__ import annotations

{environment}{adapter}


# ---- the case ----


def case_array(dtype, shape, values="", strides=None, offset=0, misalign=0):
    """Strides and offset are in elements; the buffer begins `misalign` bytes behind a multiple of 64."""
    dtype = np.dtype(dtype)
    if strides is None:
        strides = [int(np.prod(shape[i + 1 :])) for i in range(len(shape))]
    elements = offset + 1 + sum((n - 1) * s for n, s in zip(shape, strides))
    buffer = np.zeros(128 + max(elements, 1) * dtype.itemsize, np.uint8)
    start = (misalign - buffer.ctypes.data) % 64 + offset * dtype.itemsize
    array = np.ndarray(shape, dtype, buffer, start, [s * dtype.itemsize for s in strides])
    array[...] = np.array([float.fromhex(v) for v in values.split()]).reshape(shape) if values else np.nan
    return array


def run_case():
{call}


{expected}


def main():
{main}


if __name__ == "__main__":
    sys.exit(main())
'''

COMPARISON = '''\
# Of every element of the outputs: its row-major index, the exact value, and the largest error that the contract allows.
EXPECTED = {{
{expected}}}'''

COMPARE = '''\
{version}    results, diverges = run_case(), False
    for name, lines in EXPECTED.items():
        values = np.asarray(results[name]).reshape(-1)
        for index, exact, allowed in (line.split() for line in lines.strip().splitlines()):
            got, exact, allowed = float(values[int(index)]), float.fromhex(exact), float.fromhex(allowed)
            if math.isnan(exact):
                wrong = not math.isnan(got)
            else:
                wrong = got != exact and math.isfinite(allowed) and not abs(got - exact) <= allowed
            diverges = diverges or wrong
            print(f"{{name}}[{{index}}]: got {{got:.9g}}, exact {{exact:.9g}}, allowed error {{allowed:.3g}}{{'  <- diverges' if wrong else ''}}")
    print("the divergence is there" if diverges else "no divergence")
    return int(diverges)'''

REPEAT = '''\
{version}    first = run_case()
    for attempt in range(1, 1000):
        again = run_case()
        for name in first:
            if np.asarray(again[name]).tobytes() != np.asarray(first[name]).tobytes():
                print(f"{{name}}: call {{attempt + 1}} gives other bits than call 1")
                return 1
    print("1000 calls give the same bits")
    return 0'''

RETURN = '''\
{version}    run_case()
    print("the call returned")
    return 0'''


def dtype_text(dtype: str) -> str:
    return {"f64": '"f8"', "f32": '"f4"', "f16": '"f2"', "bf16": "bfloat16"}[dtype]


def values_text(tensor: dict) -> str:
    """One row per line where that fits."""
    data, width = tensor["data"], (tensor["shape"] or [1])[-1]
    rows = [" ".join(data[i : i + width]) for i in range(0, len(data), max(width, 1))]
    lines = [line for row in rows for line in textwrap.wrap(row, WIDTH, break_long_words=False)]
    return f'"{lines[0]}"' if len(lines) == 1 else '"""\n' + "".join(f"        {line}\n" for line in lines) + '    """'


def array_text(tensor: dict | None, filled: bool = True) -> str:
    if tensor is None:
        return "None"
    shape = tuple(tensor["shape"])
    arguments = [dtype_text(tensor["dtype"]), repr(shape)]
    if filled and tensor["data"]:
        arguments.append(values_text(tensor))
    if "strides" in tensor:
        arguments.append(f"strides={tensor['strides']}")
    for name in ("offset", "misalign"):
        if tensor.get(name):
            arguments.append(f"{name}={tensor[name]}")
    return f"case_array({', '.join(arguments)})"


def parameter_text(value: str | int) -> str:
    """A number of a case is written as a hexadecimal float; what Python prints of it reads back as the same number."""
    if isinstance(value, str) and re.fullmatch(r"-?(0x.*|inf|nan)", value):
        number = float.fromhex(value)
        return repr(number) if abs(number) < float("inf") else f'float("{value}")'
    return json.dumps(value)


def call_text(entry: dict, extract: Extract) -> str:
    case, outputs = entry["case"], entry["outputs"]
    accepts = lambda name: extract.takes_any or name in extract.accepted
    lines, arguments = [], []
    for name, tensor in case["inputs"].items():
        if tensor is not None and not accepts(name):
            raise CannotExtract(f"the function does not take {name}")
        if accepts(name):
            lines.append(f"{name} = {array_text(tensor)}")
            arguments.append(f"{name}={name}")
    keys = [name if name in extract.accepted else None for name in outputs]
    if keys == [None] and "out" in extract.accepted:
        keys = ["out"]
    in_place = [(key, name) for key, name in zip(keys, outputs) if key]
    if in_place and len(in_place) < len(outputs):
        raise CannotExtract("the function writes some of its outputs and returns others")
    for key, name in in_place:
        lines.append(f"{name} = {array_text(case['expect'][name], filled=False)}")
        arguments.append(f"{key}={name}")
    for name, value in case["params"].items():
        if not accepts(name):
            raise CannotExtract(f"the function does not take {name}")
        arguments.append(f"{name}={parameter_text(value)}")
    function = f"with_arrays({extract.arrays}_arrays(), {extract.function})" if extract.arrays else extract.function
    written = f"{function}({', '.join(arguments)})"
    if in_place:
        lines += [written, "return {" + ", ".join(f'"{name}": {name}' for name in outputs) + "}"]
    elif len(outputs) == 1:
        lines += [f"result = {written}", f'return result if isinstance(result, dict) else {{"{outputs[0]}": result}}']
    else:
        lines += [f"result = {written}", f"return result if isinstance(result, dict) else dict(zip({tuple(outputs)!r}, result))"]
    return "\n".join("    " + line for line in lines).replace("('", '("').replace("', '", '", "').replace("')", '")')


def expected_text(entry: dict) -> str:
    text = ""
    for name in entry["outputs"]:
        lines = [f"        {index} {exact} {allowed}\n" for index, exact, allowed in entry["expected"].get(name, [])]
        if lines:
            text += f'    "{name}": """\n{"".join(lines)}    """,\n'
    return COMPARISON.format(expected=text)


def program(entry: dict) -> str:
    extract = Extract(entry["module"], entry["library"], entry["case"]["op"], entry["environment"])
    if clash := extract.names & {"case_array", "run_case", "main", "EXPECTED"}:
        raise CannotExtract(f"the target has a definition of its own named {clash.pop()}")
    tensors = [*entry["case"]["inputs"].values(), *entry["case"]["expect"].values()]
    brain = any(t is not None and t["dtype"] == "bf16" for t in tensors)
    kind = entry["shows"]
    imports = ["import sys", "import numpy as np", *(["from ml_dtypes import bfloat16"] if brain else [])]
    imports += ["import math"] * (kind == "values")
    version = f"    print({extract.version})\n" if extract.version else ""
    adapter = extract.text(imports)
    environment = remaining_environment(entry["environment"], adapter)
    return PROGRAM.format(
        title=textwrap.fill(entry["title"], 118, initial_indent="# ", subsequent_indent="# ")
        + f"\n# Shrunk by normfuzz; seen with {entry['seen']}.",
        packages=", ".join(third_party(adapter)),
        shows={"values": "the divergence is there", "repeat": "the bits differ", "return": "it was (a crash or a hang has no other)"}[kind],
        environment=f"import os\n\n{environment}\n" if environment else "",
        adapter=adapter,
        call=call_text(entry, extract),
        expected=expected_text(entry) if kind == "values" else "",
        main={"values": COMPARE, "repeat": REPEAT, "return": RETURN}[kind].format(version=version),
    )


def remaining_environment(environment: dict[str, str], adapter: str) -> str:
    """Variables of the variant that the framework reads, or the target still does: most of the target's own have become constants."""
    read = {n: v for n, v in environment.items() if not n.startswith("NORMFUZZ_") or n in adapter}
    return "".join(f"os.environ[{json.dumps(n)}] = {json.dumps(v)}\n" for n, v in read.items())


def main() -> int:
    with open(sys.argv[1], encoding="utf-8") as file:
        entry = json.load(file)
    try:
        text = program(entry)
    except (CannotExtract, OSError, SyntaxError) as error:
        print(" ".join(str(error).split()))
        return 1
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(text)
    return 0


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    sys.exit(main())
