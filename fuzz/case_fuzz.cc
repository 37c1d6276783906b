// The driver of one family of ops or properties, NORMFUZZ_FUZZ_FAMILY: any bytes are a case, which runs on a target in this process.
#include <cstdio>

#include "fuzz/driver.h"
#include "fuzz/session.h"

namespace normfuzz::fuzzing {
namespace {

Session& session() {
  static const std::unique_ptr<Session> opened = [] {
    const Family* family = find_family(NORMFUZZ_FUZZ_FAMILY);
    require(family != nullptr, "no family of this name: " NORMFUZZ_FUZZ_FAMILY);
    const auto options = options_from_environment();
    auto result = options ? Session::open(*family, *options) : Result<std::unique_ptr<Session>>(Error{options.error()});
    if (!result) {
      std::fprintf(stderr, "normfuzz: %s\n", result.error().c_str());
      std::exit(2);
    }
    std::fprintf(stderr, "normfuzz: %s\n", (*result)->title().c_str());
    return std::move(*result);
  }();
  return *opened;
}

}  // namespace
}  // namespace normfuzz::fuzzing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace normfuzz::fuzzing;
  if (session().run({data, size}) || session().keeps_going()) return 0;
  std::abort();
}
