// corpus/bugzoo lives: every entry diverges on the version that is installed, or says here that it no longer does.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <ostream>

#include "harness/life_cycle/entry_runner.h"
#include "harness/life_cycle/waiver.h"
#include "harness/run/paths.h"

namespace normfuzz {
static void PrintTo(const StoredEntry& entry, std::ostream* out) { *out << entry.slug; }
}  // namespace normfuzz

namespace normfuzz::testing {
namespace {

const std::string kBugZoo = NORMFUZZ_SOURCE_DIR "/corpus/bugzoo";

std::vector<StoredEntry> adopted() {
  const auto entries = read_entries(kBugZoo);
  EXPECT_TRUE(entries) << entries.error();
  return entries ? *entries : std::vector<StoredEntry>{};
}

class AdoptedEntry : public ::testing::TestWithParam<StoredEntry> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(AdoptedEntry);

TEST_P(AdoptedEntry, StillReproduces) {
  const StoredEntry& entry = GetParam();
  const std::string& name = entry.status.signature.target;
  const auto targets = load_targets(worker_directory() + "/targets");
  ASSERT_TRUE(targets) << targets.error();
  const auto target = std::find_if(targets->begin(), targets->end(), [&](const Target& t) { return t.name == name; });
  ASSERT_NE(target, targets->end()) << "no target " << name;
  if (!target->unavailable.empty()) GTEST_SKIP() << name << ": " << target->unavailable;
  EntryRunner runner({TargetChoice(*target, target->variants.front())}, {});
  const EntryRun run = runner.run(entry);
  if (run.state == EntryRun::State::kNotApplicable) GTEST_SKIP() << run.detail;
  const bool recorded_as_fixed = entry.status.status == FindingStatus::kFixed;
  EXPECT_EQ(run.state == EntryRun::State::kShows, !recorded_as_fixed)
      << entry.slug << (recorded_as_fixed ? " is back on " : " no longer reproduces on ") << run.version
      << (recorded_as_fixed ? "" : ": end the range of its waiver and set its status.json to fixed");
  EXPECT_EQ(run.detail, "") << entry.slug;
}

INSTANTIATE_TEST_SUITE_P(BugZoo, AdoptedEntry, ::testing::ValuesIn(adopted()), [](const auto& info) {
  std::string name = info.param.slug;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return name;
});

// The waivers of the repository: each can be read, and every entry it names is there and covered by it.
TEST(KnownFindings, NameEntriesThatExist) {
  const std::vector<StoredEntry> entries = adopted();
  std::vector<std::string> covered;
  for (const auto& folder : std::filesystem::directory_iterator(NORMFUZZ_SOURCE_DIR "/targets")) {
    const auto waivers = read_waivers((folder.path() / "known.toml").string());
    ASSERT_TRUE(waivers) << waivers.error();
    for (const Waiver& w : *waivers) {
      std::int64_t of_this = 0;
      for (const StoredEntry& e : entries)
        if (e.status.signature.target == folder.path().filename() && w.names(e.status.signature)) {
          covered.push_back(e.slug);
          ++of_this;
        }
      EXPECT_LE(of_this, w.count) << w.where;
      if (!w.entry.empty()) {
        EXPECT_NE(std::find(covered.begin(), covered.end(), w.entry), covered.end())
            << w.where << ": entry " << w.entry << " is not covered";
      }
    }
  }
  for (const StoredEntry& e : entries)
    if (e.status.status == FindingStatus::kKnown && e.status.verdict != Verdict::kRangeLimit) {
      EXPECT_NE(std::find(covered.begin(), covered.end(), e.slug), covered.end()) << e.slug << " is known and no waiver names it";
    }
}

}  // namespace
}  // namespace normfuzz::testing
