#include "harness/attack/row_candidate.h"

#include <gtest/gtest.h>

#include <cmath>

#include "oracles/ops/op.h"

namespace normfuzz {
namespace {

void expect_numbers_of(DType d, const std::vector<double>& values) {
  for (const double v : values) EXPECT_TRUE(std::isfinite(v) && representable(d, v)) << v;
}

// However long it is changed, a row stays a valid case of its arena.
TEST(RowCandidate, StaysAValidCase) {
  for (const Arena arena : kArenas)
    for (const DType storage : kAllDTypes)
      for (const char* op : {"layer_norm", "rms_norm"}) {
        Stream s = Stream(1).sub(op).sub(name_of(storage)).sub(static_cast<std::uint64_t>(arena));
        RowCandidate row = random_candidate(s, arena, op, storage, *contract_named("native_accumulate", storage));
        const std::int64_t n = row.size();
        for (int step = 0; step < 500; ++step) mutate(row, s);
        EXPECT_EQ(row.size(), n);
        expect_numbers_of(storage, row.x);
        expect_numbers_of(row.weight_dtype, row.weight);
        expect_numbers_of(row.weight_dtype, row.bias);
        if (arena == Arena::kPlain || arena == Arena::kWide) {
          EXPECT_EQ(row.bias, std::vector<double>(row.bias.size(), 0.0));
        }
        const Status valid = validate(row.to_case());
        EXPECT_TRUE(valid) << (valid ? "" : valid.error());
      }
}

}  // namespace
}  // namespace normfuzz
