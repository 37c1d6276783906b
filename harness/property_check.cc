#include "harness/property_check.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "harness/generate/generator.h"
#include "oracles/ops/op.h"

namespace normfuzz {
namespace {

constexpr std::uint64_t kBatch = 256;        // cases per call of a worker: its descriptors
constexpr std::int64_t kTriesPerCheck = 20;  // a property whose premises are rarer gets fewer checks than asked for

// The kinds of case that a property is put to, one after another.
struct Source {
  std::string_view op, regime;
  DType dtype;
};
std::vector<Source> sources_of(const Property& p) {
  std::vector<Source> out;
  std::vector<std::string_view> ops;
  for (const OpInfo* op : all_ops())
    if (p.applies_to(op->name) && !(p.check_index && !ops.empty())) ops.push_back(op->name);  // an index needs no op
  const std::vector<std::string_view> any = {""};
  for (const std::string_view regime : p.regimes.empty() ? any : p.regimes)
    for (const DType d : kAllDTypes)
      for (const std::string_view op : ops) out.push_back({op, regime, d});
  return out;
}

// Tries number first .. first + kBatch - 1 of one property.
std::vector<Case> cases_of(const Property& p, const std::vector<Source>& sources, std::uint64_t first, const PropertyCheckOptions& o) {
  std::vector<Case> cases;
  for (std::uint64_t i = first; i < first + kBatch; ++i) {
    const Source& s = sources[i % sources.size()];
    Case c = generate(o.seed, s.op, s.dtype, i, {std::string(s.regime), o.max_elements, false});
    if (auto args = p.choose ? p.choose(c, property_draw(o.seed, s.op, s.dtype, i, p.id)) : std::nullopt)
      c.property = PropertyRef{std::string(p.id), std::move(*args)};
    cases.push_back(std::move(c));
  }
  return cases;
}

class Checker {
 public:
  Checker(const PropertyCheckOptions& options, const Property& p, const TargetChoice* target)
      : options_(options), property_(p), target_(target), sources_(sources_of(p)) {
    row_.id = p.id;
    row_.target = target ? target->label() : "oracle";
  }

  PropertyCheckRow run() {
    std::vector<std::thread> threads;
    for (int i = 0; i < std::max(1, options_.jobs) && !sources_.empty(); ++i) threads.emplace_back([this] { work(); });
    for (std::thread& t : threads) t.join();
    for (const auto& [batch, part] : parts_) {  // in order, up to the batch that completed the count
      if (row_.tally.met >= options_.checks) break;
      row_.tally.merge(part.tally);
      if (!row_.example && part.example) {
        row_.example = part.example;
        row_.detail = part.detail;
      }
    }
    return std::move(row_);
  }

 private:
  void work() {
    std::unique_ptr<Worker> worker;
    WorkerLimits limits;
    limits.log_path = options_.log_path;
    if (target_) worker = Worker::create(*target_, limits);
    for (;;) {
      std::uint64_t batch;
      {
        const std::lock_guard lock(mutex_);
        const auto tried = static_cast<std::int64_t>(next_ * kBatch);
        if (met_ >= options_.checks || tried >= kTriesPerCheck * options_.checks + static_cast<std::int64_t>(kBatch)) return;
        if (options_.stop && options_.stop->load()) return;
        batch = next_++;
      }
      PropertyCheckRow part = worker ? on_target(*worker, batch) : on_oracle(batch);
      const std::lock_guard lock(mutex_);
      met_ += part.tally.met;
      parts_.emplace(batch, std::move(part));
    }
  }

  void note(PropertyCheckRow& part, const Case& c, const PropertyNote& n) const {
    part.tally.merge({1, n.met, n.broken && n.judged, n.broken && !n.judged, {n.broken, ref_of(c)}});
    if (!n.broken || !n.judged || part.example) return;
    part.example = c;
    part.detail = n.detail;
  }

  PropertyCheckRow on_oracle(std::uint64_t batch) const {
    PropertyCheckRow part;
    for (const Case& c : cases_of(property_, sources_, batch * kBatch, options_)) {
      PropertyNote n{property_.id};
      if (c.property) {
        const PropertyResult r = check_without_kernel(property_, c, c.property->args);
        n.met = r.state != PropertyResult::State::kVoid;
        n.broken = r.state == PropertyResult::State::kBroken;
        n.detail = r.detail;
      }
      note(part, c, n);
    }
    return part;
  }

  PropertyCheckRow on_target(Worker& worker, std::uint64_t batch) const {
    PropertyCheckRow part;
    const std::vector<Case> cases = cases_of(property_, sources_, batch * kBatch, options_);
    const std::vector<Examination> results = examine(worker, target_->target, cases, {!property_.needs_kernel(), true, false});
    for (std::size_t i = 0; i < cases.size(); ++i) {
      if (results[i].outcome.kind != OutcomeKind::kOk) continue;
      PropertyNote n{property_.id};
      for (const PropertyNote& found : results[i].properties)
        if (found.id == property_.id) n = found;
      note(part, cases[i], n);
    }
    return part;
  }

  const PropertyCheckOptions& options_;
  const Property& property_;
  const TargetChoice* target_;
  const std::vector<Source> sources_;
  PropertyCheckRow row_;
  std::mutex mutex_;
  std::uint64_t next_ = 0;
  std::int64_t met_ = 0;
  std::map<std::uint64_t, PropertyCheckRow> parts_;
};

}  // namespace

std::vector<PropertyCheckRow> check_properties(const PropertyCheckOptions& options) {
  std::vector<PropertyCheckRow> rows;
  const auto& list = options.properties.empty() ? all_properties() : options.properties;
  for (const Property* p : list) {
    if (options.stop && options.stop->load()) break;
    if (options.progress) options.progress(std::string(p->id));
    if (p->needs_no_kernel()) rows.push_back(Checker(options, *p, nullptr).run());
    const bool executed = p->needs_kernel() || p->choose;  // by its own check, or elsewhere by the harness
    if (!executed || p->check_index) continue;
    if (p->kind == PropertyKind::kOracle) continue;
    for (const TargetChoice& t : options.targets) rows.push_back(Checker(options, *p, &t).run());
  }
  return rows;
}

}  // namespace normfuzz
