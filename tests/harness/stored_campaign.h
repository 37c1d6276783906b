// Campaigns of sample blocks on disk, and what is in them, for the tests of the store.
#pragma once

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/case_io.h"
#include "harness/store.h"
#include "tests/harness/sample_campaign.h"
#include "tests/temporary_directory.h"

namespace normfuzz::testing {

inline Store opened(const std::string& directory, const CampaignSettings& settings = sample_settings()) {
  auto store = Store::open(directory, settings);
  if (!store) throw std::runtime_error(store.error());
  return std::move(*store);
}

template <class T>
T value_of(Result<T> result) {
  if (!result) throw std::runtime_error(result.error());
  return std::move(*result);
}

inline void commit(Store& store, std::uint64_t block) {
  const auto status = store.commit_block(sample_block(block));
  ASSERT_TRUE(status) << status.error();
}

// Everything that a report is made of, as one comparable text.
inline std::string picture(const Store& store) {
  std::string out = write_tally(value_of(store.tally())) + "\nseconds " + std::to_string(value_of(store.seconds())) + "\nblocks";
  for (const std::uint64_t b : store.blocks()) out += " " + std::to_string(b);
  for (const Candidate& c : value_of(store.candidates()))
    out += "\n" + c.rough_signature() + " x" + std::to_string(c.occurrences) + " " + c.variant + " " + write_case(c.original);
  for (const Finding& f : value_of(store.findings()))
    out += "\n" + f.signature() + " x" + std::to_string(f.occurrences) + " first " + std::to_string(f.first_index);
  return out;
}

// The campaign over these blocks, uninterrupted and in order.
inline std::string reference(const std::set<std::uint64_t>& blocks, const CampaignSettings& settings = sample_settings()) {
  TemporaryDirectory directory;
  Store store = opened(directory.path(), settings);
  for (const std::uint64_t b : blocks) commit(store, b);
  return picture(store);
}

inline std::set<std::uint64_t> up_to(std::uint64_t n) {
  std::set<std::uint64_t> blocks;
  for (std::uint64_t b = 0; b < n; ++b) blocks.insert(b);
  return blocks;
}

}  // namespace normfuzz::testing
