// However often a campaign is continued, its findings count every occurrence once.
#include "harness/conclude.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "harness/campaign.h"
#include "tests/harness/stored_campaign.h"

namespace normfuzz::testing {
namespace {

// conclude() without a target: what it does for candidates that earlier runs shrank.
void conclude_again(Store& store) {
  CampaignOptions options;
  ASSERT_TRUE(conclude(store, options, {}, [](const Finding&) { return Unit{}; }));
}

std::int64_t occurrences_of(const std::vector<Finding>& findings) {
  std::int64_t sum = 0;
  for (const Finding& f : findings) sum += f.occurrences;
  return sum;
}

TEST(Conclude, AFindingCountsBlocksThatComeLaterOnce) {
  TemporaryDirectory directory;
  Store store = opened(directory.path());
  for (const std::uint64_t block : {0, 1, 2}) commit(store, block);
  for (const Candidate& c : value_of(store.candidates())) ASSERT_TRUE(store.put_finding(sample_finding(c)));
  const std::int64_t before = occurrences_of(value_of(store.findings()));
  for (std::uint64_t block = 3; block < 20; ++block) commit(store, block);
  std::map<std::string, std::int64_t> counted;
  for (const Candidate& c : value_of(store.candidates())) counted[c.rough_signature()] = c.occurrences;
  for (int run = 0; run < 2; ++run) {
    conclude_again(store);
    for (const Finding& f : value_of(store.findings())) EXPECT_EQ(f.occurrences, counted[f.rough_signature()]) << f.signature();
    EXPECT_GT(occurrences_of(value_of(store.findings())), before);
  }
}

TEST(Conclude, AFindingMakesRoomForThatOfASmallerCase) {
  TemporaryDirectory directory;
  Store store = opened(directory.path());
  for (const std::uint64_t block : {7, 8, 9}) commit(store, block);
  for (const Candidate& c : value_of(store.candidates())) {
    Finding f = sample_finding(c);
    f.needs = {"rows"};
    ASSERT_TRUE(store.put_finding(f));
  }
  for (const std::uint64_t block : {0, 1, 2}) commit(store, block);  // a gap that the run before left
  std::int64_t all = 0;
  for (const Candidate& c : value_of(store.candidates())) {
    ASSERT_TRUE(store.put_finding(sample_finding(c)));
    all += c.occurrences;
  }
  ASSERT_GT(value_of(store.findings()).size(), value_of(store.candidates()).size());
  conclude_again(store);
  EXPECT_EQ(value_of(store.findings()).size(), value_of(store.candidates()).size());
  EXPECT_EQ(occurrences_of(value_of(store.findings())), all);
  for (const Finding& f : value_of(store.findings())) EXPECT_EQ(f.needs, sample_finding(value_of(store.candidates())[0]).needs);
}

}  // namespace
}  // namespace normfuzz::testing
