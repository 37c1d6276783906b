// Cases in shared memory: places their tensors between guard bytes, and tells after the run what a target did to that memory.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "core/case.h"
#include "core/result.h"
#include "harness/run/outcome.h"
#include "harness/run/segment.h"

namespace normfuzz {

// What an output element holds before the call: a signalling NaN with a payload of our own. Arithmetic on it quiets it and so changes its
// bits; an element that still holds it after the call was never written.
inline constexpr std::uint64_t kPoisonBits[] = {0x7ff5a5a5a5a5a5a5, 0x7fa5a5a5, 0x7da5, 0x7fa5};  // f64, f32, f16, bf16

// What fills guards and the padding between the elements of a strided tensor, by address modulo 8: every 2-, 4- and 8-byte lane of it is a
// quiet NaN in every format, so that a value read from there shows in any output it flows into.
inline constexpr std::uint64_t kCanaryWord = 0xfff7fff5fff3fff1;

// Bytes before and behind every tensor: enough for one vector register beyond it and cheap to check. A case that runs alone gets more.
inline constexpr std::size_t kGuardBytes = 128;
inline constexpr std::size_t kWideGuardBytes = 4096;

class Arena {
 public:
  // `segment` must outlive the arena. A batch is closed after `soft_bytes`; one case may be as large as the segment.
  Arena(Segment& segment, std::size_t soft_bytes);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Forgets all placed cases.
  void reset();
  // Writes the case's call record and tensors into the next slot. False: the batch is full, the case belongs into the next one. An error:
  // it can never be placed. Premise: the case is valid.
  Result<bool> place(const Case& c, std::size_t guard_bytes);
  std::uint32_t count() const { return static_cast<std::uint32_t>(slots_.size()); }

  bool finished(std::uint32_t slot) { return protocol::observe(segment_.descriptor(slot).status) != protocol::kPending; }
  // The outcome of a finished slot: status, outputs and the memory report. Once per slot: the outputs move out.
  Outcome take(std::uint32_t slot);

 private:
  struct Placed {
    const Tensor* input;  // null: an output
    std::size_t output;   // index into Slot::outputs
    std::string_view name;
    std::size_t begin, end;   // with both guards; offsets from the segment's beginning
    std::size_t first, last;  // the tensor's buffer: begin + guard (+ misalign) .. one past its last element
    std::size_t element0;     // element [0, ..., 0]
    bool compact;             // no padding: the elements in logical order, one run
  };
  struct Slot {
    std::vector<std::pair<std::string_view, const Tensor*>> inputs;  // null: absent
    std::vector<Placed> tensors;
    NamedTensors outputs;
  };

  const Tensor& layout(const Slot& slot, const Placed& p) const { return p.input ? *p.input : slot.outputs[p.output].second; }
  bool lay_out(Slot& slot, const Case& c, std::size_t guard_bytes, std::size_t& cursor) const;
  Status write_record(const Slot& slot, const Case& c, std::size_t at);
  void write_tensor(const Slot& slot, const Placed& p);
  void collect_output(const Placed& p, Tensor& t, bool ok, MemoryReport& report);
  bool intact(const Placed& p) const;
  void report_changes(const Placed& p, const Tensor& t, MemoryReport& report);

  Segment& segment_;
  std::byte* shadow_;  // what strided tensors held before the run, at the same offsets
  std::size_t soft_bytes_;
  std::size_t used_ = protocol::kArenaBegin;
  std::vector<Slot> slots_;
};

}  // namespace normfuzz
