"""What the reported bugs compute: a formula with one thing wrong, in the arithmetic in which it was wrong.

Every function here returns what cases.py names `wrong`: from an Entry and its exact results to the values of a wrong kernel, by output."""

import math
import struct
from fractions import Fraction

from crosscheck import Case, values
from exact_results import by_arb, decided, rounded


class Machine:
    """Numbers of one format. A double operation rounded once more is the correctly rounded one: 53 >= 2 * 24 + 2 digits."""

    def __init__(self, fmt):
        self.fmt = fmt

    def __call__(self, v):
        return rounded(v, self.fmt)

    def add(self, a, b):
        return self(a + b)

    def multiply(self, a, b):
        return self(a * b)

    def divide(self, a, b):
        if b == 0:
            return math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1, b)
        return self(a / b)

    def root(self, a):
        return math.nan if a < 0 else self(math.sqrt(a))

    def sum(self, numbers):
        total = 0.0
        for v in numbers:
            total = self.add(total, v)
        return total


def outputs(**named):
    """These numbers; a single one stands for all elements."""

    def wrong(entry, exact):
        return {name: v if isinstance(v, list) else [float(v)] * len(exact[name]) for name, v in named.items()}

    return wrong


def swapped(first, second):
    return lambda entry, exact: {first: exact[second], second: exact[first]}


def instead(only=None, rounding=None, **changed):
    """The exact results of the call with other parameters or inputs; of the output `only` where one is named."""

    def wrong(entry, exact):
        got = entry.changed(**changed).results()
        return {name: got[name] for name in ([only] if only else exact)}

    return wrong


def cast(fmt, name):
    """The exact results of the call whose input `name` is rounded to another format first."""

    def wrong(entry, exact):
        data = entry.case()
        data["inputs"][name]["data"] = [rounded(v, fmt).hex() for v in values(data["inputs"][name])]
        return entry.results(data)

    return wrong


def truncated(entry, exact):
    """16-bit outputs cut off instead of rounded."""
    assert entry.dtype == "bf16"

    def cut(result):
        (bits,) = struct.unpack("<I", struct.pack("<f", decided(result, "f32", by_arb)))
        return struct.unpack("<f", struct.pack("<I", bits & 0xFFFF0000))[0]

    return {name: [cut(r) for r in results] for name, results in Case(entry.case(), False).results().items()}


def kernel(
    acc="f32",
    moments="two_pass",
    square=None,
    divisor=None,
    lanes=0,
    seen=None,
    scale=None,
    rsqrt_error=0.0,
    before_weight=None,
    offset_sum=None,
):
    """A kernel of layer_norm and its kin with one thing wrong.

    acc: format of sums and statistics; square: format of the squares alone; moments: two_pass, one_pass (negative variances stay) or clamped
    divisor: from n and epsilon to what the sum of squares is divided by; lanes: width whose padding enters the variance
    seen: how many elements the statistics see; scale: from (machine, variance, epsilon) to the factor
    before_weight: format of xhat before the weight; offset_sum: format of weight_offset + weight"""
    m, squares = Machine(acc), Machine(square or acc)

    def factor(variance, epsilon):
        if scale:
            return scale(m, variance, epsilon)
        return m.multiply(m.divide(1.0, m.root(m.add(variance, epsilon))), 1 + rsqrt_error)

    def row(case, x, parameters):
        n = len(x)
        part = x[:seen]
        mean = m.divide(m.sum(part), float(n)) if case.centred else 0.0
        if moments == "two_pass":
            d = [m.add(v, -mean) for v in part + [0.0] * (lanes and -n % lanes)]
            total = m.sum(squares.multiply(v, v) for v in d)
            variance = m.divide(total, divisor(n, case.epsilon) if divisor else float(n))
        else:
            variance = m.add(m.divide(m.sum(m.multiply(v, v) for v in part), float(n)), -m.multiply(mean, mean))
            variance = max(variance, 0.0) if moments == "clamped" else variance
        s, out = factor(variance, case.epsilon), []
        for v, p in zip(x, parameters):
            xhat = m.multiply(m.add(v, -mean), s)
            xhat = rounded(xhat, before_weight) if before_weight else xhat
            weight = Machine(offset_sum or acc).add(case.offset, case.weights[p])
            out.append(m.add(m.multiply(xhat, weight), case.biases[p]))
        return out

    def wrong(entry, exact):
        case = Case(entry.case(), False)
        y = [0.0] * len(exact["y"])
        for indices, x, parameters in zip(case.rows, case.by_rows("x"), case.parameters):
            for i, v in zip(indices, row(case, x, parameters)):
                y[i] = rounded(v, entry.dtype)
        return {"y": y}

    return wrong


def dweight_of_group(group_of):
    """dweight of group_norm_backward, channel c with the statistics of group_of(c, groups)."""

    def wrong(entry, exact):
        case = Case(entry.case(), False)
        x, dy = case.by_rows("x"), case.by_rows("dy")
        groups = case.params["groups"]

        def statistics(row):
            mean = sum(map(Fraction, row)) / len(row)
            return float(mean), math.sqrt(sum((Fraction(v) - mean) ** 2 for v in row) / len(row) + Fraction(case.epsilon))

        total = [0.0] * len(exact["dweight"])
        for r, (row, d, channels) in enumerate(zip(x, dy, case.parameters)):
            for v, g, c in zip(row, d, channels):
                mean, root = statistics(x[r - r % groups + group_of(c, groups)])
                total[c] += g * (v - mean) / root
        return {"dweight": [rounded(v, entry.dtype) for v in total]}

    return wrong


def read_as_dense(row_stride):
    """rms_norm whose sums follow the strides of x and whose last pass reads the elements of a row one after another."""

    def wrong(entry, exact):
        case = Case(entry.case(), False)
        tensor, m = entry.case()["inputs"]["x"], Machine("f32")
        rows, cols = tensor["shape"]
        memory = {
            i * tensor["strides"][0] + j * tensor["strides"][1]: v
            for (i, j), v in zip([(i, j) for i in range(rows) for j in range(cols)], values(tensor))
        }
        y = []
        for i, x in enumerate(case.by_rows("x")):
            s = m.divide(1.0, m.root(m.add(m.divide(m.sum(m.multiply(v, v) for v in x), float(cols)), case.epsilon)))
            y += [m.multiply(memory[i * row_stride + j], s) for j in range(cols)]
        return {"y": y}

    return wrong
