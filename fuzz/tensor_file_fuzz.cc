// The readers of .npy and .safetensors: any bytes give tensors or one line of refusal, and tensors survive being written and read again.
#include "core/npy.h"
#include "core/safetensors.h"
#include "fuzz/driver.h"

namespace {

using namespace normfuzz;

void npy(std::string_view bytes, std::optional<DType> dtype) {
  const Result<Tensor> t = parse_npy(bytes, "input", dtype);
  if (!t) return require_message(t.error(), "input");
  const Result<Tensor> back = parse_npy(write_npy(*t), "back", t->dtype);
  require(bool(back), "a written .npy is refused");
  require(back->data == t->data && back->shape == t->shape, "a written .npy reads as another tensor");
}

void safetensors(std::string_view bytes) {
  const Result<TensorList> list = parse_safetensors(bytes, "input");
  if (!list) return require_message(list.error(), "input");
  std::vector<std::pair<std::string, const Tensor*>> pointers;
  for (const auto& [name, tensor] : *list) pointers.emplace_back(name, &tensor);
  const Result<TensorList> back = parse_safetensors(write_safetensors(pointers), "back");
  require(bool(back), "a written .safetensors is refused");
  require(back->size() == list->size(), "a written .safetensors has another number of tensors");
  for (const auto& entry : *list) {
    bool found = false;
    for (const auto& other : *back) found = found || other == entry;
    require(found, "a tensor is lost or changed");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  npy(bytes, std::nullopt);
  npy(bytes, DType::kBF16);
  safetensors(bytes);
  return 0;
}
