#include "harness/life_cycle/stored_entry.h"

#include <gtest/gtest.h>

#include "core/case_io.h"
#include "core/files.h"
#include "tests/harness/sample_campaign.h"
#include "tests/temporary_directory.h"

namespace normfuzz::testing {
namespace {

EntryStatus sample_status() {
  EntryStatus s;
  s.status = FindingStatus::kNew;
  s.verdict = Verdict::kBitwise;
  s.signature = {
      "framework", "layer_norm", DType::kBF16, "bit.determinism", FailureClass::kNondeterministic, {"columns", "mean \"offset\""}};
  s.versions = {"framework 1.2"};
  s.variants = {"default", "avx2"};
  s.isa = "avx2";
  s.version_range = ">=1.1";
  s.first_version = "framework 1.2";
  s.first_regime = "gaussian";
  s.first_seed = ~std::uint64_t{0};
  s.first_index = 3;
  return s;
}

void put_entry(const std::string& directory, const EntryStatus& status) {
  std::filesystem::create_directories(directory);
  ASSERT_TRUE(write_file_atomically(directory + "/status.json", write_entry_status(status)));
  ASSERT_TRUE(write_file_atomically(directory + "/README.md", "text\n"));
  ASSERT_TRUE(save_case(sample_case(3, DType::kBF16, "gaussian"), directory + "/case.json"));
}

TEST(EntryStatus, RoundTrip) {
  const EntryStatus s = sample_status();
  const auto read = parse_entry_status(write_entry_status(s), "status.json");
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->signature, s.signature);
  EXPECT_EQ(read->first_seed, s.first_seed);
  EXPECT_EQ(write_entry_status(*read), write_entry_status(s));
  EntryStatus plain = s;
  plain.isa = plain.version_range = "";
  const std::string text = write_entry_status(plain);
  EXPECT_NE(text.find("\"requires\": {\"isa\": null, \"version\": null}"), std::string::npos) << text;
  const auto again = parse_entry_status(text, "status.json");
  ASSERT_TRUE(again) << again.error();
  EXPECT_EQ(write_entry_status(*again), text);
}

TEST(EntryStatus, FaultsNameTheField) {
  const std::string whole = write_entry_status(sample_status());
  const std::vector<std::array<std::string, 3>> faults = {{"normfuzz.finding/1", "normfuzz.finding/9", "schema"},
                                                          {"\"status\": \"new\"", "\"status\": \"odd\"", "status"},
                                                          {"\"class\": \"nondeterministic\"", "\"class\": 1", "class"},
                                                          {"\"dtype\": \"bf16\"", "\"dtype\": \"f8\"", "dtype"},
                                                          {"\"signature\"", "\"signatur\"", "signature"},
                                                          {"\">=1.1\"", "\"1.1\"", "requires.version"},
                                                          {"\"target\": \"framework\"", "\"target\": \"\"", "target"},
                                                          {"}\n}\n", "}\n", "status.json"}};
  for (const auto& [from, to, naming] : faults) {
    std::string text = whole;
    ASSERT_NE(text.find(from), std::string::npos) << from;
    const auto read = parse_entry_status(text.replace(text.find(from), from.size(), to), "status.json");
    ASSERT_FALSE(read) << to;
    EXPECT_NE(read.error().find(naming), std::string::npos) << read.error();
  }
}

TEST(Adopt, MovesTheEntryAndMakesItKnown) {
  const TemporaryDirectory place;
  put_entry(place.file("out/bugzoo/slug"), sample_status());
  const auto adopted = adopt_entry(place.file("out/bugzoo/slug"), place.file("corpus/bugzoo"));
  ASSERT_TRUE(adopted) << adopted.error();
  EXPECT_EQ(adopted->directory, place.file("corpus/bugzoo/slug"));
  EXPECT_FALSE(std::filesystem::exists(place.file("out/bugzoo/slug")));
  const auto entries = read_entries(place.file("corpus/bugzoo"));
  ASSERT_TRUE(entries) << entries.error();
  ASSERT_EQ(entries->size(), 1U);
  EXPECT_EQ(entries->front().slug, "slug");
  EXPECT_EQ(entries->front().status.status, FindingStatus::kKnown);
  EXPECT_EQ(entries->front().status.first_version, "framework 1.2");
  EXPECT_TRUE(std::filesystem::exists(place.file("corpus/bugzoo/slug/README.md")));

  put_entry(place.file("out/bugzoo/slug"), sample_status());
  const auto twice = adopt_entry(place.file("out/bugzoo/slug"), place.file("corpus/bugzoo"));
  ASSERT_FALSE(twice);
  EXPECT_EQ(twice.error(), place.file("corpus/bugzoo/slug") + ": exists already, expected a finding that is not adopted yet");
  EXPECT_TRUE(std::filesystem::exists(place.file("out/bugzoo/slug")));
  EXPECT_FALSE(adopt_entry(place.file("out/bugzoo/other"), place.file("corpus/bugzoo")));
}

TEST(Entries, AHalfWrittenOneIsRefusedByName) {
  const TemporaryDirectory place;
  EXPECT_TRUE(read_entries(place.file("nowhere"))->empty());
  put_entry(place.file("bugzoo/a"), sample_status());
  put_entry(place.file("bugzoo/.b.part-1"), sample_status());
  EXPECT_EQ(read_entries(place.file("bugzoo"))->size(), 1U) << "hidden: being written";
  std::filesystem::remove(place.file("bugzoo/a/case.json"));
  const auto entries = read_entries(place.file("bugzoo"));
  ASSERT_FALSE(entries);
  EXPECT_NE(entries.error().find("bugzoo/a/case.json"), std::string::npos) << entries.error();
}

}  // namespace
}  // namespace normfuzz::testing
