// The filter on outputs just outside the bound: it may never certify what MPFR refuses (DESIGN.md, 'One formula, several number types').
#include <gtest/gtest.h>

#include <cmath>

#include "harness/attack/row_candidate.h"
#include "harness/selfcheck.h"
#include "oracles/bound.h"
#include "oracles/filter.h"

namespace normfuzz {
namespace {

bool all_bounded(const std::vector<ElementBound>& bounds) {
  for (const ElementBound& b : bounds)
    if (b.expect != Expectation::kValue || b.limit != Limit::kNone || !std::isfinite(b.allowed) || !std::isfinite(b.error)) return false;
  return true;
}

struct Tally {
  std::int64_t outside = 0, inside = 0, inside_certified = 0;
};

// One element at its bound times 1 + 2^-k, the others exact. `inside`: at a half of the bound.
void attack(const RowCandidate& row, const Contract& contract, Stream& s, Tally& tally) {
  const CaseRows rows(row.to_case());
  const std::vector<ElementBound> bounds = slice_bounds(rows, 0, contract);
  if (!all_bounded(bounds)) return;
  std::vector<double> y;
  for (const ElementBound& b : bounds) y.push_back(b.head);
  const std::size_t i = s.below(y.size());
  const double direction = s.flip(1), excess = std::ldexp(1.0, -static_cast<int>(s.between(1, 45)));
  y[i] = bounds[i].head + direction * bounds[i].allowed / 2;
  ++tally.inside;
  tally.inside_certified += filter_row(rows, 0, y.data(), contract).certified;
  y[i] = bounds[i].head + direction * (bounds[i].allowed * (1 + excess) + 2 * bounds[i].error);
  if (certify(y[i], bounds[i], contract, row.storage) != ElementVerdict::kViolation) return;  // the excess is below one ulp of y
  ++tally.outside;
  EXPECT_FALSE(filter_row(rows, 0, y.data(), contract).certified)
      << row.op << ' ' << name_of(row.storage) << ' ' << contract.name << ", element " << i << " at " << 1 + excess << " times its bound "
      << bounds[i].allowed;
}

TEST(FilterAttack, NeverCertifiesBeyondTheBound) {
  constexpr int kRows = 300;
  Tally tally;
  for (const char* op : {"layer_norm", "rms_norm"})
    for (const DType storage : {DType::kF32, DType::kF16, DType::kBF16})
      for (const AttackedContract& a : attacked_contracts(op, storage)) {
        Stream s = Stream(5).sub(op).sub(name_of(storage)).sub(a.name);
        if (!filter_applies(CaseRows(random_candidate(s, Arena::kPlain, op, storage, a.contract).to_case()), a.contract)) continue;
        for (int k = 0; k < kRows; ++k) {
          RowCandidate row = random_candidate(s, kArenas[k % std::size(kArenas)], op, storage, a.contract);
          mutate(row, s);
          attack(row, a.contract, s, tally);
        }
      }
  EXPECT_GT(tally.outside, 1000);
  EXPECT_GT(tally.inside_certified, tally.inside / 2) << "a filter that certifies nothing would pass";
}

// The rows on which it once did: a variance as small as its own radius, and equal numbers far from zero.
TEST(FilterAttack, IllConditionedScales) {
  const std::vector<std::vector<double>> rows = {
      {0x1.a2512ep+18, 0x1.a2552ap+18, 0x1.a2512ap+18, 0x1.a2552ap+18, 0x1.a2512ap+18, 0x1.a2552p+18, 0x1.a2552ap+18, 0x1.a2512ap+18},
      {-0x1.c42558p+39, -0x1.c42558p+39}};
  Tally tally;
  for (const auto& x : rows)
    for (const double epsilon : {0x1p-18, 0x1.4f8b58p-17})
      for (const char* rung : {"two_pass", "standard", "robust"}) {
        RowCandidate row;
        row.op = "layer_norm";
        row.x = x;
        row.weight.assign(x.size(), 1);
        row.bias.assign(x.size(), 0);
        row.epsilon = epsilon;
        Stream s = Stream(1).sub(rung);
        for (int k = 0; k < 100; ++k) attack(row, *contract_named(rung, DType::kF32), s, tally);
      }
  EXPECT_GT(tally.outside, 100);
}

}  // namespace
}  // namespace normfuzz
