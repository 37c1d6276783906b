#include "harness/life_cycle/version_range.h"

#include <gtest/gtest.h>

namespace normfuzz::testing {
namespace {

TEST(VersionIn, WhatFrameworksCallThemselves) {
  const auto of = [](std::string_view text) {
    const auto version = version_in(text);
    return version ? text_of(*version) : "none";
  };
  EXPECT_EQ(of("onnxruntime 1.32.0"), "1.32.0");
  EXPECT_EQ(of("oneDNN 3.13.1 (avx512_core, 2 threads)"), "3.13.1");
  EXPECT_EQ(of("2.15.0+cpu"), "2.15.0");
  EXPECT_EQ(of("1.33.0rc1"), "1.33.0");
  EXPECT_EQ(of("v0.9"), "0.9");
  EXPECT_EQ(of("kernels for avx2, 7"), "7");
  EXPECT_EQ(of("CUDA13 9.5.1"), "9.5.1");
  EXPECT_EQ(of("build 7 of 2.1"), "2.1");
  EXPECT_EQ(of("99999999999.1"), "none") << "no int";
  EXPECT_EQ(of("nightly"), "none");
  EXPECT_EQ(of(""), "none");
}

TEST(VersionRange, Contains) {
  const auto in = [](std::string_view range, std::string_view version) {
    const auto parsed = VersionRange::parse(range);
    EXPECT_TRUE(parsed) << range;
    return parsed && parsed->contains(version);
  };
  EXPECT_TRUE(in(">=2.15,<2.17", "torch 2.15.0"));
  EXPECT_TRUE(in(">=2.15,<2.17", "torch 2.16.9"));
  EXPECT_FALSE(in(">=2.15,<2.17", "torch 2.17"));
  EXPECT_FALSE(in(">=2.15,<2.17", "torch 2.9.1")) << "numbers, not texts";
  EXPECT_TRUE(in(" == 2.15 ", "2.15.0"));
  EXPECT_FALSE(in("==2.15", "2.15.1"));
  EXPECT_TRUE(in(">2.15", "2.15.1"));
  EXPECT_FALSE(in(">2.15", "2.15.0"));
  EXPECT_TRUE(in("<=2.15", "2.15"));
  EXPECT_FALSE(in("<=2.15", "2.15.1"));
  EXPECT_TRUE(in("*", "no version at all"));
  EXPECT_FALSE(in(">=0", "no version at all"));
}

TEST(VersionRange, RefusedByName) {
  for (const char* text : {"", ",", "2.15", ">>2", ">=", ">=2.15,", "=2", ">=2.x", ">=2.15.", "~=2.1", ">=2 .1"}) {
    const auto range = VersionRange::parse(text);
    ASSERT_FALSE(range) << text;
    EXPECT_EQ(range.error(), "is \"" + std::string(text) + "\", expected \"*\" or comparisons such as \">=2.15,<2.17\"");
  }
}

}  // namespace
}  // namespace normfuzz::testing
