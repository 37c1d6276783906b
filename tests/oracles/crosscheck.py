"""The oracle against two independent computations of the same formulas, bit for bit, on generated cases.

Statistics are exact rationals; a result is a small expression of them (one quotient by a root, a sum of such, a p-norm), evaluated by
Arb (python-flint) as balls at growing precision, until both ends round to the same number, and by mpmath at precisions whose error is
counted. What both leave open at the last precision is decided by exact rational arithmetic where the expression has one root. Nothing here
is shared with the oracle but the case files.

    crosscheck.py --normfuzz build/normfuzz --count 2000 [--seed 1] [--max-elements 600] [--op NAME].. [--corrupt]

--corrupt flips the last bit of one answer of the oracle, and succeeds only if exactly that element is reported.
"""
import argparse
import itertools
import json
import math
import subprocess
import sys
import time
from fractions import Fraction

from exact_results import DECIDED_EXACTLY, FORMATS, Algebraic, OverOutside, Powers, SumOfRoots, by_arb, by_mpmath, decided, sign

IMAGES = ("group_norm", "instance_norm", "batch_norm")  # ops on [N, C, positions..] or [N, positions.., C]


def add(a, b):
    return math.nan if math.isinf(a) and math.isinf(b) and (a > 0) != (b > 0) else a + b


def times(a, b):
    return math.nan if (math.isinf(a) and b == 0) or (math.isinf(b) and a == 0) else a * b


def special_sum(a, b):
    """A rational where both are finite, else a float over the extended reals."""
    if finite([a, b]):
        return Fraction(a) + Fraction(b)
    return add(a if not math.isfinite(a) else 0.0, b if not math.isfinite(b) else 0.0)


def special_element(sign_of_xhat, weight, bias):
    """xhat * weight + bias where weight or bias is not finite; sign_of_xhat is exact."""
    if math.isnan(weight) or math.isnan(bias):
        return math.nan
    if math.isinf(weight):
        if sign_of_xhat == 0:
            return math.nan
        return add(math.copysign(math.inf, weight) * sign_of_xhat, bias)
    return bias


def finite(values):
    return all(math.isfinite(v) for v in values)


class Statistics:
    """Of a finite row: deviations from the mean (the numbers themselves for rms_norm), and what stands under the root."""

    def __init__(self, x, centred, epsilon):
        x = [Fraction(v) for v in x]
        mean = sum(x) / len(x) if centred else Fraction(0)
        self.d = [v - mean for v in x]
        self.w = sum(v * v for v in self.d) / len(x) + Fraction(epsilon)


class Case:
    def __init__(self, case, ieee):
        self.op, self.inputs, self.params, self.ieee = case["op"], case["inputs"], case["params"], ieee
        self.main = next(name for name in ("x", "q", "a") if self.inputs.get(name))
        self.shape = self.inputs[self.main]["shape"]
        self.rows, self.parameters = self.indices_of_rows()
        self.n = len(self.rows[0]) if self.rows else 0
        self.epsilon = self.number("epsilon", 0.0)
        self.centred = "layer_norm" in self.op or self.op.startswith(IMAGES)
        self.weights, self.biases = self.parameter("weight", 1.0), self.parameter("bias", 0.0)
        self.offset = self.number("weight_offset", 0.0)

    def number(self, name, absent):
        v = self.params.get(name, absent)
        return float.fromhex(v) if isinstance(v, str) else float(v)

    def indices_of_rows(self):
        """Logical indices of every row, rows in row-major order of the other dimensions; and which weight each element has."""
        rank = len(self.shape)
        if self.op.startswith(IMAGES):
            return self.groups_of_channels()
        if self.op.startswith(("layer_norm", "rms_norm", "add_rms_norm", "qk_norm")):
            axis = self.params.get("normalized_axis", -1)
            inner = list(range(axis % rank, rank))
        elif self.op.startswith("channel"):
            inner = [rank - 1 if self.params.get("layout") == "nhwc" else 0 if rank == 3 else 1]
        else:
            inner = [self.params.get("axis", -1) % rank]
        outer = [i for i in range(rank) if i not in inner]
        strides = [math.prod(self.shape[i + 1 :]) for i in range(rank)]

        def offsets(axes):
            out = [0]
            for i in axes:
                out = [o + k * strides[i] for o in out for k in range(self.shape[i])]
            return out

        columns = offsets(inner)
        rows = [[r + c for c in columns] for r in offsets(outer)]
        return rows, [list(range(len(columns)))] * len(rows)

    def groups_of_channels(self):
        """Every element of a batch of images into the row of its sample and group; its weight is its channel's."""
        axis = len(self.shape) - 1 if self.params.get("layout") == "nhwc" else 1
        channels = self.shape[axis]
        members = channels // self.params["groups"] if self.op.startswith("group_norm") else 1
        rows = {}
        for index, place in enumerate(itertools.product(*map(range, self.shape))):
            sample = 0 if self.op.startswith("batch_norm") else place[0]
            rows.setdefault((sample, place[axis] // members), []).append((index, place[axis]))
        return [[i for i, _ in row] for row in rows.values()], [[c for _, c in row] for row in rows.values()]

    def parameter(self, name, absent):
        count = 1 + max((max(row, default=-1) for row in self.parameters), default=-1)
        return values(self.inputs[name]) if self.inputs.get(name) else [absent] * count

    def by_rows(self, name):
        v = values(self.inputs[name])
        return [[v[i] for i in row] for row in self.rows]

    # Forward maps.
    def affine_row(self, x, parameters):
        pairs = [(self.weights[p], self.biases[p]) for p in parameters]
        if not finite(x):
            if self.centred or any(math.isnan(v) for v in x):
                return [math.nan] * self.n
            # x / inf = 0, inf / inf = NaN
            return [math.nan if math.isinf(v) else math.nan if not math.isfinite(w) else b for v, (w, b) in zip(x, pairs)]
        return self.mapped_row(Statistics(x, self.centred, self.epsilon), pairs)

    def mapped_row(self, row, pairs):
        if row.w == 0:
            if self.ieee:
                return [math.nan] * self.n
            return [b if math.isfinite(w) and math.isfinite(b) else special_element(0, w, b) for w, b in pairs]
        return [
            Algebraic(d * (Fraction(w) + Fraction(self.offset)), row.w, Fraction(b))
            if math.isfinite(w) and math.isfinite(b)
            else special_element(sign(d), w, b)
            for d, (w, b) in zip(row.d, pairs)
        ]

    def graph_row(self, x, parameters):
        """layer_norm_graph: the quotient by its pattern, then the affine map."""
        pattern = self.params.get("pattern", "exact")
        if pattern == "exact":
            return self.affine_row(x, parameters)
        if pattern == "swapped_sub":
            return self.affine_row([-v for v in x], parameters)
        if not finite(x):
            return [math.nan] * self.n
        mean = sum(Fraction(v) for v in x) / self.n
        d = [Fraction(v) - mean for v in x]
        w = sum(v ** (4 if pattern == "exponent_4" else 2) for v in d) / self.n + Fraction(self.epsilon)
        out = []
        for v, p in zip(d, parameters):
            weight, bias = self.weights[p], self.biases[p]
            if w == 0 or (pattern == "swapped_div" and v == 0):
                out.append(self.zero_divided() if self.epsilon == 0 and not any(x) else math.nan)
            elif not math.isfinite(weight) or not math.isfinite(bias):
                out.append(special_element(sign(v), weight, bias))
            else:
                out.append(Algebraic(Fraction(weight) * (w / v if pattern == "swapped_div" else v), w, Fraction(bias)))
        return out

    def inference_row(self, x, parameters):
        """batch_norm by running statistics: every element alone."""
        mean, variance = (values(self.inputs[name])[parameters[0]] for name in ("running_mean", "running_var"))
        out = []
        for v, p in zip(x, parameters):
            w, b = self.weights[p], self.biases[p]
            if math.isnan(v) or math.isnan(mean) or math.isnan(variance):
                out.append(math.nan)
            elif not finite([v, mean]):
                d = add(v, -mean)  # inf - inf is NaN
                out.append(math.nan if math.isinf(variance) or math.isnan(d) else add(times(d, w), b))
            elif math.isinf(variance):
                out.append(b if math.isfinite(w) else math.nan)
            else:
                d, under = Fraction(v) - Fraction(mean), Fraction(variance) + Fraction(self.epsilon)
                if under == 0 and self.ieee:
                    out.append(math.nan if d == 0 else add(times(math.copysign(math.inf, d), w), b))
                elif under == 0:
                    out.append(b if finite([w, b]) else special_element(0, w, b))
                elif finite([w, b]):
                    out.append(Algebraic(d * Fraction(w), under, Fraction(b)))
                else:
                    out.append(special_element(sign(d), w, b))
        return out

    def running_statistics(self):
        """(1 - momentum) old + momentum new of mean and variance, by channel."""
        momentum = self.number("momentum", 0.0)
        out = {"running_mean_new": [], "running_var_new": []}
        for row, parameters in zip(self.by_rows("x"), self.parameters):
            if finite(row):
                x = [Fraction(v) for v in row]
                mean = sum(x) / len(x)
                now = mean, sum((v - mean) ** 2 for v in x) / (len(x) - (self.params.get("variance") == "sample"))
            else:
                infinite = [v for v in row if not math.isfinite(v)]
                now = sum(infinite), math.nan
            for name, old, new in zip(out, ("running_mean", "running_var"), now):
                before = values(self.inputs[old])[parameters[0]]
                if math.isfinite(before) and isinstance(new, Fraction):
                    out[name].append(Algebraic((1 - Fraction(momentum)) * Fraction(before) + Fraction(momentum) * new))
                else:
                    new = 0.0 if isinstance(new, Fraction) else new
                    out[name].append(add(times(1 - momentum, before), times(momentum, new)))
        return out

    def added_row(self, x, residual, parameters):
        """rms_norm of x + residual."""
        sums = [special_sum(a, b) for a, b in zip(x, residual)]
        if any(isinstance(v, float) for v in sums):
            return self.affine_row([v if isinstance(v, float) else 0.0 for v in sums], parameters)
        return self.mapped_row(Statistics(sums, False, self.epsilon), [(self.weights[p], self.biases[p]) for p in parameters])

    def zero_divided(self):
        return math.nan if self.ieee else 0.0

    def norm(self, v):
        """|v|_p of rationals."""
        p = self.number("p", 2.0)
        if p == 1:
            return Algebraic(sum(abs(e) for e in v))
        if p == math.inf:
            return Algebraic(max(abs(e) for e in v))
        if p == 2:
            s = sum(e * e for e in v)
            return Algebraic(s, s) if s else 0.0
        return Powers([abs(e) for e in v], Fraction(p))

    def norm_row(self, x, other):
        op = self.op
        if not finite(x + (other or [])):
            if op == "cosine" or any(math.isnan(v) for v in x + (other or [])):
                return [math.nan]
            if other and any(math.isinf(a) and a == b for a, b in zip(x, other)):
                return [math.nan]
            return [math.inf]
        x = [Fraction(v) for v in x]
        other = other and [Fraction(v) for v in other]
        epsilon = Fraction(self.epsilon)
        if op == "lp_norm":
            return [self.norm(x)]
        if op == "distance":
            return [self.norm([a - b for a, b in zip(x, other)])]
        if op == "rms":
            s = sum(v * v for v in x) / self.n + epsilon
            return [Algebraic(s, s) if s else 0.0]
        least = epsilon * epsilon if self.params.get("epsilon_mode") == "max_norm" else Fraction(0)
        w = max(sum(v * v for v in x), least) * max(sum(v * v for v in other), least)
        return [Algebraic(sum(a * b for a, b in zip(x, other)), w) if w else self.zero_divided()]

    def unit_row(self, x):
        """lp_normalize"""
        if not finite(x):
            nan = any(math.isnan(v) for v in x)
            return [math.nan if nan or math.isinf(v) else 0.0 for v in x]
        x, p, e, mode = [Fraction(v) for v in x], self.number("p", 2.0), Fraction(self.epsilon), self.params.get("epsilon_mode", "none")
        if not any(x) and e == 0:
            return [self.zero_divided()] * self.n
        if p == 2:
            s = sum(v * v for v in x)
            if mode == "add_outside":
                return [OverOutside(v, s, e) for v in x]
            w = {"none": s, "add_inside": s + e, "max_norm": max(s, e * e), "max_square": max(s, e)}[mode]
            return [Algebraic(v, w) for v in x]
        if p in (1, math.inf):
            length = self.norm(x).term
            length = length + e if mode == "add_outside" else max(length, e) if mode == "max_norm" else length
            return [Algebraic(v / length) for v in x]
        return [Powers([abs(v) for v in x], Fraction(p), v, e, mode) for v in x]

    # Backwards.
    def dx_row(self, x, dy, parameters):
        weights = [self.weights[p] for p in parameters]
        if not finite(x + dy + weights):
            return [math.nan] * self.n
        row = Statistics(x, self.centred, self.epsilon)
        if row.w == 0:
            return [self.zero_divided()] * self.n
        g = [(Fraction(w) + Fraction(self.offset)) * Fraction(v) for w, v in zip(weights, dy)]
        mean = sum(g) / self.n if self.centred else 0
        c = sum(a * b for a, b in zip(g, row.d)) / self.n / row.w
        return [Algebraic(a - mean - d * c, row.w) for a, d in zip(g, row.d)]

    def sums(self):
        """(dweight or weight_new, dbias or bias_new), every element a result."""
        x, dy = self.by_rows("x"), self.by_rows("dy")
        update = self.op.endswith("_sgd")
        rate = Fraction(self.number("learning_rate", 0.0)) if update else Fraction(-1)
        weights, biases = [], []
        statistics = [Statistics(r, self.centred, self.epsilon) if finite(r) else None for r in x]
        for j in range(len(self.weights)):
            terms, nan_weight, nan_bias, total = [], False, False, Fraction(0)
            for row, d, s, i in ((row, d, s, i) for row, d, s, p in zip(x, dy, statistics, self.parameters) for i, k in enumerate(p) if k == j):
                if not math.isfinite(d[i]):
                    nan_weight = nan_bias = True
                    continue
                total += Fraction(d[i])
                if s is None:
                    nan_weight |= self.centred or any(math.isnan(v) for v in row) or math.isinf(row[i])
                elif s.w == 0:
                    nan_weight |= self.ieee
                else:
                    terms.append((Fraction(d[i]) * s.d[i], s.w))
            for out, nan, before, kind in ((weights, nan_weight, self.weights[j], "w"), (biases, nan_bias, self.biases[j], "b")):
                if nan:
                    out.append(math.nan)
                elif update and not math.isfinite(before):
                    out.append(before)
                else:
                    start = Fraction(before) if update else Fraction(0)
                    out.append(SumOfRoots(terms, start, -rate) if kind == "w" else Algebraic(start - rate * total))
        return weights, biases

    def heads(self, name):
        """One of q and k as a call of rms_norm over its last dimension."""
        inputs = {"x": self.inputs[name], "weight": self.inputs.get(name + "_weight")}
        return {name + "_out": Case({"op": "rms_norm", "inputs": inputs, "params": self.params}, self.ieee).results()["y"]}

    def results(self):
        """Every output by name."""
        if self.op.endswith("_sgd"):
            weights, biases = self.sums()
            return {"weight_new": weights, **({"bias_new": biases} if self.inputs.get("bias") else {})}
        if self.op == "qk_norm":
            return {**self.heads("q"), **self.heads("k")}
        x = self.by_rows(self.main)
        second = next((name for name in ("dy", "b", "residual") if self.inputs.get(name)), None)
        other = self.by_rows(second) if second else [None] * len(x)
        whole = [None] * math.prod(self.shape)

        def scattered(function):
            for indices, row, second, parameters in zip(self.rows, x, other, self.parameters):
                for i, v in zip(indices, function(row, second, parameters)):
                    whole[i] = v
            return whole

        if self.op.endswith("_backward"):
            out = {"dx": scattered(self.dx_row)}
            if self.inputs.get("weight"):
                out["dweight"], out["dbias"] = self.sums()
            if self.op.startswith("rms"):
                out.pop("dbias", None)
            return out
        if self.op == "batch_norm" and not self.params.get("training", 0):
            return {"y": scattered(lambda row, _, parameters: self.inference_row(row, parameters))}
        if self.op == "batch_norm" and self.inputs.get("running_mean"):
            return {"y": scattered(lambda row, _, parameters: self.affine_row(row, parameters)), **self.running_statistics()}
        if self.op in ("layer_norm", "rms_norm", "channel_layer_norm") or self.op.startswith(IMAGES):
            return {"y": scattered(lambda row, _, parameters: self.affine_row(row, parameters))}
        if self.op == "layer_norm_graph":
            return {"y": scattered(lambda row, _, parameters: self.graph_row(row, parameters))}
        if self.op == "add_rms_norm":
            residual = values(self.inputs["residual"])
            sums = [special_sum(a, b) for a, b in zip(values(self.inputs["x"]), residual)]
            return {
                "y": scattered(lambda row, second, parameters: self.added_row(row, second, parameters)),
                "residual_new": [v if isinstance(v, float) else Algebraic(v) for v in sums],
            }
        if self.op == "lp_normalize":
            return {"y": scattered(lambda row, _, __: self.unit_row(row))}
        return {"y": [self.norm_row(row, second)[0] for row, second in zip(x, other)]}


def values(tensor):
    return [float.fromhex(v) for v in tensor["data"]]


def expected(case, answer, ieee):
    """By output: (results by Arb, results by mpmath)."""
    out = {}
    for name, results in Case(case, ieee).results().items():
        fmt = answer[name]["dtype"]
        out[name] = [decided(r, fmt, by_arb) for r in results], [decided(r, fmt, by_mpmath) for r in results]
    return out


def same(a, b):
    return (a != a and b != b) or (a == b and math.copysign(1, a) == math.copysign(1, b))


def has_zero_denominator(case):
    return float.fromhex(str(case["params"].get("epsilon", "0x0p+0"))) == 0


def lines_of(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return [line for line in done.stdout.splitlines() if line]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--normfuzz", required=True)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--max-elements", type=int, default=600)
    parser.add_argument("--op", action="append", default=[], help="only this op; may be repeated")
    parser.add_argument("--corrupt", action="store_true")
    parser.add_argument("--cases", default="crosscheck.jsonl", help="where the cases are kept")
    args = parser.parse_args()
    start = time.time()
    generate = [args.normfuzz, "cases", "--seed", str(args.seed), "--count", str(args.count), "--max-elements", str(args.max_elements)]
    cases = lines_of(generate + [word for op in args.op for word in ("--op", op)])
    with open(args.cases, "w") as f:
        f.write("\n".join(cases) + "\n")
    cases = [json.loads(c) for c in cases]
    answers = {r: [json.loads(a)["expect"] for a in lines_of([args.normfuzz, "oracle", args.cases, "--json", "--reading", r])]
               for r in ("totalized", "ieee")}
    oracle_seconds = time.time() - start
    if args.corrupt:
        wrong, name = next((i, n) for i, a in enumerate(answers["totalized"]) for n in a
                           if a[n]["data"] and math.isfinite(float.fromhex(a[n]["data"][0])) and float.fromhex(a[n]["data"][0]))
        answer = answers["totalized"][wrong][name]
        p, emin, _ = FORMATS[answer["dtype"]]
        v = float.fromhex(answer["data"][0])
        unit = math.ldexp(1.0, max(math.frexp(v)[1] - 1, emin) - p + 1)
        answer["data"][0] = (v + unit).hex() if int(abs(v) / unit) % 2 == 0 else (v - unit).hex()
    differences, elements, ops = [], 0, {}
    for i, case in enumerate(cases):
        ops[case["op"]] = ops.get(case["op"], 0) + 1
        for reading in ("totalized", "ieee") if has_zero_denominator(case) else ("totalized",):
            answer = answers[reading][i]
            for output, (from_arb, from_mp) in expected(case, answer, reading == "ieee").items():
                got = values(answer[output])
                assert len(got) == len(from_arb), (case["provenance"], output)
                for j, (g, a, m) in enumerate(zip(got, from_arb, from_mp)):
                    elements += 1
                    if not same(g, a) or not same(g, m):
                        differences.append((i, output, j))
                        if len(differences) <= 10:
                            print(f"case {i} {case['op']} {case['provenance']} {reading} {output}[{j}]: oracle {g.hex()}, Arb {a.hex()}, mpmath {m.hex()}")
    print(f"{len(cases)} cases {ops}, {elements} elements, {DECIDED_EXACTLY[0]} ties decided by rationals: {len(differences)} differences; "
          f"oracle {oracle_seconds:.1f} s, all {time.time() - start:.1f} s")
    if args.corrupt:
        return 0 if differences == [(wrong, name, 0)] else 1
    return 1 if differences or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
