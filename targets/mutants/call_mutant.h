// Kernels with one known bug each that lies in how a whole call is read, split into rows and written; and the planted ones, which only rare
// inputs show.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "normfuzz/target_call.h"

namespace normfuzz {

struct CallMutant {
  std::string_view name, family, bug, references;  // as of Mutant
  std::vector<std::string_view> ops;
  void (*run)(const nf_call& call);
  bool rare = false;  // `rare` in the manifest: no test may demand it within some number of random cases
};
std::span<const CallMutant> call_mutants();
const CallMutant* find_call_mutant(std::string_view name);

// call_layout.cc
void run_strides_ignored(const nf_call& call);
void run_aligned_loads(const nf_call& call);
void run_input_overwritten(const nf_call& call);
void run_absent_weight_is_zero(const nf_call& call);
// call_rows.cc
void run_row_count_in_16_bits(const nf_call& call);
void run_order_by_row_count(const nf_call& call);
void run_alternating_order(const nf_call& call);
// planted.cc
void run_rare_width(const nf_call& call);
void run_rare_rows(const nf_call& call);
void run_rare_epsilon(const nf_call& call);

}  // namespace normfuzz
