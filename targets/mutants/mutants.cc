// The mutants behind the plug-in interface; the environment variable NORMFUZZ_MUTANT chooses one by name, without it the correct kernel
// runs.
#include <cstdlib>

#include "targets/cpu/row_call.h"
#include "targets/mutants/mutant.h"

namespace normfuzz {
namespace {

const Mutant& chosen_mutant() {
  const char* name = std::getenv("NORMFUZZ_MUTANT");
  const Mutant* mutant = find_mutant(name == nullptr || *name == '\0' ? "two_pass" : name);
  if (mutant == nullptr) throw Rejected("NORMFUZZ_MUTANT is '" + std::string(name) + "', expected the name of a variant in the manifest");
  return *mutant;
}

nf_status run(const nf_call* call) {
  return guarded_run(call, [](const TargetCall& arguments) -> std::string {
    const Mutant& mutant = chosen_mutant();
    if (arguments.op() != "layer_norm" && arguments.op() != "rms_norm") throw Unsupported("no kernel for this operator");
    if (arguments.op() == "rms_norm" && !mutant.for_rms_norm) throw Unsupported(std::string(mutant.name) + " is no kernel of rms_norm");
    if (arguments.op() == "layer_norm" && arguments.number("weight_offset", 0) != 0) throw Unsupported("layer_norm has no weight_offset");
    arguments.require_known({"x", "weight", "bias"}, {"y"}, {"epsilon", "normalized_axis", "weight_offset"});
    const RowCall rows(arguments);
    std::vector<double> x(static_cast<std::size_t>(rows.cols()));
    const RowInputs row = rows.row(x.data(), nullptr);
    const Rows y = rows.elements(arguments, "y");
    for (std::int64_t r = 0; r < rows.rows(); ++r) {
      rows.gather(r, x.data());
      y.scatter(r, run_mutant(mutant.policy, arguments.op(), rows.storage, row).data());
    }
    return "";
  });
}

const char* version() { return NORMFUZZ_VERSION; }

}  // namespace
}  // namespace normfuzz

const nf_target* normfuzz_target(void) {
  static const nf_target target = {NORMFUZZ_ABI_VERSION, sizeof(nf_target), normfuzz::version, normfuzz::run};
  return &target;
}
