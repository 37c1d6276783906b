#include "reports/changes.h"

#include <gtest/gtest.h>

#include "tests/reports/sample_report.h"

namespace normfuzz {
namespace {

std::vector<std::string> laws_of(const std::vector<const Finding*>& findings) {
  std::vector<std::string> out;
  for (const Finding* f : findings) out.push_back(f->law);
  return out;
}

using Laws = std::vector<std::string>;

TEST(Changes, NothingWithoutAPreviousCampaign) {
  const CampaignReport r = testing::sample_report();
  const Changes c = changes_of(r);
  EXPECT_TRUE(c.fresh.empty() && c.again.empty() && c.gone.empty() && c.unasked.empty());
  EXPECT_STREQ(baseline_state(r, r.findings[0]), "");
}

TEST(Changes, BySignatureNotByPlaceOrVersion) {
  CampaignReport r = testing::sample_report();
  Finding before = r.findings[0], gone = before, unasked = before, other_type = before;
  before.version = "0.0.9";
  before.first_seed = 99;
  before.first_index = 12345;
  gone.law = "two_pass";
  unasked.law = "another target's";
  unasked.target = "torch";
  other_type.law = "another type's";
  other_type.dtype = DType::kBF16;
  r.previous = PreviousCampaign{"before", 1, {before, gone, unasked, other_type}};
  const Changes c = changes_of(r);
  EXPECT_EQ(laws_of(c.fresh), Laws{"range"});
  EXPECT_EQ(laws_of(c.again), Laws{"standard"});
  EXPECT_EQ(laws_of(c.gone), Laws{"two_pass"});
  EXPECT_EQ(laws_of(c.unasked), (Laws{"another target's", "another type's"}));
  EXPECT_STREQ(baseline_state(r, r.findings[0]), "unchanged");
  EXPECT_STREQ(baseline_state(r, r.findings[1]), "new");
}

// A target that refused every case did not show that a finding is gone.
TEST(Changes, ARefusalIsNoAnswer) {
  CampaignReport r = testing::sample_report();
  Finding before = r.findings[0];
  before.target = "cpu";
  before.dtype = DType::kF16;  // cpu rejected f16
  r.previous = PreviousCampaign{"before", 1, {before}};
  EXPECT_EQ(changes_of(r).gone.size(), 0U);
  EXPECT_EQ(changes_of(r).unasked.size(), 1U);
  before.dtype = DType::kF32;
  r.previous = PreviousCampaign{"before", 1, {before}};
  EXPECT_EQ(changes_of(r).gone.size(), 1U);
}

}  // namespace
}  // namespace normfuzz
