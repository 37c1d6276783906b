// Any bytes are a recipe, any recipe is a valid case of bounded size, and bytes and recipes lose nothing into each other.
#include "harness/recipe/recipe.h"

#include <gtest/gtest.h>

#include <set>

#include "harness/generate/stream.h"
#include "harness/recipe/build_case.h"
#include "harness/recipe/mutate.h"
#include "oracles/ops/geometry.h"

namespace normfuzz::fuzzing {
namespace {

using Bytes = std::vector<std::uint8_t>;

// Of any length up to some bytes too many.
Bytes any_bytes(std::uint64_t seed) {
  Stream s(seed);
  Bytes bytes(s.below(kMaxRecipeBytes + 8));
  for (std::uint8_t& b : bytes) b = static_cast<std::uint8_t>(s.next());
  return bytes;
}

RowView rows_of(const Case& c) { return find_op(c.op)->rows(c); }

const Family& family(std::string_view name) { return *find_family(name); }

Case plain_case(Recipe r) { return build_case(family("layer_norm"), r); }

TEST(Recipe, EveryByteStringIsAValidCaseOfBoundedSize) {
  for (const Family& f : all_families())
    for (std::uint64_t seed = 0; seed < 300; ++seed) {
      const Bytes bytes = seed == 0 ? Bytes{} : seed == 1 ? Bytes(kMaxRecipeBytes, 0xff) : any_bytes(seed);
      const Case c = build_case(f, decode(bytes));
      const Status valid = validate(c);
      ASSERT_TRUE(valid) << f.name << " " << hex_of(bytes) << ": " << valid.error();
      const RowView rows = rows_of(c);
      const bool very_tall = rows.cols() == 1 && rows.rows() >= 65535 && rows.rows() <= 65537;
      if (very_tall) continue;
      for (const auto& [name, t] : c.inputs) ASSERT_LE(t ? t->size() : 0, kMaxElements) << f.name << " " << name << " " << hex_of(bytes);
    }
}

TEST(Recipe, BytesAndRecipesLoseNothing) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const Bytes bytes = any_bytes(seed);
    const Recipe r = decode(bytes);
    const Bytes shortest = encode(r);
    ASSERT_EQ(decode(shortest), r) << hex_of(bytes);
    ASSERT_EQ(encode(decode(shortest)), shortest);
    ASSERT_LE(shortest.size(), kMaxRecipeBytes);
    ASSERT_TRUE(shortest.empty() || shortest.back() != 0);
  }
}

TEST(Recipe, TheSameBytesAreTheSameCase) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Bytes bytes = any_bytes(seed);
    const Case a = build_case(family("rms_norm"), decode(bytes)), b = build_case(family("rms_norm"), decode(encode(decode(bytes))));
    ASSERT_EQ(digest(a), digest(b)) << hex_of(bytes);
  }
}

TEST(Recipe, EveryFieldCounts) {
  Recipe base;
  base.rows = 4;
  base.cols = 15;
  base.call = 7;
  base.edits = {{EditKind::kScale, kAllRows, 1}};
  const std::string of_base = digest(plain_case(base));
  const auto changed = [&](auto change) {
    Recipe r = base;
    change(r);
    return digest(plain_case(r)) != of_base;
  };
  EXPECT_TRUE(changed([](Recipe& r) { r.op = 1; }));
  EXPECT_TRUE(changed([](Recipe& r) { r.dtype = 1; }));
  EXPECT_TRUE(changed([](Recipe& r) { r.regime = 1; }));
  EXPECT_TRUE(changed([](Recipe& r) { r.cols = 14; }));
  EXPECT_TRUE(changed([](Recipe& r) { r.rows = 5; }));
  EXPECT_TRUE(changed([](Recipe& r) { r.call = 8; }));
  EXPECT_TRUE(changed([](Recipe& r) { r.draw = 1; }));
  EXPECT_TRUE(changed([](Recipe& r) { r.epsilon_form = 224; }));
  EXPECT_TRUE(changed([](Recipe& r) { r.edits.clear(); }));
}

TEST(Recipe, FormsOfWidthsAndRows) {
  const auto cols = [&](int form, int v) {
    Recipe r;
    r.cols = static_cast<std::uint16_t>(form << 8 | v);
    return rows_of(plain_case(r)).cols();
  };
  const auto rows = [&](int form, int v) {
    Recipe r;
    r.rows = static_cast<std::uint16_t>(form << 8 | v);
    return rows_of(plain_case(r)).rows();
  };
  std::set<std::int64_t> near_powers, tails, very_tall;
  for (int v = 0; v < 256; ++v) near_powers.insert(cols(220, v));
  for (int v = 0; v < 256; ++v) tails.insert(cols(254, v));
  for (int v = 0; v < 3; ++v) very_tall.insert(rows(255, v));
  for (std::int64_t power = 32; power < 4096; power *= 2)
    for (const std::int64_t beside : {-1, 0, 1}) EXPECT_TRUE(near_powers.contains(power + beside)) << power + beside;
  EXPECT_EQ(tails.size(), 16u);
  EXPECT_EQ(*tails.begin(), 1536);
  EXPECT_EQ(*tails.rbegin(), 1551);
  EXPECT_EQ(very_tall, (std::set<std::int64_t>{65535, 65536, 65537}));
  EXPECT_EQ(rows(232, 1), 31);
  EXPECT_EQ(cols(255, 9), 1);
}

TEST(Recipe, EditsDoWhatTheySay) {
  Recipe r;
  r.cols = 15;
  const auto row = [&](const Recipe& recipe) {
    const Case c = plain_case(recipe);
    return c.input("x")->values();
  };
  const auto before = row(r);
  ASSERT_EQ(before.size(), 16u);
  r.edits = {{EditKind::kScale, kAllRows, 3}};
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(row(r)[i], 8 * before[i]);
  r.edits = {{EditKind::kMean, 0, 4}};
  const auto [lo, hi] = std::minmax_element(before.begin(), before.end());
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(row(r)[i], before[i] + 16 * (*hi - *lo));
  r.edits = {{EditKind::kPlant, 0, 16 * 5 + 2}};
  EXPECT_TRUE(std::isnan(row(r)[5]));
  r.edits = {{EditKind::kConstant, kAllRows, 7}};
  EXPECT_EQ(row(r), std::vector<double>(16, before[7]));
  r.edits = {{EditKind::kNegate, kAllRows, 0}, {EditKind::kNegate, kAllRows, 0}};
  EXPECT_EQ(row(r), before);
}

TEST(Recipe, EpsilonBesideTheMeanSquare) {
  Recipe r;
  r.dtype = 1;
  r.cols = 12;
  r.epsilon_form = 240;
  for (const std::uint8_t v : {4, 7, 12, 132, 140}) {
    r.epsilon = v;
    const Case c = plain_case(r);
    double sum = 0;
    for (const double x : c.input("x")->values()) sum += x * x;
    const double n = static_cast<double>(c.input("x")->size()), due = std::ldexp(1, -(v % 24)), wanted = v < 128 ? 1 + due : 1 - due;
    // epsilon is rounded to float32, half an ulp; each of the two sums of n squares is off by less than 2 n roundings of double.
    const double allowed = wanted * (format_of(DType::kF32).unit_roundoff + 4 * n * format_of(DType::kF64).unit_roundoff);
    EXPECT_LE(std::fabs(c.epsilon() / (sum / n) - wanted), allowed) << int{v};
  }
}

TEST(Recipe, ParametersCanBeLeftOut) {
  Recipe r;
  r.cols = 3;
  int given = 0;
  for (std::uint16_t call = 0; call < 20; ++call) {
    r.call = call;
    r.absent = 0;
    given += plain_case(r).input("weight") != nullptr;
    r.absent = kNoWeight;
    EXPECT_EQ(plain_case(r).input("weight"), nullptr);
    r.absent = kNoBias;
    EXPECT_EQ(plain_case(r).input("bias"), nullptr);
  }
  EXPECT_GT(given, 0);
}

TEST(Family, EveryOpAndEveryPropertyHasOneDriver) {
  for (const OpInfo* op : all_ops()) {
    int count = 0;
    for (const Family& f : all_families()) count += static_cast<int>(std::count(f.ops.begin(), f.ops.end(), op->name));
    EXPECT_EQ(count, 1) << op->name;
  }
  for (const Property* p : all_properties()) {
    int count = 0;
    for (const Family& f : all_families()) count += static_cast<int>(std::count(f.properties.begin(), f.properties.end(), p));
    EXPECT_EQ(count, p->choose && (p->needs_kernel() || p->needs_no_kernel()) ? 1 : 0) << p->id;
  }
}

TEST(Family, PropertiesAreAskedOfSomeCases) {
  for (const Family& f : all_families()) {
    int asked = 0;
    for (std::uint64_t seed = 0; seed < 60; ++seed) asked += build_case(f, decode(random_bytes(seed))).property.has_value();
    EXPECT_EQ(asked > 0, !f.properties.empty()) << f.name;
  }
}

}  // namespace
}  // namespace normfuzz::fuzzing
