// The CUDA target's rows, executed on the host: every thread of a block, every lane of a warp, over the same block of memory. `Order` is
// the kernels' RowOrder, or one with a fault that the checks must see.
#pragma once

#include <string>

#include "targets/cuda/row_program.h"
#include "targets/row_call.h"

namespace normfuzz::cuda {

template <class Order, class Element, Statistic kStatistic>
void run_rows(const DeviceRowCall& call, unsigned char* memory) {
  const RowNumbers numbers = {static_cast<float>(call.epsilon), static_cast<float>(call.weight_offset)};
  HostBlock<Order> block(Order::warps_for(call.task.cols));
  for (int64_t row = 0; row < call.task.rows; ++row) {
    if (call.backward)
      input_gradient_row<kStatistic, Element, Order>(block, call.task, memory, row, numbers);
    else
      forward_row<kStatistic, Element, Order>(block, call.task, memory, row, numbers);
  }
  if (call.task.dweight.offset >= 0 || call.task.dbias.offset >= 0)
    for (int64_t col = 0; col < call.task.cols; ++col) column_sums<Element>(call.task, memory, col);
}

template <class Order, class Element>
void run_rows(const DeviceRowCall& call, Variant variant, unsigned char* memory) {
  if (call.rms)
    run_rows<Order, Element, kMeanSquare>(call, memory);
  else if (variant == Variant::kTwoPass)
    run_rows<Order, Element, kTwoPass>(call, memory);
  else
    run_rows<Order, Element, kWelford>(call, memory);
}

template <class Order>
std::string run_on_host(const TargetCall& target_call, Variant variant) {
  DeviceRowCall call(target_call, 0);
  auto* memory = reinterpret_cast<unsigned char*>(call.image.bytes().data());
  if (call.type == kFloat64) throw Unsupported("no kernel for f64: statistics are f32");
  if (call.type == kFloat16)
    run_rows<Order, Float16>(call, variant, memory);
  else if (call.type == kBfloat16)
    run_rows<Order, Bfloat16>(call, variant, memory);
  else
    run_rows<Order, Float32>(call, variant, memory);
  call.image.finish();
  return "";
}

}  // namespace normfuzz::cuda
