// normfuzz targets: what can be run here, and why the rest cannot.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "cli/command.h"
#include "cli/table.h"
#include "cli/target_choice.h"
#include "harness/run/worker.h"
#include "reports/json.h"

namespace normfuzz {
namespace {

struct Options {
  bool json = false;
};

void add_once(std::vector<std::string>& list, std::string_view item) {
  if (std::find(list.begin(), list.end(), item) == list.end()) list.emplace_back(item);
}

// "two_pass", "standard, affine=folded"; several promises: each one once.
std::string contract_text(const Target& target) {
  std::vector<std::string> texts;
  for (const OpPromise& p : target.promises) {
    std::string text = p.contract;
    for (const auto& [field, value] : p.modifiers) text += ", " + field + "=" + value;
    add_once(texts, text);
  }
  return joined(texts, "; ");
}

// Asks a worker for the version; a target whose framework does not load is not available.
TargetListing listing_of(const Target& target) {
  TargetListing l{target.name, "", target.unavailable.empty(), target.unavailable, {}, {}, contract_text(target)};
  for (const OpPromise& p : target.promises) {
    add_once(l.ops, p.op);
    for (const DType d : p.dtypes) add_once(l.dtypes, name_of(d));
  }
  for (const Variant& v : target.variants)
    if (!v.name.empty()) l.variants.push_back(v.name);
  if (!l.available) return l;
  const Result<std::string> version = Worker::create({target, target.variants.front()}, {})->version();
  if (version) {
    l.version = *version;
  } else {
    l.available = false;
    l.reason = version.error();
  }
  return l;
}

void print_text(const std::vector<TargetListing>& listings) {
  std::vector<std::vector<std::string>> rows = {{"target", "dtypes", "contract", "version"}};  // the longest last: it is broken
  for (const TargetListing& l : listings)
    if (l.available) rows.push_back({l.name, joined(l.dtypes, " "), l.contract.substr(0, l.contract.find(';')), l.version});
  fmt::print("{}", table(rows));
  for (const TargetListing& l : listings)
    if (l.available) fmt::print("ops of {}: {}\n", l.name, wrapped(joined(l.ops), 9 + l.name.size()));
  for (const TargetListing& l : listings)
    if (!l.variants.empty()) fmt::print("variants of {}: {}\n", l.name, wrapped(joined(l.variants), 14 + l.name.size()));
  for (const TargetListing& l : listings)
    if (!l.available) fmt::print("not available: {}: {}\n", l.name, wrapped(l.reason, 17 + l.name.size()));
}

Result<ExitStatus> run(const Options& o) {
  const Result<std::vector<Target>> targets = built_targets();
  if (!targets) return Error{targets.error()};
  std::vector<TargetListing> listings;
  for (const Target& t : *targets) listings.push_back(listing_of(t));
  if (o.json)
    fmt::print("{}\n", targets_json(listings));
  else
    print_text(listings);
  return ExitStatus::kClean;
}

Action declare(OptionSet& options) {
  auto o = std::make_shared<Options>();
  options.flag("--json", o->json, "One JSON object, nothing else");
  return [o] { return run(*o); };
}

}  // namespace

extern const Command kTargets = {
    "targets",
    "List the targets: version, dtypes, contract, or why one is not available",
    "  normfuzz targets\n"
    "  normfuzz targets --json",
    declare,
};

}  // namespace normfuzz
