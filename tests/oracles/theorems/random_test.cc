// RapidCheck draws which property, op, dtype, regime and case; the cases themselves are our generator's, because RapidCheck's own floats
// are never special and shrink poorly. On the oracle, on a correctly rounded kernel, and on float and double kernels summed from left to
// right.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "oracles/kernels/kernel.h"
#include "tests/generators.h"
#include "tests/oracles/theorems/run_property.h"

namespace normfuzz {
namespace {

using namespace testing;

// The in-tree kernels' arithmetic: two passes, no FMA, in f32 (f64 for f64).
NamedTensors machine(const Case& c) {
  NamedTensors out = find_op(c.op)->output_layouts(c);
  const CaseRows rows(c);
  for (std::int64_t s = 0; s < rows.slices(); ++s) {
    const std::vector<double> values = run_kernel(KernelOptions{}, rows, s, c.dtype() == DType::kF64 ? DType::kF64 : DType::kF32);
    for (std::int64_t i = 0; i < rows.slice_size(s); ++i) {
      const OutputElement e = rows.element(s, i);
      out[static_cast<std::size_t>(e.output)].second.set_value(e.index, values[static_cast<std::size_t>(i)]);
    }
  }
  return out;
}

struct Drawn {
  const Property* property;
  Case c;
  std::optional<PropertyArgs> args;
};

Drawn draw_case() {
  const Property* p = *rc::gen::elementOf(all_properties());
  std::vector<std::string_view> ops;
  for (const OpInfo* op : all_ops())
    if (p->applies_to(op->name)) ops.push_back(op->name);
  std::vector<std::string_view> regimes = p->regimes;
  if (regimes.empty()) regimes.push_back("");
  const std::string_view op = *rc::gen::elementOf(ops);
  const DType d = *any_dtype();
  const auto index = *rc::gen::inRange<std::uint64_t>(0, 1 << 20);
  Case c = generate(20240501, op, d, index, {std::string(*rc::gen::elementOf(regimes)), 48, false});
  auto args = p->choose ? p->choose(c, property_draw(20240501, op, d, index, p->id)) : std::nullopt;
  return {p, std::move(c), std::move(args)};
}

constexpr int kCasesPerDraw = 20;  // RapidCheck makes a hundred draws

TEST(RandomProperties, HoldOnTheOracle) {
  int checked = 0;
  ASSERT_TRUE(rc::check("a property of the oracle or of indices is not broken", [&] {
    for (int k = 0; k < kCasesPerDraw; ++k) {
      const Drawn d = draw_case();
      if (!d.args || !d.property->needs_no_kernel()) continue;
      const PropertyResult r = check_without_kernel(*d.property, d.c, *d.args);
      ++checked;
      RC_LOG() << d.property->id << ": " << r.detail;
      RC_ASSERT(r.state != PropertyResult::State::kBroken);
    }
  }));
  EXPECT_GT(checked, 200);
}

TEST(RandomProperties, HoldOnKernels) {
  int checked = 0;
  ASSERT_TRUE(rc::check("a correct kernel breaks no property", [&] {
    for (int k = 0; k < kCasesPerDraw; ++k) {
      const Drawn d = draw_case();
      if (!d.args || !d.property->check) continue;
      for (const Kernel& kernel : {Kernel(correct), Kernel(machine)}) {
        const PropertyResult r = run_property(*d.property, d.c, *d.args, kernel);
        ++checked;
        // A sum from left to right does not keep a constant row exactly; no in-tree kernel claims that.
        const bool unclaimed = d.property->id == "ln.constant_row" && r.kind == PropertyKind::kExact;
        RC_LOG() << d.property->id << ": " << r.detail;
        RC_ASSERT(r.state != PropertyResult::State::kBroken || unclaimed);
      }
    }
  }));
  EXPECT_GT(checked, 400);
}

// The same draws on a kernel that forgets its last number: they are broken.
TEST(RandomProperties, AreBrokenByAWrongKernel) {
  int broken = 0;
  rc::check("", [&] {
    const Drawn d = draw_case();
    if (!d.args || !d.property->check) return;
    const Kernel wrong = [](const Case& c) {
      NamedTensors out = correct(c);
      Tensor& y = out[0].second;
      if (y.size() > 0) y.set_value(y.size() - 1, 3);
      return out;
    };
    broken += run_property(*d.property, d.c, *d.args, wrong).state == PropertyResult::State::kBroken;
  });
  EXPECT_GT(broken, 10);
}

}  // namespace
}  // namespace normfuzz
