// The CUDA target's rows on the host as a target module: what a campaign runs where there is no device. NORMFUZZ_FAULT breaks the order.
#include "tests/targets/cuda_on_host.h"

#include <cstdlib>
#include <string>

namespace normfuzz::cuda {
namespace {

struct DropsTail : RowOrder {
  template <int kLanes, class Visit>
  static void for_each_columns(int64_t cols, int thread, int threads, Visit visit) {
    RowOrder::for_each_columns<kLanes>(cols / kLanes * kLanes, thread, threads, visit);
  }
};
struct ShufflesTooNear : RowOrder {
  static int source_lane(int lane, int offset) { return lane + (offset > 1 ? offset / 2 : 1); }
};
struct LosesHalfAWarp : RowOrder {
  static constexpr int kFirstOffset = kWarp / 4;
};

std::string run_call(const TargetCall& call) {
  const char* text = std::getenv("NORMFUZZ_FAULT");
  const std::string fault = text == nullptr ? "" : text;
  const Variant variant = std::getenv("NORMFUZZ_CUDA_VARIANT") == nullptr ? Variant::kWelford : Variant::kTwoPass;
  if (fault == "drops_tail") return run_on_host<DropsTail>(call, variant);
  if (fault == "shuffles_too_near") return run_on_host<ShufflesTooNear>(call, variant);
  if (fault == "loses_half_a_warp") return run_on_host<LosesHalfAWarp>(call, variant);
  if (!fault.empty()) throw Unsupported("no fault '" + fault + "'");
  return run_on_host<RowOrder>(call, variant);
}

const char* version() { return "the CUDA kernels' rows on the host"; }
nf_status run(const nf_call* call) { return guarded_run(call, run_call); }

}  // namespace
}  // namespace normfuzz::cuda

NORMFUZZ_EXPORT const nf_target* normfuzz_target(void) {
  static const nf_target target = {NORMFUZZ_ABI_VERSION, sizeof(nf_target), normfuzz::cuda::version, normfuzz::cuda::run};
  return &target;
}
