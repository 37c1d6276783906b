// Targets as their manifests describe them (PROTOCOLS.md, 'manifest.toml').
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/result.h"
#include "oracles/contract.h"

namespace normfuzz {

struct OpPromise {
  std::string op;
  std::vector<DType> dtypes;
  std::string contract = "standard";
  std::map<std::string, std::string> modifiers;
  std::string semantics, source;
  std::vector<std::string> claims = {"determinism"};
  ZeroDenominator zero_denominator = ZeroDenominator::kAny;
};

struct Variant {
  std::string name;                        // empty: the default variant
  std::map<std::string, std::string> env;  // set before the worker's exec
  std::string requires_cpu;                // a flag of /proc/cpuinfo; empty: none
  // What this variant promises otherwise than the target: on top of every op's own modifiers (another algorithm, flush to zero).
  std::map<std::string, std::string> modifiers;
  bool rare = false;  // of a mutant: random cases hardly ever show its bug
};

enum class TargetKind { kNative, kPython };

struct Target {
  std::string name;  // without variant
  TargetKind kind = TargetKind::kNative;
  std::string description, source;
  std::string module_path;  // .so or .py
  std::string python;       // interpreter for kPython
  std::vector<Variant> variants;
  std::vector<OpPromise> promises;
  std::map<std::string, double> resources;  // what a scheduler sets aside for a run, by its names: GPU = 1
  bool by_path = false;                     // given with --target: no manifest; every op is asked by trial under the default contract
  std::string unavailable;                  // reason; empty: available

  const OpPromise* promise(std::string_view op, DType dtype) const;
  // The contract this target declares for an op on data stored in `dtype`; the default one where nothing is declared.
  Result<Contract> contract(std::string_view op, DType dtype) const;
};

// A target together with the variant chosen: what `--targets onednn:avx2` names.
struct TargetChoice {
  Target target;
  Variant variant;
  TargetChoice() = default;
  // With the variant's modifiers in the target's promises.
  TargetChoice(Target all, Variant one);
  std::string label() const { return variant.name.empty() ? target.name : target.name + ":" + variant.name; }
};

// True if /proc/cpuinfo has the flag; for the empty one too.
bool processor_has(const std::string& flag);

// All targets below `directory` (build/targets: one folder each with manifest.toml and a module, or unavailable.txt with the reason).
Result<std::vector<Target>> load_targets(const std::string& directory);
// A module by path: a folder's manifest.toml beside it is used when there is one.
Result<Target> load_target_file(const std::string& path);
// "cpu,onednn,torch:avx2,onednn:*" against the known ones; an unknown or unavailable one asked for by name is an error that says what to
// do.
Result<std::vector<TargetChoice>> choose_targets(const std::vector<Target>& known, const std::string& list);

}  // namespace normfuzz
