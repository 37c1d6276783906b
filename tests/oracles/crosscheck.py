"""The oracle against two independent computations of the same formulas, bit for bit, on generated cases.

Arb (python-flint): balls at growing precision, until both ends round to the same number. mpmath: exact rational mean and variance, one
high-precision square root. What both leave open at the last precision is decided by exact rational arithmetic. Nothing here is shared with
the oracle but the case files.

    crosscheck.py --normfuzz build/normfuzz --count 2000 [--seed 1] [--max-elements 600] [--corrupt]

--corrupt flips the last bit of one answer of the oracle, and succeeds only if exactly that element is reported.
"""
import argparse
import json
import math
import subprocess
import sys
import time
from fractions import Fraction

import flint
import mpmath

FORMATS = {"f64": (53, -1022, 1023), "f32": (24, -126, 127), "f16": (11, -14, 15), "bf16": (8, -126, 127)}
FIRST_BITS, LAST_BITS = 256, 16384


def round_dyadic(negative, man, exp, fmt):
    """man * 2^exp (man >= 0) rounded to nearest even, as a float; a number of every format is a double."""
    p, emin, emax = FORMATS[fmt]
    if man == 0:
        return -0.0 if negative else 0.0
    top = man.bit_length() + exp - 1
    unit = max(top, emin) - p + 1
    shift = unit - exp
    if shift > 0:
        quotient, rest = man >> shift, man & ((1 << shift) - 1)
        half = 1 << (shift - 1)
        quotient += rest > half or (rest == half and quotient & 1)
    else:
        quotient = man << -shift
    value = math.inf if quotient.bit_length() + unit - 1 > emax else math.ldexp(quotient, unit)
    return -value if negative else value


def round_ends(low, high, fmt):
    """Both ends are (signed integer, common exponent); None while they round differently or the sign of a zero is open."""
    (a, exp), (b, _) = low, high
    if a == b == 0:
        return 0.0
    x, y = round_dyadic(a < 0, abs(a), exp, fmt), round_dyadic(b < 0, abs(b), exp, fmt)
    if x != y or (x == 0 and (a < 0) != (b < 0)) or (x == 0 and a * b == 0):
        return None
    return x


def exact_float(q):
    return Fraction(q) if q else Fraction(0)


class Row:
    """A finite row with finite parameters of one element at a time, all of it rational but the square root."""

    def __init__(self, op, x, epsilon):
        n = len(x)
        self.x = [Fraction(v) for v in x]
        mean = sum(self.x) / n if op == "layer_norm" else Fraction(0)
        self.d = [v - mean for v in self.x]
        self.w = sum(v * v for v in self.d) / n + Fraction(epsilon)  # under the root


def decide_exactly(row, i, weight, bias, fmt, low, high):
    """The enclosure still holds a boundary m between two numbers of the format: is y = m? Decided by squares of rationals."""
    (a, exp), (b, _) = low, high
    x, y = round_dyadic(a < 0, abs(a), exp, fmt), round_dyadic(b < 0, abs(b), exp, fmt)
    term = row.d[i] * weight
    if term == 0 and bias == 0:
        return 0.0
    if x == y:  # the sign of a result that is not zero but rounds to it: that of the exact value
        q = -bias
        sign = (term > 0) - (term < 0)
        compare = sign * term * term - ((q > 0) - (q < 0)) * q * q * row.w
        return math.copysign(0.0, compare) if compare else 0.0
    p, emin, emax = FORMATS[fmt]
    limit = Fraction(2) ** (emax + 1)
    ends = [limit if v == math.inf else -limit if v == -math.inf else Fraction(v) for v in (x, y)]
    m = (ends[0] + ends[1]) / 2
    q = m - bias
    sign = (term > 0) - (term < 0)
    compare = sign * term * term - ((q > 0) - (q < 0)) * q * q * row.w  # sign of y - m
    if compare == 0:
        unit = min(v for v in (abs(ends[0] - m), abs(ends[1] - m))) * 2
        return x if (abs(ends[0]) / unit) % 2 == 0 else y
    return y if compare > 0 else x


def arb_exact(value):
    return flint.arb(value)


def arb_ends(ball):
    m, e = ball.mid().man_exp()
    r, f = ball.rad().man_exp()
    m, e, r, f = int(m), int(e), int(r), int(f)
    g = min(e, f)
    m, r = m << (e - g), r << (f - g)
    return (m - r, g), (m + r, g)


def arb_row(op, x, weights, biases, offset, epsilon, fmt):
    """Rounded elements, or the last enclosure of what is not decided."""
    n = len(x)
    out, ends = [None] * n, [None] * n
    bits = FIRST_BITS
    while bits <= LAST_BITS and None in out:
        flint.ctx.prec = bits
        v = [arb_exact(e) for e in x]
        if op == "layer_norm":
            mean = sum(v, flint.arb(0)) / n
            d = [e - mean for e in v]
        else:
            d = v
        square = sum((e * e for e in d), flint.arb(0)) / n + arb_exact(epsilon)
        if square > 0:
            root = square.sqrt()
            for i in range(n):
                if out[i] is None:
                    y = d[i] / root * (arb_exact(weights[i]) + arb_exact(offset)) + arb_exact(biases[i])
                    ends[i] = arb_ends(y)
                    out[i] = round_ends(*ends[i], fmt)
        bits *= 4
    return out, ends


def mp_row(row, weights, biases, offset, fmt):
    n = len(row.d)
    out, ends = [None] * n, [None] * n
    bits = FIRST_BITS
    while bits <= LAST_BITS and None in out:
        with mpmath.workprec(bits):
            root = mpmath.sqrt(mpmath.mpf(row.w.numerator) / mpmath.mpf(row.w.denominator))
            for i in range(n):
                if out[i] is not None:
                    continue
                term = row.d[i] * (Fraction(weights[i]) + Fraction(offset))
                t = mpmath.mpf(term.numerator) / mpmath.mpf(term.denominator) / root
                # Six roundings of relative 2^-bits each stand behind t.
                sign, man, exp, count = t._mpf_
                shift = bits + 8 - count if man else 8  # mpmath strips zeros; the error is relative to all bits
                scaled, g = int(man) << shift, exp - shift
                error = (scaled >> (bits - 4)) + 1 if man else 0
                value = -scaled if sign else scaled
                b_man, b_den = Fraction(biases[i]).numerator, Fraction(biases[i]).denominator
                b_exp = -(b_den.bit_length() - 1)
                h = min(g, b_exp)
                total = (value << (g - h)) + (b_man << (b_exp - h))
                error <<= g - h
                ends[i] = (total - error, h), (total + error, h)
                out[i] = round_ends(*ends[i], fmt)
        bits *= 4
    return out, ends


def add(a, b):
    return math.nan if math.isinf(a) and math.isinf(b) and (a > 0) != (b > 0) else a + b


def special_element(sign_of_xhat, weight, bias):
    """xhat * weight + bias where weight or bias is not finite; sign_of_xhat is exact."""
    if math.isnan(weight) or math.isnan(bias):
        return math.nan
    if math.isinf(weight):
        if sign_of_xhat == 0:
            return math.nan
        return add(math.copysign(math.inf, weight) * sign_of_xhat, bias)
    return bias


def rounded(v, fmt):
    if v != v or math.isinf(v):
        return v
    if v == 0:
        return 0.0
    m, e = math.frexp(abs(v))
    return round_dyadic(v < 0, int(m * 2**53), e - 53, fmt)


def expected_row(op, x, weights, biases, offset, epsilon, fmt, ieee):
    """(by Arb, by mpmath) for one row."""
    n = len(x)
    if any(not math.isfinite(v) for v in x):
        if op == "layer_norm" or any(math.isnan(v) for v in x):
            y = [math.nan] * n
        else:  # x / inf = 0, inf / inf = NaN
            y = [math.nan if math.isinf(v) else math.nan if not math.isfinite(w) else b for v, w, b in zip(x, weights, biases)]
        y = [rounded(v, fmt) for v in y]
        return y, y
    row = Row(op, x, epsilon)
    if row.w == 0:
        if ieee:
            y = [math.nan] * n
        else:
            y = [special_element(0, w, b) if not (math.isfinite(w) and math.isfinite(b)) else b for w, b in zip(weights, biases)]
            y = [rounded(v, fmt) for v in y]
        return y, y
    finite_w = [w if math.isfinite(w) else 1.0 for w in weights]
    finite_b = [b if math.isfinite(b) else 0.0 for b in biases]
    by_arb, arb_left = arb_row(op, x, finite_w, finite_b, offset, epsilon, fmt)
    by_mp, mp_left = mp_row(row, finite_w, finite_b, offset, fmt)
    for i in range(n):
        if not (math.isfinite(weights[i]) and math.isfinite(biases[i])):
            sign = (row.d[i] > 0) - (row.d[i] < 0)
            by_arb[i] = by_mp[i] = rounded(special_element(sign, weights[i], biases[i]), fmt)
            continue
        weight, bias = Fraction(finite_w[i]) + Fraction(offset), Fraction(finite_b[i])
        if by_arb[i] is None:
            by_arb[i] = decide_exactly(row, i, weight, bias, fmt, *arb_left[i])
            DECIDED_EXACTLY[0] += 1
        if by_mp[i] is None:
            by_mp[i] = decide_exactly(row, i, weight, bias, fmt, *mp_left[i])
    return by_arb, by_mp


DECIDED_EXACTLY = [0]


def values(tensor):
    return [float.fromhex(v) for v in tensor["data"]]


def expected(case, ieee):
    inputs, params = case["inputs"], case["params"]
    x = values(inputs["x"])
    shape = inputs["x"]["shape"]
    axis = params.get("normalized_axis", -1)
    n = math.prod(shape[axis if axis >= 0 else len(shape) + axis :])
    weights = values(inputs["weight"]) if inputs.get("weight") else [1.0] * n
    biases = values(inputs["bias"]) if inputs.get("bias") else [0.0] * n
    number = lambda name: float.fromhex(params[name]) if isinstance(params.get(name), str) else float(params.get(name, 0))
    by_arb, by_mp = [], []
    for r in range(0, len(x), n):
        a, m = expected_row(case["op"], x[r : r + n], weights, biases, number("weight_offset"), number("epsilon"), inputs["x"]["dtype"], ieee)
        by_arb += a
        by_mp += m
    return by_arb, by_mp


def same(a, b):
    return (a != a and b != b) or (a == b and math.copysign(1, a) == math.copysign(1, b))


def has_zero_denominator(case):
    return float.fromhex(str(case["params"]["epsilon"])) == 0


def lines_of(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return [line for line in done.stdout.splitlines() if line]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--normfuzz", required=True)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--max-elements", type=int, default=600)
    parser.add_argument("--corrupt", action="store_true")
    parser.add_argument("--cases", default="crosscheck.jsonl", help="where the cases are kept")
    args = parser.parse_args()
    start = time.time()
    cases = lines_of([args.normfuzz, "cases", "--seed", str(args.seed), "--count", str(args.count), "--max-elements", str(args.max_elements)])
    with open(args.cases, "w") as f:
        f.write("\n".join(cases) + "\n")
    cases = [json.loads(c) for c in cases]
    answers = {r: [json.loads(a)["expect"]["y"] for a in lines_of([args.normfuzz, "oracle", args.cases, "--json", "--reading", r])]
               for r in ("totalized", "ieee")}
    oracle_seconds = time.time() - start
    if args.corrupt:
        wrong = next(i for i, a in enumerate(answers["totalized"]) if math.isfinite(float.fromhex(a["data"][0])) and float.fromhex(a["data"][0]))
        p, emin, _ = FORMATS[answers["totalized"][wrong]["dtype"]]
        v = float.fromhex(answers["totalized"][wrong]["data"][0])
        unit = math.ldexp(1.0, max(math.frexp(v)[1] - 1, emin) - p + 1)
        answers["totalized"][wrong]["data"][0] = (v + unit).hex() if int(abs(v) / unit) % 2 == 0 else (v - unit).hex()
    differences, elements, dtypes = [], 0, {}
    for i, case in enumerate(cases):
        dtypes[case["inputs"]["x"]["dtype"]] = dtypes.get(case["inputs"]["x"]["dtype"], 0) + 1
        for reading in ("totalized", "ieee") if has_zero_denominator(case) else ("totalized",):
            answer = answers[reading][i]
            assert answer["dtype"] == case["inputs"]["x"]["dtype"] and answer["shape"] == case["inputs"]["x"]["shape"], case["provenance"]
            by_arb, by_mp = expected(case, reading == "ieee")
            for j, (got, a, m) in enumerate(zip(values(answer), by_arb, by_mp)):
                elements += 1
                if not same(got, a) or not same(got, m):
                    differences.append((i, j))
                    if len(differences) <= 5:
                        print(f"case {i} {case['provenance']} {reading} y[{j}]: oracle {got.hex()}, Arb {a.hex()}, mpmath {m.hex()}")
    print(f"{len(cases)} cases {dtypes}, {elements} elements, {DECIDED_EXACTLY[0]} ties decided by rationals: {len(differences)} differences; "
          f"oracle {oracle_seconds:.1f} s, all {time.time() - start:.1f} s")
    if args.corrupt:
        return 0 if differences == [(wrong, 0)] else 1
    return 1 if differences or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
