#include "harness/run/manifest.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "harness/run/paths.h"
#include "harness/run/table_reader.h"

namespace normfuzz {
namespace {

namespace fs = std::filesystem;

// PROTOCOLS.md, 'Ops'; each also as NAME_backward and NAME_sgd. A manifest may promise an op that this program cannot judge yet.
constexpr std::array<std::string_view, 14> kOps = {
    "layer_norm",   "rms_norm",   "channel_layer_norm", "lp_norm",    "rms",          "distance", "cosine",
    "lp_normalize", "group_norm", "instance_norm",      "batch_norm", "add_rms_norm", "qk_norm",  "layer_norm_graph"};
// ERROR_MODEL.md, 'Contract fields', claims; batch_invariance is row_independence for rows run together or alone (DESIGN.md, 'Verdicts').
constexpr std::array<std::string_view, 10> kClaims = {"determinism",   "row_independence",   "batch_invariance", "power_of_two_scale",
                                                      "sign_symmetry", "exact_constant_row", "layout",           "alignment",
                                                      "thread_count",  "identity_parameters"};

bool known_op(std::string_view name) {
  for (const std::string_view suffix : {"_backward", "_sgd"})
    if (name.ends_with(suffix)) name.remove_suffix(suffix.size());
  return contains(kOps, name);
}

Variant read_variant(TableReader& t) {
  Variant v;
  v.name = t.text("name", true);
  if (v.name == "default") v.name.clear();
  if (v.name.find_first_of(":,* ") != std::string::npos) t.fail("name", "expected a word without ':', ',', '*' and blanks");
  v.env = t.values("env");
  v.requires_cpu = t.text("requires");
  v.modifiers = t.values("modifiers");
  v.rare = t.flag("rare");
  t.finish();
  return v;
}

ZeroDenominator read_zero_denominator(TableReader& t) {
  const std::string text = t.text("zero_denominator");
  if (text == "zero") return ZeroDenominator::kZero;
  if (text == "nan") return ZeroDenominator::kNan;
  if (!text.empty() && text != "any") t.fail("zero_denominator", "is \"" + text + "\", expected zero, nan or any");
  return ZeroDenominator::kAny;
}

// The contract with everything that the promise changes in it; the error names the field.
Result<Contract> contract_of(const OpPromise& promise, DType dtype) {
  Result<Contract> contract = contract_named(promise.contract, dtype);
  if (!contract) return contract;
  for (const auto& [field, value] : promise.modifiers)
    if (const Status applied = apply_modifier(*contract, field, value); !applied) return Error{applied.error()};
  contract->zero_denominator = promise.zero_denominator;
  contract->claims.clear();
  for (const std::string& law : promise.claims) contract->claims[law] = true;
  return contract;
}

OpPromise read_promise(TableReader& t) {
  OpPromise p;
  p.op = t.text("name", true);
  if (!p.op.empty() && !known_op(p.op))
    t.fail("name", "is \"" + p.op + "\", expected one of " + joined(kOps) + ", also with _backward or _sgd");
  for (const std::string& name : t.texts("dtypes", true).value_or(std::vector<std::string>{})) {
    if (const auto dtype = dtype_from_name(name))
      p.dtypes.push_back(*dtype);
    else
      t.fail("dtypes", "holds \"" + name + "\", expected f64, f32, f16 or bf16");
  }
  if (const std::string contract = t.text("contract"); !contract.empty()) p.contract = contract;
  p.modifiers = t.values("modifiers");
  p.semantics = t.text("semantics");
  p.source = t.text("source");
  if (const auto claims = t.texts("claims")) p.claims = *claims;
  for (const std::string& claim : p.claims)
    if (!contains(kClaims, claim)) t.fail("claims", "holds \"" + claim + "\", expected some of " + joined(kClaims));
  p.zero_denominator = read_zero_denominator(t);
  t.finish();
  for (const DType dtype : p.dtypes)
    if (const auto contract = contract_of(p, dtype); !contract) t.fail("contract", contract.error());
  return p;
}

void read_head(TableReader& t, Target& target) {
  target.name = t.text("name", true);
  if (target.name.find_first_of(":,*/ ") != std::string::npos) t.fail("name", "expected a word without ':', ',', '*', '/' and blanks");
  const std::string kind = t.text("kind", true);
  if (kind == "python")
    target.kind = TargetKind::kPython;
  else if (!kind.empty() && kind != "native")
    t.fail("kind", "is \"" + kind + "\", expected native or python");
  target.description = t.text("description");
  target.source = t.text("source");
  for (const auto& [resource, text] : t.values("resources")) {
    const double amount = std::strtod(text.c_str(), nullptr);
    if (!(amount > 0)) t.fail("resources." + resource, "is " + text + ", expected a number above 0");
    target.resources[resource] = amount;
  }
  t.finish();
}

void check_unique(const Target& target, std::string& error) {
  std::set<std::string> seen;
  for (const Variant& v : target.variants)
    if (!seen.insert(v.name).second && error.empty()) error = "variant: two with the name \"" + v.name + "\"";
  std::set<std::pair<std::string, DType>> promised;
  for (const OpPromise& p : target.promises)
    for (const DType d : p.dtypes)
      if (!promised.insert({p.op, d}).second && error.empty()) error = fmt::format("op: {} is promised twice for {}", p.op, name_of(d));
}

void check_variant_contracts(const Target& target, std::string& error) {
  for (const Variant& v : target.variants) {
    const TargetChoice choice(target, v);
    for (const OpPromise& p : choice.target.promises)
      for (const DType d : p.dtypes)
        if (const auto contract = contract_of(p, d); !contract && error.empty())
          error = fmt::format("variant {}: {}", v.name, contract.error());
  }
}

Target read_root(const toml::table& root, std::string& error) {
  Target target;
  const toml::table* head = root["target"].as_table();
  if (head == nullptr) {
    error = "target: missing, expected a table [target]";
    return target;
  }
  for (const auto& [key, value] : root)
    if (key != "target" && key != "variant" && key != "op")
      error = std::string(key.str()) + ": unknown, expected [target], [[variant]] or [[op]]";
  TableReader reader(*head, "target", error);
  read_head(reader, target);
  each_table(root, "variant", error, [&](const toml::table& table, const std::string& where) {
    TableReader variant(table, where, error);
    target.variants.push_back(read_variant(variant));
  });
  each_table(root, "op", error, [&](const toml::table& table, const std::string& where) {
    TableReader op(table, where, error);
    target.promises.push_back(read_promise(op));
  });
  check_unique(target, error);
  check_variant_contracts(target, error);
  const auto unnamed = std::find_if(target.variants.begin(), target.variants.end(), [](const Variant& v) { return v.name.empty(); });
  if (unnamed == target.variants.end())
    target.variants.insert(target.variants.begin(), Variant{});
  else
    std::rotate(target.variants.begin(), unnamed, unnamed + 1);
  return target;
}

Result<Target> read_manifest(const fs::path& path) {
  std::string error;
  try {
    Target target = read_root(toml::parse_file(path.string()), error);
    if (error.empty()) return target;
  } catch (const toml::parse_error& e) {
    error = fmt::format("line {}: {}", e.source().begin.line, std::string(e.description()));
  }
  return Error{path.string() + ": " + error};
}

std::string first_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// One folder of build/targets. A fault in it makes this target unavailable, and no other.
Target load_folder(const fs::path& folder) {
  const std::string name = folder.filename().string();
  auto read = read_manifest(folder / "manifest.toml");
  if (!read) {
    Target broken;
    broken.name = name;
    broken.variants.emplace_back();
    broken.unavailable = read.error();
    return broken;
  }
  Target target = std::move(*read);
  const bool python = target.kind == TargetKind::kPython;
  const fs::path module = folder / (python ? "target.py" : name + ".so");
  target.module_path = module.string();
  if (python) target.python = first_line(folder / "python.txt");
  if (python && target.python.empty()) target.python = default_python();
  const std::string own_name = std::exchange(target.name, name);
  if (own_name != name)
    target.unavailable =
        fmt::format("{}: target.name: is \"{}\", expected the folder's name", (folder / "manifest.toml").string(), own_name);
  else if (fs::exists(folder / "unavailable.txt"))
    target.unavailable = first_line(folder / "unavailable.txt");
  else if (!fs::exists(module))
    target.unavailable = module.string() + ": missing, build it first";
  else if (python && target.python.find('/') != std::string::npos && !fs::exists(target.python))
    target.unavailable = target.python + ": missing, the interpreter of this target";
  return target;
}

Result<std::vector<TargetChoice>> choose_one(const std::vector<Target>& known, const std::string& item) {
  const std::size_t colon = item.find(':');
  const std::string name = item.substr(0, colon), variant = colon == std::string::npos ? "default" : item.substr(colon + 1);
  const auto target = std::find_if(known.begin(), known.end(), [&](const Target& t) { return t.name == name; });
  if (target == known.end()) {
    std::vector<std::string> names;
    for (const Target& t : known) names.push_back(t.name);
    return Error{fmt::format("target '{}': unknown, expected one of {} (or a file by --target)", name, joined(names))};
  }
  if (!target->unavailable.empty()) return Error{fmt::format("target '{}': not available: {}", name, target->unavailable)};
  std::vector<TargetChoice> result;
  std::vector<std::string> names;
  for (const Variant& v : target->variants) {
    names.push_back(v.name.empty() ? "default" : v.name);
    if (variant == "*" ? processor_has(v.requires_cpu) : variant == names.back()) result.push_back({*target, v});
  }
  if (result.empty()) return Error{fmt::format("target '{}': no variant '{}', expected * or one of {}", name, variant, joined(names))};
  if (!processor_has(result[0].variant.requires_cpu))
    return Error{fmt::format("target '{}': this processor has no {}", item, result[0].variant.requires_cpu)};
  return result;
}

}  // namespace

bool processor_has(const std::string& flag) {
  static const std::set<std::string> flags = [] {
    std::set<std::string> result;
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
      if (!line.starts_with("flags") && !line.starts_with("Features")) continue;
      std::istringstream words(line.substr(line.find(':') + 1));
      for (std::string word; words >> word;) result.insert(word);
      break;
    }
    return result;
  }();
  return flag.empty() || flags.contains(flag);
}

TargetChoice::TargetChoice(Target all, Variant one) : target(std::move(all)), variant(std::move(one)) {
  for (OpPromise& promise : target.promises)
    for (const auto& [field, value] : variant.modifiers) promise.modifiers[field] = value;
}

const OpPromise* Target::promise(std::string_view op, DType dtype) const {
  for (const OpPromise& p : promises)
    if (p.op == op && std::find(p.dtypes.begin(), p.dtypes.end(), dtype) != p.dtypes.end()) return &p;
  return nullptr;
}

Result<Contract> Target::contract(std::string_view op, DType dtype) const {
  const OpPromise* p = promise(op, dtype);
  return p ? contract_of(*p, dtype) : contract_named("standard", dtype);
}

Result<std::vector<Target>> load_targets(const std::string& directory) {
  std::error_code error;
  std::vector<Target> targets;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error))
    if (entry.is_directory() && fs::exists(entry.path() / "manifest.toml")) targets.push_back(load_folder(entry.path()));
  if (error) return Error{directory + ": " + error.message() + ", expected the folder of the built targets"};
  std::sort(targets.begin(), targets.end(), [](const Target& a, const Target& b) { return a.name < b.name; });
  return targets;
}

Result<Target> load_target_file(const std::string& path) {
  std::error_code error;
  const fs::path file = fs::absolute(path, error);
  if (!fs::is_regular_file(file, error)) return Error{"target " + path + ": no such file, expected a .so or a .py"};
  const bool python = file.extension() == ".py";
  if (!python && file.extension() != ".so") return Error{"target " + path + ": expected a name that ends in .so or .py"};
  Target target;
  if (fs::exists(file.parent_path() / "manifest.toml")) {
    auto read = read_manifest(file.parent_path() / "manifest.toml");
    if (!read) return read;
    target = std::move(*read);
    if ((target.kind == TargetKind::kPython) != python) return Error{"target " + path + ": the manifest.toml beside it is of another kind"};
    if (python) target.python = first_line(file.parent_path() / "python.txt");
  } else {
    target.name = file.stem().string();
    target.kind = python ? TargetKind::kPython : TargetKind::kNative;
    target.by_path = true;
    target.variants.emplace_back();
  }
  if (python && target.python.empty()) target.python = default_python();
  target.module_path = file.string();
  return target;
}

Result<std::vector<TargetChoice>> choose_targets(const std::vector<Target>& known, const std::string& list) {
  std::vector<TargetChoice> result;
  std::istringstream items(list);
  for (std::string item; std::getline(items, item, ',');) {
    std::erase(item, ' ');
    if (item.empty()) continue;
    auto chosen = choose_one(known, item);
    if (!chosen) return chosen;
    for (TargetChoice& choice : *chosen)
      if (std::none_of(result.begin(), result.end(), [&](const TargetChoice& c) { return c.label() == choice.label(); }))
        result.push_back(std::move(choice));
  }
  if (result.empty()) return Error{"targets '" + list + "': expected names with commas between them, such as cpu,onednn:avx2"};
  return result;
}

}  // namespace normfuzz
