#include "harness/audit/score.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "harness/examine.h"
#include "harness/generate/generator.h"
#include "harness/seconds_since.h"

namespace normfuzz {
namespace {

constexpr std::uint64_t kPropertyEvery = 4;                        // as a campaign's default
constexpr std::int64_t kPropertyElements = std::int64_t{1} << 18;  // likewise
constexpr std::int64_t kFirstBatch = 4, kLargestBatch = 64;        // most kernels die at once

struct Pair {
  std::string_view op;
  DType dtype;
};
std::vector<Pair> pairs_of(const AuditScope& scope) {
  std::vector<std::string_view> ops = scope.ops;
  if (ops.empty())
    for (const OpInfo* op : all_ops()) ops.push_back(op->name);
  std::vector<DType> dtypes = scope.dtypes;
  if (dtypes.empty()) dtypes.assign(std::begin(kAllDTypes), std::end(kAllDTypes));
  std::vector<Pair> pairs;
  for (const DType d : dtypes)
    for (const std::string_view op : ops) pairs.push_back({op, d});
  return pairs;
}

std::vector<const Case*> pointers(const std::vector<Case>& cases) {
  std::vector<const Case*> out;
  for (const Case& c : cases) out.push_back(&c);
  return out;
}

// Deals cases out over the pairs in turn, in batches that grow; run_batch(cases) gives for each why it gives the kernel away, or "".
template <class Make, class RunBatch>
AuditResult try_cases(const std::vector<Pair>& pairs, std::int64_t most, double seconds, const std::atomic<bool>* stop, Make make,
                      RunBatch run_batch) {
  AuditResult result;
  const auto start = Clock::now();
  std::int64_t batch = kFirstBatch;
  while (!pairs.empty() && !(stop && *stop) && (result.cases < most || seconds_since(start) < seconds)) {
    std::vector<Case> cases;
    const std::int64_t count = result.cases < most ? std::min(batch, most - result.cases) : batch;
    for (std::int64_t k = result.cases; k < result.cases + count; ++k) {
      const auto at = static_cast<std::size_t>(k);
      cases.push_back(make(pairs[at % pairs.size()], at / pairs.size()));
    }
    const std::vector<std::string> seen = run_batch(cases);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      ++result.cases;
      if (seen[i].empty()) continue;
      const Case& c = cases[i];
      result.how = fmt::format("{} {}: {}", c.op, name_of(c.dtype()), seen[i]);
      result.killed_at = result.cases;
      result.seconds = seconds_since(start);
      return result;
    }
    batch = std::min(2 * batch, kLargestBatch);
  }
  result.seconds = seconds_since(start);
  return result;
}

// Empty: the policy sees nothing.
std::string seen_by(const TestPolicy& policy, const Case& c, const Outcome& got, const Outcome& expected) {
  if (expected.kind != OutcomeKind::kOk) return "";
  if (got.kind == OutcomeKind::kCrashed || got.kind == OutcomeKind::kTimedOut) return std::string(name_of(got.kind));
  if (got.kind != OutcomeKind::kOk) return "";
  return rejection(policy, *policy.tolerance(c.op, c.dtype()), got.outputs, expected.outputs);
}

std::string seen_by_judge(const Examination& e) {
  if (!is_violation(e.judgement.verdict)) return "";
  return e.judgement.law.empty() ? std::string(name_of(e.judgement.verdict)) : e.judgement.law;
}

void ask_property(Case& c, std::uint64_t seed, std::uint64_t index) {
  if (index % kPropertyEvery != kPropertyEvery / 2 || c.inputs.front().second->size() > kPropertyElements) return;
  const Property* p = draw_kernel_property(c.op, property_draw(seed, c.op, c.dtype(), index, "property"));
  if (!p) return;
  if (auto args = p->choose(c, property_draw(seed, c.op, c.dtype(), index, p->id)))
    c.property = PropertyRef{std::string(p->id), std::move(*args)};
}

}  // namespace

AuditResult put_to_policy(const TestPolicy& policy, const AuditScope& scope, Worker& kernel, Worker& reference, Worker* control,
                          const AuditBudget& budget) {
  std::vector<Pair> pairs = pairs_of(scope);
  std::erase_if(pairs, [&](const Pair& p) { return policy.tolerance(p.op, p.dtype) == nullptr; });
  const auto make = [&](const Pair& p, std::uint64_t index) { return policy_case(policy, budget.seed, p.op, p.dtype, index); };
  const auto run_batch = [&](const std::vector<Case>& cases) {
    std::vector<Case> wide;
    for (const Case& c : cases) wide.push_back(in_type(c, c.dtype() == DType::kF64 ? DType::kF64 : policy.reference));
    kernel.submit(pointers(cases));
    const std::vector<Outcome> expected = reference.run(pointers(wide)), got = kernel.collect();
    std::vector<std::string> seen;
    for (std::size_t i = 0; i < cases.size(); ++i) {
      seen.push_back(seen_by(policy, cases[i], got[i], expected[i]));
      if (seen.back().empty() || !control) continue;
      const Case* const one = &cases[i];
      if (!seen_by(policy, cases[i], control->run(std::span(&one, 1)).front(), expected[i]).empty()) seen.back().clear();
    }
    return seen;
  };
  return try_cases(pairs, budget.cases, 0, budget.stop, make, run_batch);
}

AuditResult put_to_normfuzz(const AuditScope& scope, Worker& kernel, const Target& target, const AuditBudget& budget) {
  const auto make = [&](const Pair& p, std::uint64_t index) {
    Case c = generate(budget.seed, p.op, p.dtype, index);
    ask_property(c, budget.seed, index);
    return c;
  };
  const auto run_batch = [&](const std::vector<Case>& cases) {
    std::vector<std::string> seen;
    for (const Examination& e : examine(kernel, target, cases, {true, true, false})) seen.push_back(seen_by_judge(e));
    return seen;
  };
  return try_cases(pairs_of(scope), budget.cases, budget.seconds, budget.stop, make, run_batch);
}

}  // namespace normfuzz
