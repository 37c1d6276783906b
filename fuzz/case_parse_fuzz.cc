// The case parser: any bytes give a case or one line of refusal, and a case survives being written and read again, bit for bit.
#include "core/case_io.h"
#include "fuzz/driver.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace normfuzz;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const Result<Case> c = parse_case(text, "input");
  if (!c) {
    require_message(c.error(), "input");
    return 0;
  }
  const std::string written = write_case(*c);
  const Result<Case> back = parse_case(written, "back");
  require(bool(back), "a written case is refused");
  require(*back == *c && digest(*back) == digest(*c), "a written case reads as another one");
  require(write_case(*back) == written, "writing twice gives two texts");
  for (const auto& [name, tensor] : c->inputs)
    if (tensor) require(static_cast<std::int64_t>(tensor->element_offsets().size()) == tensor->size(), "a layout without its elements");
  return 0;
}
