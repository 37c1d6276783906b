// Enclosures against exact rational arithmetic on small integers, and the directions of rounding.
#include "oracles/number/interval.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "tests/generators.h"

namespace normfuzz {
namespace {

bool contains(const Interval& i, double v) { return mpfr_cmp_d(i.lower(), v) <= 0 && mpfr_cmp_d(i.upper(), v) >= 0; }

TEST(Interval, APointStaysAPointWhileExact) {
  const Interval a(3), b(-5);
  EXPECT_TRUE((a + b).is_point());
  EXPECT_TRUE((a * b).is_point());
  EXPECT_TRUE(square(b).is_point());
  EXPECT_EQ((a * b).lower_double(), -15);
}

TEST(Interval, DivisionByThreeIsOpenOnBothSides) {
  const Interval third = Interval(1) / 3;
  EXPECT_FALSE(third.is_point());
  const Interval back = third * Interval(3);
  EXPECT_TRUE(contains(back, 1));
  EXPECT_LT(mpfr_cmp_d(back.lower(), 1), 0);
  EXPECT_GT(mpfr_cmp_d(back.upper(), 1), 0);
}

TEST(Interval, MorePrecisionIsNarrower) {
  const auto width = [](mpfr_prec_t bits) {
    const PrecisionScope scope(bits);
    const Interval third = Interval(1) / 3;
    Real w;
    mpfr_sub(w.get(), third.upper(), third.lower(), MPFR_RNDU);
    return mpfr_get_d(w.get(), MPFR_RNDU);
  };
  EXPECT_LT(width(400), width(192));  // also through the heap: above the inline limbs
}

TEST(Interval, ReciprocalRootOfAnEnclosureThatTouchesZeroIsUnbounded) {
  const Interval touches = square((Interval(1) / 3) * Interval(3) - Interval(1));  // [0, tiny]
  ASSERT_EQ(mpfr_sgn(touches.lower()), 0);
  EXPECT_TRUE(mpfr_inf_p(rsqrt(touches).upper()));
  EXPECT_TRUE((Interval(1) - Interval(1)).is_zero());
}

// Thirds are never points: their sums, products and squares, nine times over, contain the integers they stand for, whatever the signs.
RC_GTEST_PROP(Interval, OperationsContainTheirPoints, ()) {
  const int p = *rc::gen::inRange(-9, 10), q = *rc::gen::inRange(-9, 10);
  const Interval a = Interval(p) / 3, b = Interval(q) / 3, three(3), nine(9);
  RC_ASSERT(contains(three * (a + b), p + q));
  RC_ASSERT(contains(three * (a - b), p - q));
  RC_ASSERT(contains(nine * (a * b), p * q));
  RC_ASSERT(contains(nine * square(a), p * p));
  const Interval zero = a - Interval(p) / 3;  // straddles zero unless p is a multiple of 3
  RC_ASSERT(contains(zero * b, 0));
  RC_ASSERT(contains(b * zero, 0));
  RC_ASSERT(contains(zero * zero, 0));
  RC_ASSERT(mpfr_sgn(square(zero).lower()) >= 0);
}

}  // namespace
}  // namespace normfuzz
