#!/usr/bin/env python3
"""Writes the cases of this folder and README.md from the table in cases.py, or checks that they are what it gives.

    python3 corpus/public/make.py                       # write
    python3 corpus/public/make.py --check [FOLDER]..    # exit status 1 and a line for every file that differs
    python3 corpus/public/make.py --wrong FOLDER        # the cases that have a wrong answer, with it for the expected values

The expected values are computed by tests/oracles/crosscheck.py (exact rationals, rounded by Arb and by mpmath; both must agree), not by the
oracle, which the tests hold against them. Needs the packages of deps/crosscheck.txt: `./normfuzz setup crosscheck`.
"""

import argparse
import json
import math
import os
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tests" / "oracles")]

from crosscheck import Case, same, values  # noqa: E402
from exact_results import FORMATS, by_arb, by_mpmath, decided, rounded  # noqa: E402

TENSORS = ("x", "q", "a", "b", "k", "dy", "residual", "weight", "bias", "q_weight", "k_weight", "running_mean", "running_var")
NUMBERS = ("epsilon", "momentum", "learning_rate", "weight_offset", "p")  # float32 numbers, but for p
LONG = 1000  # a tensor of more elements has small integers written as such, to keep its file short


class T:
    """A tensor: nested lists, or a flat list and a shape."""

    def __init__(self, data, dtype=None, shape=None, strides=None, offset=0, misalign=0):
        self.shape = shape or T.shape_of(data)
        self.data, self.dtype, self.strides, self.offset, self.misalign = T.flat(data), dtype, strides, offset, misalign
        assert len(self.data) == math.prod(self.shape), (self.shape, len(self.data))

    @staticmethod
    def shape_of(data):
        return [len(data), *T.shape_of(data[0])] if isinstance(data, list) else []

    @staticmethod
    def flat(data):
        return [v for part in data for v in T.flat(part)] if isinstance(data, list) else [float(data)]

    def json(self, dtype):
        dtype = self.dtype or dtype
        layout = {"strides": self.strides, "offset": self.offset, "misalign": self.misalign}
        return {
            "dtype": dtype,
            "shape": self.shape,
            **{k: v for k, v in layout.items() if v},
            "data": [rounded(v, dtype).hex() for v in self.data],
        }


class Entry:
    """One case of the table: `named` holds its tensors (T or nested lists, None for an absent one) and its parameters."""

    def __init__(self, name, op, dtype, source, note, wrong=None, law=None, **named):
        self.name, self.op, self.dtype, self.source, self.note, self.wrong = name, op, dtype, source, note, wrong
        self.law, self.named = law, named  # law: (id of a property, its arguments)

    def changed(self, **other):
        return Entry(self.name, self.op, self.dtype, "", "", **{**self.named, **other})

    def case(self):
        inputs, params = {}, {}
        for name, v in self.named.items():
            if name in TENSORS:
                if v is not None:
                    inputs[name] = (v if isinstance(v, T) else T(v)).json(self.dtype)
            else:
                params[name] = v if isinstance(v, str) or name not in NUMBERS else rounded(v, "f64" if name == "p" else "f32").hex()
        return {"op": self.op, "params": params, "inputs": inputs}

    def output(self, name):
        """dtype and shape of an output."""
        inputs = self.case()["inputs"]
        first = inputs.get("x") or inputs.get("q") or inputs.get("a")
        like = {
            "dweight": "weight",
            "dbias": "weight",
            "weight_new": "weight",
            "bias_new": "weight",
            "k_out": "k",
            "running_mean_new": "running_mean",
            "running_var_new": "running_mean",
        }.get(name)
        t = inputs[like] if like else first
        shape = list(t["shape"])
        if self.op in ("lp_norm", "rms", "distance", "cosine"):
            del shape[self.named.get("axis", -1)]
        return t["dtype"], shape

    def tensors(self, outputs):
        return {
            name: dict(zip(("dtype", "shape"), self.output(name)), data=[float(v).hex() for v in data]) for name, data in outputs.items()
        }

    def results(self, case=None):
        """Every output, correctly rounded: by Arb and by mpmath, which agree."""
        out = {}
        for name, exact in Case(case or self.case(), ieee=False).results().items():
            dtype = self.output(name)[0]
            out[name] = [decided(r, dtype, by_arb) for r in exact]
            assert all(map(same, out[name], [decided(r, dtype, by_mpmath) for r in exact])), (self.name, name)
        return out


def ulps(got, exact, dtype):
    p, emin, _ = FORMATS[dtype]
    if not math.isfinite(exact):
        return 0.0 if same(got, exact) else math.inf
    unit = math.ldexp(1.0, max(math.frexp(exact)[1] - 1 if exact else emin, emin) - p + 1)
    return abs(got - exact) / unit if math.isfinite(got) else math.inf


def wrong_answer(entry, exact):
    """(outputs of the wrong kernel, what the note says of them: the element that is farthest off)."""
    if not entry.wrong:
        return None, ""
    got = entry.wrong(entry, exact)
    formats = {name: entry.output(name)[0] for name in got}
    got = {name: [rounded(v, formats[name]) for v in data] for name, data in got.items()}
    distance, place, name = max(
        (ulps(g, e, formats[name]), -i, name) for name in got for i, (g, e) in enumerate(zip(got[name], exact[name]))
    )
    i = -place
    assert distance > 0, f"{entry.name}: the wrong kernel gives the right answer"
    g, e = got[name][i], exact[name][i]
    digits = next(d for d in range(6, 18) if f"{g:.{d}g}" != f"{e:.{d}g}")
    text = f": {name}[{i}] = {g:.{digits}g}, exact {e:.{digits}g}"
    return got, text + (f" ({distance:.3g} ulp)" if math.isfinite(distance) and e else "")


def shortest(v):
    """The normalized hexadecimal text that core/hex_float.cc writes."""
    if v != v or math.isinf(v):
        return "nan" if v != v else "inf" if v > 0 else "-inf"
    sign = "-" if math.copysign(1, v) < 0 else ""
    if v == 0:
        return sign + "0x0p+0"
    m, e = math.frexp(abs(v))
    digits = float(2 * m).hex()[3:].split("p")[0].strip(".").rstrip("0")
    return f"{sign}0x1{'.' + digits if digits else ''}p{e - 1:+d}"


def tensor_text(t):
    numbers = values(t)
    integers = len(numbers) > LONG
    data = [
        str(int(v)) if integers and abs(v) < 10 and v == int(v) and (v or math.copysign(1, v) > 0) else f'"{shortest(v)}"' for v in numbers
    ]
    head = json.dumps({k: v for k, v in t.items() if k != "data"}, separators=(",", ":"))
    return f'{head[:-1]},"data":[{",".join(data)}]}}'


def case_text(entry, exact, said):
    """The file, as core/case_write.cc lays one out."""
    case = entry.case()
    params = {k: shortest(float.fromhex(v)) if k in NUMBERS and v != "inf" else v for k, v in case["params"].items()}
    expect = entry.tensors(exact)

    def tensors(of):
        return ",\n  ".join(f'"{name}":{tensor_text(t)}' for name, t in of.items())

    law = dict(zip(("id", "args"), entry.law)) if entry.law else None
    return (
        f'{{"schema":"normfuzz.case/1","op":"{entry.op}",\n "params":{json.dumps(params, separators=(",", ":"))},\n'
        f' "inputs":{{\n  {tensors(case["inputs"])}\n }},\n "source":{json.dumps(entry.source)},\n'
        f' "note":{json.dumps(entry.note + said)},\n "expect":{{\n  {tensors(expect)}\n }}'
        + (f',\n "property":{json.dumps(law, separators=(",", ":"))}' if law else "")
        + "}\n"
    )


def readme(rows):
    lines = [
        "# Cases from public bug reports",
        "",
        f"{len(rows)} calls on which a reported bug shows, each with its correctly rounded result (`expect`). The source names the report",
        "(project#number); figures of a wrong kernel are those of its formula in the arithmetic named, computed by `wrong.py`. Where a report",
        "gives no numbers or very long ones, the numbers are ours.",
        "",
        "    ./normfuzz repro corpus/public/NAME.json --target onednn",
        "    ./normfuzz oracle --verify corpus/public/*.json",
        "",
        "The files and this page are written by `make.py` from the table in `cases.py`; a test holds them against each other, against the oracle and",
        "against the in-tree kernels.",
        "",
        "| file | op | dtype | source | catches |",
        "|---|---|---|---|---|",
    ]
    lines += [f"| {e.name} | {e.op} | {e.dtype} | {e.source} | {(e.note + said).replace('|', chr(92) + '|')} |" for e, said in rows]
    return "\n".join(lines) + "\n"


def texts(wrong_folder=None):
    """File name -> content."""
    from cases import CASES

    out, rows = {}, []
    for entry in CASES:
        exact = entry.results()
        got, said = wrong_answer(entry, exact)
        assert f"{entry.name}.json" not in out, entry.name
        out[f"{entry.name}.json"] = case_text(entry, exact, said)
        rows.append((entry, said))
        if got and wrong_folder:
            (wrong_folder / f"{entry.name}.json").write_text(case_text(entry, {**exact, **got}, said))
    out["README.md"] = readme(rows)
    return out


def differences(folder, expected):
    for name, text in expected.items():
        path = folder / name
        if not path.exists() or path.read_text() != text:
            yield f"{path}: {'differs from' if path.exists() else 'is missing, expected by'} cases.py"
    for path in sorted(folder.glob("*.json")):
        if path.name not in expected:
            yield f"{path}: not in cases.py"


def write(path, text):
    temporary = path.with_suffix(".part")
    temporary.write_text(text)
    os.replace(temporary, path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--wrong", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("folders", nargs="*", type=pathlib.Path, default=[HERE])
    args = parser.parse_args()
    expected = texts(args.wrong)
    if args.check:
        found = [line for folder in args.folders for line in differences(folder, expected)]
        print("\n".join(found) or f"{len(expected) - 1} cases and README.md are what cases.py gives")
        return 1 if found else 0
    if args.wrong:
        return 0
    for name, text in expected.items():
        write(args.folders[0] / name, text)
    print(f"{len(expected) - 1} cases written to {args.folders[0]}")
    return 0


if __name__ == "__main__":
    sys.modules["make"] = sys.modules["__main__"]  # cases.py takes T and Entry from here
    sys.exit(main())
