// Properties put to kernels in process. A correct kernel is the oracle itself, correctly rounded; a wrong one is that with a change.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "harness/generate/generator.h"
#include "oracles/oracle.h"
#include "oracles/theorems/property.h"

namespace normfuzz::testing {

using Kernel = std::function<NamedTensors(const Case&)>;

inline NamedTensors correct(const Case& c) {
  NamedTensors out = find_op(c.op)->output_layouts(c);
  const auto exact = exact_outputs(c);
  for (auto& [name, t] : out) {
    Tensor dense = exact->at(name);
    dense.strides = t.strides;  // as a worker hands them back: the layout is that of the call
    t = std::move(dense);
  }
  return out;
}

// Every claim there is, so that every law is judged.
inline Contract claiming_contract(DType d) {
  Contract c = *contract_named("standard", d);
  for (const Property* p : all_properties())
    if (!p->claim.empty()) c.claims[std::string(p->claim)] = true;
  return c;
}

inline PropertyResult run_property(const Property& p, const Case& base, const PropertyArgs& args, const Kernel& kernel) {
  std::vector<Case> cases = {base};
  if (p.derive)
    for (Case& c : p.derive(base, args)) cases.push_back(std::move(c));
  const Contract contract = claiming_contract(base.dtype());
  std::vector<NamedTensors> outputs;
  std::vector<std::unique_ptr<CaseBounds>> bounds;
  for (const Case& c : cases) {
    outputs.push_back(kernel(c));
    bounds.push_back(std::make_unique<CaseBounds>(c, contract));
  }
  std::vector<PropertyRun> runs;
  for (std::size_t i = 0; i < cases.size(); ++i) runs.push_back({&cases[i], &outputs[i], &contract, bounds[i].get()});
  return p.check(runs, args);
}

// What became of a property over generated cases of its regimes: tries, premises met, broken.
struct Count {
  int tried = 0, met = 0, broken = 0;
  std::string detail;
};

// Small cases: the property's regimes, all dtypes, all its ops in turn.
template <class Run>
Count over_cases(const Property& p, int tries, const Run& run) {
  std::vector<std::string_view> ops;
  for (const OpInfo* op : all_ops())
    if (p.applies_to(op->name)) ops.push_back(op->name);
  const std::vector<std::string_view> any = {""};
  const auto& regimes = p.regimes.empty() ? any : p.regimes;
  Count count;
  for (int i = 0; i < tries; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const DType d = kAllDTypes[at % 4];
    const std::string_view op = ops[at / 4 % ops.size()];
    const Case c = generate(20240501, op, d, at, {std::string(regimes[at / 4 / ops.size() % regimes.size()]), 48, false});
    ++count.tried;
    const auto args = p.choose(c, property_draw(20240501, op, d, at, p.id));
    if (!args || !p.meets(c, *args)) continue;
    const PropertyResult r = run(c, *args);
    if (r.state == PropertyResult::State::kVoid) continue;
    ++count.met;
    if (r.state != PropertyResult::State::kBroken) continue;
    if (count.broken++ == 0) count.detail = r.detail;
  }
  return count;
}

}  // namespace normfuzz::testing
