#include "harness/selfcheck.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include "harness/attack/climb.h"
#include "harness/generate/stream.h"
#include "harness/seconds_since.h"
#include "oracles/ops/op.h"

namespace normfuzz {
namespace {

using Modifiers = std::vector<std::pair<std::string_view, std::string_view>>;

// "two_pass, affine=folded". The rungs and fields are ours: an error is a slip in this file.
AttackedContract modified(std::string_view rung, DType storage, const Modifiers& modifiers) {
  AttackedContract a{std::string(rung), *contract_named(rung, storage)};
  for (const auto& [field, value] : modifiers) {
    if (!apply_modifier(a.contract, field, value)) std::abort();
    ((a.name += ", ") += field) += '=';
    a.name += value;
  }
  return a;
}

bool selected(const std::vector<std::string>& only, std::string_view name) {
  return only.empty() || std::find(only.begin(), only.end(), name) != only.end();
}

struct Attack {
  SelfcheckRow row;
  Contract contract;
};

std::vector<Attack> planned_attacks(const SelfcheckOptions& options) {
  std::vector<Attack> attacks;
  for (const OpInfo* op : all_ops())
    for (const DType dtype : kAllDTypes) {
      if (another_view(*op)) continue;
      if (!selected(options.ops, op->name) || !selected(options.dtypes, name_of(dtype))) continue;
      for (const AttackedContract& a : attacked_contracts(op->name, dtype)) {
        if (!selected(options.contracts, a.name)) continue;
        SelfcheckRow row;
        row.op = std::string(op->name);
        row.dtype = dtype;
        row.contract = a.name;
        attacks.push_back({std::move(row), a.contract});
      }
    }
  return attacks;
}

class Selfcheck {
 public:
  explicit Selfcheck(const SelfcheckOptions& options) : options_(options), attacks_(planned_attacks(options)) {}

  std::vector<SelfcheckRow> run() {
    std::vector<std::thread> threads;
    for (int i = 1; i < options_.jobs && !attacks_.empty(); ++i) threads.emplace_back([this] { work(); });
    if (!attacks_.empty()) work();
    for (std::thread& t : threads) t.join();
    std::vector<SelfcheckRow> rows;
    for (Attack& a : attacks_) rows.push_back(std::move(a.row));
    return rows;
  }

 private:
  double elapsed() const { return seconds_since(start_); }
  bool finished(std::uint64_t round) const {
    if (options_.stop && options_.stop->load()) return true;
    return options_.climbs > 0 ? round >= static_cast<std::uint64_t>(options_.climbs) : elapsed() >= options_.seconds;
  }

  // Climbs in turn: the k-th goes to row k mod rows. Its stream depends on the row's name and on its round only.
  void work() {
    for (;;) {
      const std::uint64_t k = next_.fetch_add(1), round = k / attacks_.size();
      if (finished(round)) return;
      Attack& a = attacks_[k % attacks_.size()];
      const Stream stream = Stream(options_.seed).sub(a.row.op).sub(name_of(a.row.dtype)).sub(a.row.contract).sub(round);
      const Arena arena = kArenas[round % std::size(kArenas)];
      const ClimbResult result = climb(stream, {arena, a.row.op, a.row.dtype, a.contract, options_.bound_scale, options_.steps});
      const std::lock_guard lock(mutex_);
      record(a, result);
      report(a.row, result);
    }
  }

  // Of equal ratios the row with the smaller digest stays, so that the order of arrival does not matter.
  void record(Attack& a, const ClimbResult& result) const {
    SelfcheckRow& row = a.row;
    row.evaluations += result.evaluations;
    row.elements += result.elements;
    row.finite += result.finite;
    if (result.row.arena == Arena::kWide) row.tightness = std::max(row.tightness, result.score.ratio);
    if (result.score.ratio < std::max(row.worst_ratio, 0.0)) return;
    Case c = result.row.to_case();
    c.note = describe_attack(result.kernel, a.contract);
    if (result.score.ratio == row.worst_ratio && !row.kernel.empty() && digest(c) >= digest(row.worst_case)) return;
    row.worst_ratio = result.score.ratio;
    row.worst_element = result.score.element;
    row.kernel = c.note;
    row.worst_case = std::move(c);
  }

  void report(const SelfcheckRow& row, const ClimbResult& result) {
    progress_.evaluations += result.evaluations;
    progress_.seconds = elapsed();
    if (row.worst_ratio > progress_.worst_ratio) {
      progress_.worst_ratio = row.worst_ratio;
      progress_.worst_row = row.op + ' ' + std::string(name_of(row.dtype)) + ' ' + row.contract;
    }
    if (options_.progress) options_.progress(progress_);
  }

  const SelfcheckOptions& options_;
  std::vector<Attack> attacks_;
  const Clock::time_point start_ = Clock::now();
  std::atomic<std::uint64_t> next_{0};
  std::mutex mutex_;
  SelfcheckProgress progress_;
};

}  // namespace

bool another_view(const OpInfo& op) {
  // layer_norm_graph: two of its patterns are layer_norm, the others consist of balls that the norms attack.
  for (const std::string_view name : {"channel_", "group_norm", "instance_norm", "qk_norm", "layer_norm_graph"})
    if (op.name.starts_with(name)) return true;
  return false;
}

std::vector<AttackedContract> attacked_contracts(std::string_view op, DType storage) {
  std::vector<AttackedContract> list;
  const OpInfo& info = *find_op(op);
  if (info.shape == OutputShape::kUpdate) {
    for (const char* rung : {"f64_accumulate", "two_pass", "native_accumulate"}) list.push_back(modified(rung, storage, {}));
    return list;
  }
  if (!info.affine() || info.shape == OutputShape::kGradients) {
    // No robust kernels of these ops are in oracles/kernels.
    for (const char* rung : {"faithful", "f64_accumulate", "two_pass", "native_accumulate"}) list.push_back(modified(rung, storage, {}));
    list.push_back(modified("two_pass", storage, {{"ftz", "yes"}, {"daz", "yes"}}));
    if (info.formula == Formula::kAddRmsNorm) {
      list.push_back(modified("two_pass", storage, {{"residual", "any"}}));
      if (format_of(storage).bytes == 2) list.push_back(modified("two_pass", storage, {{"residual", "any"}, {"before_weight", "yes"}}));
    }
    if (info.shape == OutputShape::kGradients) list.push_back(modified("two_pass", storage, {{"backward", "folded"}}));
    if (info.shape == OutputShape::kGradients && info.centred()) {
      list.push_back(modified("two_pass", storage, {{"xhat_backward", "folded"}}));
      for (const char* rung : {"standard", "one_pass"}) list.push_back(modified(rung, storage, {}));
    }
    return list;
  }
  for (const std::string_view rung : contract_ladder()) list.push_back(modified(rung, storage, {}));
  list.push_back(modified("two_pass", storage, {{"ftz", "yes"}, {"daz", "yes"}}));
  if (format_of(storage).bytes == 2 && op != "batch_norm") list.push_back(modified("two_pass", storage, {{"before_weight", "yes"}}));
  if (op == "rms_norm") return list;
  for (const std::string_view algorithm : {"welford_sequential", "welford_tree", "welford_tree(3)", "one_pass", "one_pass_unclamped"})
    list.push_back(modified("standard", storage, {{"moments", algorithm}}));
  list.push_back(modified("two_pass", storage, {{"affine", "folded"}}));
  return list;
}

std::vector<SelfcheckRow> selfcheck(const SelfcheckOptions& options) { return Selfcheck(options).run(); }

}  // namespace normfuzz
