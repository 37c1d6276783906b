// (seed, op, dtype, index) -> the same bits: in any order, after anything, with any compiler. The digests below are pinned; a change that
// alters one raises kGeneratorVersion and pins anew (run with NORMFUZZ_PRINT_DIGESTS=1).
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <initializer_list>
#include <iostream>

#include "core/case_io.h"
#include "harness/generate/plan.h"

namespace normfuzz {
namespace {

// Chains the digests of `count` cases of each of the ops in every dtype.
std::string combined_digest(std::uint64_t seed, std::uint64_t count, std::initializer_list<std::string_view> ops) {
  std::uint64_t h = 0;
  for (const std::string_view op : ops)
    for (const DType dtype : kAllDTypes)
      for (std::uint64_t i = 0; i < count; ++i)
        for (const char ch : digest(generate(seed, op, dtype, i))) h = mix_bits(h ^ static_cast<unsigned char>(ch));
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[(h >> shift) & 15];
  return text;
}

struct Pinned {
  std::string_view op;
  DType dtype;
  std::array<std::string_view, 3> digests;  // of indices 0, 1, 2 under seed 1
};
constexpr Pinned kPinned[] = {
    {"layer_norm",
     DType::kF64,
     {"399e6326255fd7fee9ac54c7f61eed20", "56be10e167d57f156bed9c37b4039136", "8a69eca93c692ec52261826ce213263d"}},
    {"layer_norm",
     DType::kF32,
     {"ed01ea645fb4c5cad524231ae55d776e", "a89caf7f4291997f699b9b074864b93c", "3bbc96797dcee635097767d1f52a8e4a"}},
    {"layer_norm",
     DType::kF16,
     {"133c085c60fc2bcfab4151b267d680e5", "0159a82db183bff9e61b3e814edfe996", "47a9630c7ee6399ff49256c8d1ca0bbd"}},
    {"layer_norm",
     DType::kBF16,
     {"33b9b47db7d3679eb0d2b1b84ea723fc", "51ff73166db712f10987760227e6adaf", "07023819906b822195c82a9f1ed8f8fd"}},
    {"rms_norm", DType::kF64, {"4e2ec72e847ccd3775472bac761890e2", "3d41ba73bf013fd1c360eafde1b5fdb1", "3866ec70089a27964d417eb7e6a1aa1e"}},
    {"rms_norm", DType::kF32, {"2c58fea0dd0009a8780ea256b8d0a0e6", "c355aa6d20ad1aa738f99683bfa4bb6c", "ee0ad766eff84c4fb98926c87b5b65c3"}},
    {"rms_norm", DType::kF16, {"58fcbc076d1dd1f986d0dedb392937c0", "9d43518509b8d7c4a07748fb1c72df60", "381d93c696756db5347fa3f3ef65eb1a"}},
    {"rms_norm",
     DType::kBF16,
     {"91b9c5b55a5c449ac5a3bb12e9d0d96a", "bb9bec306530069b7f598cdd71dfaca8", "47312abb7aca64d76bfc90b5a523c448"}},
};
constexpr std::string_view kCombined = "d3be9d68ed09ae08";  // seed 1, 2 ops x 4 dtypes x 2,500 = 20,000 cases

TEST(Determinism, PinnedDigests) {
  if (std::getenv("NORMFUZZ_PRINT_DIGESTS")) {
    for (const Pinned& p : kPinned)
      for (std::uint64_t i = 0; i < p.digests.size(); ++i)
        std::cout << p.op << " " << name_of(p.dtype) << " " << i << " " << digest(generate(1, p.op, p.dtype, i)) << "\n";
    std::cout << "combined " << combined_digest(1, 2500, {"layer_norm", "rms_norm"}) << "\n";
    for (const OpPlan& plan : op_plans()) std::cout << "{\"" << plan.name << "\", \"" << combined_digest(1, 500, {plan.name}) << "\"},\n";
  }
  for (const Pinned& p : kPinned)
    for (std::uint64_t i = 0; i < p.digests.size(); ++i)
      EXPECT_EQ(digest(generate(1, p.op, p.dtype, i)), p.digests[i]) << p.op << " " << name_of(p.dtype) << " " << i;
}

TEST(Determinism, CombinedDigestOfTwentyThousandCases) {
  EXPECT_EQ(combined_digest(1, 2500, {"layer_norm", "rms_norm"}), kCombined);
  EXPECT_NE(combined_digest(1, 20, {"layer_norm"}), combined_digest(2, 20, {"layer_norm"}));
}

// 500 cases of every dtype, seed 1.
constexpr std::pair<std::string_view, std::string_view> kPinnedOps[] = {
    {"layer_norm", "bd97bdb9f7417f9e"},
    {"rms_norm", "698c33f49e6abb15"},
    {"channel_layer_norm", "166826e0c92edc3b"},
    {"lp_norm", "97c51c8babec777a"},
    {"rms", "4a47307adc1538c3"},
    {"distance", "3097aca929e697ed"},
    {"cosine", "bbc81acb1aa5d121"},
    {"lp_normalize", "b753f57a079b9a8a"},
    {"layer_norm_backward", "798280ecbddf7e69"},
    {"rms_norm_backward", "e41dfa18fef1c022"},
    {"channel_layer_norm_backward", "04816afbc866aa3e"},
    {"layer_norm_sgd", "08951530432e42d7"},
    {"rms_norm_sgd", "8cabb1313820492d"},
    {"channel_layer_norm_sgd", "f6f3a8277e620334"},
    {"group_norm", "e111db1684ab1dfe"},
    {"instance_norm", "55d853aba00e22d3"},
    {"batch_norm", "93f1c8bd49f3c964"},
    {"add_rms_norm", "3bf7bb2d007c9da6"},
    {"qk_norm", "890174e415a81566"},
    {"group_norm_backward", "ec2e771fcff1b0f9"},
    {"instance_norm_backward", "a866d34b1ded46b4"},
    {"batch_norm_backward", "3848a072689dd094"},
    {"layer_norm_graph", "4bbf7ab74a57701b"},
};

TEST(Determinism, PinnedDigestsOfEveryOp) {
  ASSERT_EQ(std::size(kPinnedOps), op_plans().size());
  for (std::size_t i = 0; i < op_plans().size(); ++i) {
    EXPECT_EQ(op_plans()[i].name, kPinnedOps[i].first);
    EXPECT_EQ(combined_digest(1, 500, {op_plans()[i].name}), kPinnedOps[i].second) << op_plans()[i].name;
  }
}

TEST(Determinism, OrderAndCompanyDoNotMatter) {
  std::vector<std::string> forward, backward;
  for (std::uint64_t i = 0; i < 300; ++i) forward.push_back(digest(generate(9, "layer_norm", DType::kF16, i)));
  for (std::uint64_t i = 300; i-- > 0;) {
    generate(9, "rms_norm", DType::kF64, i);
    backward.insert(backward.begin(), digest(generate(9, "layer_norm", DType::kF16, i)));
  }
  EXPECT_EQ(forward, backward);
}

TEST(Determinism, CasesDiffer) {
  std::map<std::string, int> digests;
  for (const OpPlan& plan : op_plans())
    for (const DType dtype : kAllDTypes)
      for (std::uint64_t seed = 0; seed < 2; ++seed)
        for (std::uint64_t i = 0; i < 1000; ++i) ++digests[digest(generate(seed, plan.name, dtype, i))];
  // Single zeros, ones and the like may coincide; almost everything else is new.
  EXPECT_GT(digests.size(), op_plans().size() * 4 * 2 * 1000 * 99 / 100);
}

TEST(Determinism, RegimeAskedForByNameIsTheOneDrawn) {
  for (std::uint64_t i = 0; i < 500; ++i) {
    const Case drawn = generate(3, "rms_norm", DType::kBF16, i);
    EXPECT_EQ(digest(generate(3, "rms_norm", DType::kBF16, i, {.regime = drawn.provenance->regime})), digest(drawn)) << i;
  }
}

TEST(Determinism, CasesSurviveTheirFileAndSayWhereTheyComeFrom) {
  for (const OpPlan& plan : op_plans())
    for (const DType dtype : kAllDTypes)
      for (std::uint64_t i = 0; i < 100; ++i) {
        const Case c = generate(5, plan.name, dtype, i, {.max_elements = 200});
        EXPECT_EQ(c.provenance, (Provenance{kGeneratorVersion, 5, i, c.provenance->regime}));
        const auto again = parse_case(write_case(c), "generated");
        ASSERT_TRUE(static_cast<bool>(again)) << again.error();
        EXPECT_EQ(digest(*again), digest(c));
      }
}

}  // namespace
}  // namespace normfuzz
