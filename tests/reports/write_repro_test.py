"""Stand-alone Python programs: one for every op of every Python target and variant in the source tree, without its framework: each is valid,
and no name in it is undefined. Then programs of a target of our own are run, which needs NumPy only."""

from __future__ import annotations

import ast
import builtins
import pathlib
import subprocess
import symtable
import sys
import tempfile
import tomllib
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "reports"))
sys.dont_write_bytecode = True
import write_repro
from extract_function import CannotExtract, Extract, defined_names

LIBRARY = str(ROOT / "harness/run/normfuzz_target.py")


def undefined_names(source: str) -> set[str]:
    defined = {n for node in ast.parse(source).body for n in defined_names(node)} | set(dir(builtins)) | {"__file__", "__name__"}

    def free(scope: symtable.SymbolTable) -> set[str]:
        top = scope.get_type() == "module"
        own = {s.get_name() for s in scope.get_symbols() if s.is_referenced() and (top or s.is_global())}
        return own.union(*(free(inner) for inner in scope.get_children()))

    return free(symtable.symtable(source, "repro.py", "exec")) - defined


def tensor(*values: float, **layout) -> dict:
    return {"dtype": "f32", "shape": [1, len(values)], "data": [v.hex() for v in map(float, values)], **layout}


def entry_of(module: pathlib.Path, op: str, expected: list, *, shows: str = "values", environment: dict | None = None, **inputs) -> dict:
    """Of a call with x and what else is given, that has one output."""
    case = {"op": op, "params": {"epsilon": "0x1p-10"}, "inputs": {"x": tensor(1, 2, 4), **inputs}, "expect": {"y": tensor(0, 0, 0)}}
    texts = {"title": "It diverges.", "seen": "framework 1", "module": str(module), "library": LIBRARY, "shows": shows}
    return {**texts, "environment": environment or {}, "outputs": ["y"], "expected": {"y": expected}, "case": case}


class EveryTarget(unittest.TestCase):
    def test_every_op_of_every_variant(self):
        count = 0
        for manifest_file in sorted(ROOT.glob("targets/*/manifest.toml")):
            source = next((f for n in ("target.py", "repro.py") if (f := manifest_file.parent / n).exists()), None)
            if source is None:
                continue
            manifest = tomllib.loads(manifest_file.read_text())
            for variant in [{"env": {}}, *manifest.get("variant", [])]:
                for op in sorted({o["name"] for o in manifest["op"]}):
                    with self.subTest(target=manifest_file.parent.name, variant=variant.get("name"), op=op):
                        extract = Extract(str(source), LIBRARY, op, variant["env"])
                        text = extract.text(["import sys"])
                        compile(text, "repro.py", "exec")
                        self.assertEqual(undefined_names(text), set())
                        self.assertNotIn("normfuzz_target", text)
                        count += 1
        self.assertGreater(count, 200)

    def test_a_missing_definition_is_seen(self):
        text = Extract(str(ROOT / "targets/onnxruntime/target.py"), LIBRARY, "lp_norm", {}).text(["import sys"])
        self.assertEqual(undefined_names(text.replace("def first_line(", "def other(")), {"first_line"})


KERNELS = '''\
"""Kernels of a test."""
import os
import numpy as np
from normfuzz_target import Unsupported, first_normalized, op, target

MODE = os.environ.get("NORMFUZZ_MODE", "plain")  # set by the variants
NEVER_USED = 1
np.seterr(all="ignore")
target(version="kernels 1")


def moments(x):  # a comment of it
    return x.mean(-1, keepdims=True), x.var(-1, keepdims=True)


@op("layer_norm")
def layer_norm(x, weight, bias, *, epsilon, normalized_axis=-1):
    first_normalized(x, normalized_axis)
    mean, variance = moments(x)
    if MODE == "doubled":
        return 2 * (x - mean) / np.sqrt(variance + np.float32(epsilon))
    return (x - mean) / np.sqrt(variance + np.float32(epsilon))


@op("rms_norm")
def rms_norm(x, y, *, epsilon):
    y[...] = x / np.sqrt((x * x).mean(-1, keepdims=True) + np.float32(epsilon))


calls = iter(range(10**9))


@op("rms")
def rms(x, *, epsilon):
    return x[:, 0] + next(calls)


@op("lp_norm")
def lp_norm(x, *, epsilon):
    os.abort()
'''


class Programs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.module = pathlib.Path(self.folder.name) / "kernels.py"
        self.module.write_text(KERNELS)

    def program(self, op: str, expected: list, **options) -> str:
        return write_repro.program(entry_of(self.module, op, expected, **options))

    def run_program(self, text: str) -> tuple[int, str]:
        try:
            import numpy  # noqa: F401
        except ImportError:
            self.skipTest(f"{sys.executable} has no NumPy")
        file = pathlib.Path(self.folder.name) / "repro.py"
        file.write_text(text)
        done = subprocess.run([sys.executable, file], capture_output=True, text=True, cwd=self.folder.name, check=False)
        return done.returncode, done.stdout + done.stderr

    # layer_norm of 1, 2, 4: its first element is -1.069 to three digits.
    def test_shows_a_divergence_and_its_absence(self):
        right, wrong = [[0, "-0x1.119p+0", "0x1p-8"]], [[0, "-0x1.8p+0", "0x1p-8"]]
        for environment, expected, code in (({}, right, 0), ({}, wrong, 1), ({"NORMFUZZ_MODE": "doubled"}, right, 1)):
            text = self.program("layer_norm", expected, environment=environment, weight=None, bias=None)
            self.assertEqual(undefined_names(text), set())
            returned, output = self.run_program(text)
            self.assertEqual(returned, code, output)
            self.assertIn("kernels 1\ny[0]: got ", output)
            self.assertEqual("<- diverges" in output, code == 1)

    def test_only_what_is_needed(self):
        text = self.program("layer_norm", [], weight=None, bias=None)
        for part in ("def moments", "# a comment of it", "def first_normalized", 'np.seterr(all="ignore")'):
            self.assertIn(part, text)
        for part in ("NEVER_USED", "def rms_norm", "MODE", "doubled", "environ", "class Rejected"):
            self.assertNotIn(part, text)

    def test_writes_in_place_and_keeps_the_layout(self):
        text = self.program("rms_norm", [[2, "0x1.8298p+0", "0x1p-8"]], x=tensor(1, 2, 4, strides=[9, 2], offset=3, misalign=4))
        self.assertIn("strides=[9, 2], offset=3, misalign=4", text)
        returned, output = self.run_program(text)
        self.assertEqual(returned, 0, output)

    def test_unequal_bits_and_a_crash(self):
        self.assertEqual(self.run_program(self.program("rms", [], shows="repeat"))[0], 1)
        self.assertLess(self.run_program(self.program("lp_norm", [], shows="return"))[0], 0)

    def test_refusals_have_a_reason(self):
        for op, inputs in (("cosine", {}), ("rms", {"residual": tensor(1, 2, 4)})):
            with self.assertRaisesRegex(CannotExtract, "no function|does not take residual"):
                self.program(op, [], **inputs)


if __name__ == "__main__":
    unittest.main()
