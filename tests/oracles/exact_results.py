"""Results as small expressions of exact rationals, rounded by Arb and by mpmath: the numbers of crosscheck.py, which explains them."""
import math
from fractions import Fraction

import flint
import mpmath

FORMATS = {"f64": (53, -1022, 1023), "f32": (24, -126, 127), "f16": (11, -14, 15), "bf16": (8, -126, 127)}
FIRST_BITS, LAST_BITS = 256, 16384
DECIDED_EXACTLY = [0]  # how often the last resort below was taken


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


def round_boundary(low, high, fmt, sign_of):
    """The last enclosure still holds a boundary m: which side of it is y on? sign_of(m) is the sign of y - m, 0 if they are equal."""
    (a, exp), (b, _) = low, high
    x, y = round_dyadic(a < 0, abs(a), exp, fmt), round_dyadic(b < 0, abs(b), exp, fmt)
    if x == y:  # a result that may be zero
        sign = sign_of(Fraction(0))
        return math.copysign(0.0, sign) if sign else 0.0
    p, emin, emax = FORMATS[fmt]
    limit = Fraction(2) ** (emax + 1)
    ends = [limit if v == math.inf else -limit if v == -math.inf else Fraction(v) for v in (x, y)]
    m = (ends[0] + ends[1]) / 2
    sign = sign_of(m)
    if sign == 0:
        unit = min(v for v in (abs(ends[0] - m), abs(ends[1] - m))) * 2
        return x if (abs(ends[0]) / unit) % 2 == 0 else y
    return y if sign > 0 else x


def sign(v):
    return (v > 0) - (v < 0)


def arb_of(q):
    return flint.arb(flint.fmpq(q.numerator, q.denominator))


def mp_of(q):
    return mpmath.mpf(q.numerator) / mpmath.mpf(q.denominator)


def arb_ends(ball):
    m, e = ball.mid().man_exp()
    r, f = ball.rad().man_exp()
    m, e, r, f = int(m), int(e), int(r), int(f)
    g = min(e, f)
    m, r = m << (e - g), r << (f - g)
    return (m - r, g), (m + r, g)


def mp_ends(value, error):
    def parts(v):
        negative, man, exp, _ = v._mpf_
        return (-int(man) if negative else int(man)), exp

    (m, e), (r, f) = parts(value), parts(error)
    g = min(e, f)
    m, r = m << (e - g), r << (f - g)
    return (m - r, g), (m + r, g)


# A result is one of the classes below. arb() encloses it at flint's working precision; mp() gives it at mpmath's, with a magnitude that no
# intermediate exceeds: GUARD_BITS below that lie the roundings of the few hundred operations. sign_of(m) is exact where the class has one.
GUARD_BITS = 24


class Algebraic:
    """term / sqrt(w) + shift, all rational: every op with one square root, p = 1 and the maximum too (w = 1)."""

    def __init__(self, term, w=Fraction(1), shift=Fraction(0)):
        self.term, self.w, self.shift = term, w, shift

    def arb(self):
        return (arb_of(self.term) / arb_of(self.w).sqrt() if self.w != 1 else arb_of(self.term)) + arb_of(self.shift)

    def mp(self):
        t = mp_of(self.term) / mpmath.sqrt(mp_of(self.w))
        return t + mp_of(self.shift), abs(t) + abs(mp_of(self.shift))

    def sign_of(self, m):
        q = m - self.shift
        return sign(sign(self.term) * self.term * self.term - sign(q) * q * q * self.w)

    def is_zero(self):
        return self.sign_of(Fraction(0)) == 0


class SumOfRoots:
    """shift + factor sum(term_k / sqrt(w_k)): dweight and its update."""

    def __init__(self, terms, shift=Fraction(0), factor=Fraction(1)):
        by_root = {}
        for term, w in terms:
            by_root[w] = by_root.get(w, Fraction(0)) + term
        self.terms = [(factor * t, w) for w, t in by_root.items() if t and factor]
        self.shift = shift

    def arb(self):
        return sum((arb_of(t) / arb_of(w).sqrt() for t, w in self.terms), flint.arb(0)) + arb_of(self.shift)

    def mp(self):
        parts = [mp_of(t) / mpmath.sqrt(mp_of(w)) for t, w in self.terms] + [mp_of(self.shift)]
        return mpmath.fsum(parts), mpmath.fsum(parts, absolute=True)

    def is_zero(self):
        return not self.terms and self.shift == 0

    sign_of = None


class Powers:
    """(sum m_k^p)^(1/p), m_k >= 0 rational, p rational; or x over that, with epsilon."""

    def __init__(self, magnitudes, p, x=None, epsilon=Fraction(0), mode="none"):
        self.m, self.p, self.x, self.epsilon, self.mode = [m for m in magnitudes if m], p, x, epsilon, mode

    def evaluate(self, number, larger):
        p, half = number(self.p), [number(m) for m in self.m]
        s = sum((m**p for m in half[1:]), half[0] ** p) if half else number(Fraction(0))
        length = s ** (number(Fraction(1)) / p) if half else s
        if self.x is None:
            return length
        if self.mode == "add_outside":
            length = length + number(self.epsilon)
        elif self.mode == "max_norm":
            length = larger(length, number(self.epsilon))
        return number(self.x) / length

    def arb(self):
        return self.evaluate(arb_of, lambda a, b: a.max(b))

    def mp(self):
        y = self.evaluate(mp_of, max)
        return y, abs(y)

    def is_zero(self):
        return self.x == 0 if self.x is not None else not self.m

    sign_of = None


class OverOutside:
    """x / (sqrt(s) + e)"""

    def __init__(self, x, s, e):
        self.x, self.s, self.e = x, s, e

    def arb(self):
        return arb_of(self.x) / (arb_of(self.s).sqrt() + arb_of(self.e))

    def mp(self):
        y = mp_of(self.x) / (mpmath.sqrt(mp_of(self.s)) + mp_of(self.e))
        return y, abs(y)

    def sign_of(self, m):  # of x - m e - m sqrt(s): the denominator is positive
        t = self.x - m * self.e
        return sign(sign(t) * t * t - sign(m) * m * m * self.s)

    def is_zero(self):
        return self.x == 0


def decided(result, fmt, ends_at):
    """Ziv's loop. What is open at the last precision: exactly where possible, else a boundary that is 2^-16000 away counts as met."""
    if isinstance(result, float):
        return rounded(result, fmt)
    if result.is_zero():
        return 0.0
    bits = FIRST_BITS
    while True:
        ends = ends_at(result, bits)
        y = round_ends(*ends, fmt) if ends else None
        if y is not None:
            return y
        if bits >= LAST_BITS:
            break
        bits *= 4
    DECIDED_EXACTLY[0] += 1
    if result.sign_of:
        return round_boundary(*ends, fmt, result.sign_of)
    (a, _), (b, _) = ends
    return round_boundary(*ends, fmt, lambda m: 0 if m or a <= 0 <= b else sign(a))


def by_arb(result, bits):
    flint.ctx.prec = bits
    ball = result.arb()
    return arb_ends(ball) if ball.is_finite() else None


def by_mpmath(result, bits):
    with mpmath.workprec(bits):
        value, magnitude = result.mp()
        return mp_ends(value, magnitude * mpmath.mpf(2) ** (GUARD_BITS - bits))


def rounded(v, fmt):
    if v != v or math.isinf(v):
        return v
    if v == 0:
        return 0.0
    m, e = math.frexp(abs(v))
    return round_dyadic(v < 0, int(m * 2**53), e - 53, fmt)
