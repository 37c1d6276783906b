#include "harness/run/arena.h"

#include <fmt/format.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "normfuzz/target.h"

namespace normfuzz {
namespace {

using protocol::CallRecord;
using protocol::Descriptor;
using protocol::ParamRecord;
using protocol::TensorRecord;

constexpr std::size_t align_up(std::size_t at, std::size_t to = protocol::kArenaAlignment) { return (at + to - 1) / to * to; }

// Calls f(offset, index, run) for every run of `run` consecutive elements: `offset` in elements from element [0, ..., 0] of the buffer,
// `index` the logical index of the run's first element. A dense tensor is one run.
template <class F>
void for_each_run(const Tensor& t, F f) {
  const std::int64_t size = t.size();
  if (size == 0) return;
  std::int64_t run = 1;
  int outer = t.rank();  // dimensions that the runs do not cover
  for (; outer > 0; --outer) {
    const auto d = static_cast<std::size_t>(outer - 1);
    if (t.shape[d] != 1 && t.strides[d] != run) break;
    run *= t.shape[d];
  }
  std::array<std::int64_t, kMaxRank> at{};
  std::int64_t offset = 0;
  for (std::int64_t index = 0; index < size; index += run) {
    f(offset, index, run);
    for (int i = outer; i-- > 0;) {  // odometer
      const auto d = static_cast<std::size_t>(i);
      offset += t.strides[d];
      if (++at[d] < t.shape[d]) break;
      offset -= t.strides[d] * t.shape[d];
      at[d] = 0;
    }
  }
}

// The canary's bytes from an address with this phase modulo 8 on; the pattern repeats, so a block serves for any length.
constexpr std::size_t kCanaryRun = 4096;
const std::byte* canary_from(const std::byte* address) {
  static const auto kBlock = [] {
    std::array<std::uint64_t, kCanaryRun / 8 + 1> words;
    words.fill(kCanaryWord);
    return words;
  }();
  return reinterpret_cast<const std::byte*>(kBlock.data()) + (reinterpret_cast<std::uintptr_t>(address) & 7);
}

void fill_canary(std::byte* begin, std::byte* end) {
  for (; begin < end; begin += std::min<std::ptrdiff_t>(end - begin, kCanaryRun))
    std::memcpy(begin, canary_from(begin), static_cast<std::size_t>(std::min<std::ptrdiff_t>(end - begin, kCanaryRun)));
}

bool is_canary(const std::byte* begin, const std::byte* end) {
  for (; begin < end; begin += std::min<std::ptrdiff_t>(end - begin, kCanaryRun))
    if (std::memcmp(begin, canary_from(begin), static_cast<std::size_t>(std::min<std::ptrdiff_t>(end - begin, kCanaryRun))) != 0)
      return false;
  return true;
}

template <class Word>
void fill_words(std::byte* at, std::int64_t n, Word word) {
  for (std::int64_t i = 0; i < n; ++i) std::memcpy(at + static_cast<std::size_t>(i) * sizeof(Word), &word, sizeof(Word));
}

void fill_poison(DType d, std::byte* at, std::int64_t n) {
  const std::uint64_t bits = kPoisonBits[static_cast<std::size_t>(d)];
  if (d == DType::kF64) return fill_words(at, n, bits);
  if (d == DType::kF32) return fill_words(at, n, static_cast<std::uint32_t>(bits));
  fill_words(at, n, static_cast<std::uint16_t>(bits));
}

template <class Word>
std::int64_t count_words(const std::byte* at, std::int64_t n, Word wanted) {
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    Word word;
    std::memcpy(&word, at + static_cast<std::size_t>(i) * sizeof(Word), sizeof(Word));
    count += word == wanted;
  }
  return count;
}

std::int64_t count_poison(const Tensor& t) {
  const std::uint64_t bits = kPoisonBits[static_cast<std::size_t>(t.dtype)];
  if (t.dtype == DType::kF64) return count_words(t.data.data(), t.size(), bits);
  if (t.dtype == DType::kF32) return count_words(t.data.data(), t.size(), static_cast<std::uint32_t>(bits));
  return count_words(t.data.data(), t.size(), static_cast<std::uint16_t>(bits));
}

std::string index_text(const Tensor& t, std::int64_t index) {
  std::string text;
  for (std::size_t d = t.shape.size(); d-- > 0; index /= t.shape[d])
    text = std::to_string(index % t.shape[d]) + (text.empty() ? "" : ", ") + text;
  return "[" + text + "]";
}

void add_detail(MemoryReport& report, const std::string& sentence) { report.detail += (report.detail.empty() ? "" : "; ") + sentence; }

// Bytes of the buffer, or nothing if they leave 62 bits.
std::optional<std::size_t> buffer_bytes(const Tensor& t) {
  std::int64_t last = t.offset;
  const std::int64_t size = t.size();
  if (size < 0 || last < 0) return std::nullopt;
  for (std::size_t d = 0; size > 0 && d < t.shape.size(); ++d) {
    std::int64_t step;
    if (t.strides[d] < 0 || __builtin_mul_overflow(t.shape[d] - 1, t.strides[d], &step) || __builtin_add_overflow(last, step, &last))
      return std::nullopt;
  }
  last += size > 0;
  if (last > (std::int64_t{1} << 58)) return std::nullopt;
  return static_cast<std::size_t>(last) * t.element_bytes();
}

bool copy_name(char* to, std::size_t bytes, std::string_view from) {
  if (from.size() >= bytes) return false;
  std::memcpy(to, from.data(), from.size());
  std::memset(to + from.size(), 0, bytes - from.size());
  return true;
}

bool write_tensor_record(TensorRecord& r, std::string_view name, const Tensor* t) {
  std::memset(&r, 0, sizeof r);
  if (!copy_name(r.name, sizeof r.name, name)) return false;
  if (t == nullptr) return true;
  r.present = 1;
  r.dtype = static_cast<std::uint8_t>(t->dtype);
  r.type_code = t->dtype == DType::kBF16 ? 4 : 2;
  r.bits = static_cast<std::uint8_t>(8 * t->element_bytes());
  r.rank = t->rank();
  std::copy(t->shape.begin(), t->shape.end(), r.shape);
  std::copy(t->strides.begin(), t->strides.end(), r.strides);
  return true;
}

// The op's inputs as the case gives them. One that a case does not mention is absent, as a null one: a target is told so.
std::vector<std::pair<std::string_view, const Tensor*>> inputs_of(const Case& c, const OpInfo& op) {
  std::vector<std::pair<std::string_view, const Tensor*>> inputs;
  for (const auto& [name, tensor] : c.inputs) inputs.emplace_back(name, tensor ? &*tensor : nullptr);
  for (const InputSpec& spec : op.inputs)
    if (std::none_of(inputs.begin(), inputs.end(), [&](const auto& input) { return input.first == spec.name; }))
      inputs.emplace_back(spec.name, nullptr);
  return inputs;
}

bool write_param_record(ParamRecord& r, std::string_view name, const ParamValue& value) {
  std::memset(&r, 0, sizeof r);
  if (!copy_name(r.name, sizeof r.name, name)) return false;
  if (const auto* number = std::get_if<double>(&value)) {
    r.kind = NF_NUMBER;
    r.number = *number;
  } else if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    r.kind = NF_INTEGER;
    r.integer = *integer;
  } else {
    r.kind = NF_TEXT;
    return copy_name(r.text, sizeof r.text, std::get<std::string>(value));
  }
  return true;
}

}  // namespace

Arena::Arena(Segment& segment, std::size_t soft_bytes) : segment_(segment), soft_bytes_(soft_bytes) {
  void* shadow = mmap(nullptr, segment.bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  shadow_ = shadow == MAP_FAILED ? nullptr : static_cast<std::byte*>(shadow);
}

Arena::~Arena() {
  if (shadow_ != nullptr) munmap(shadow_, segment_.bytes());
}

void Arena::reset() {
  if (used_ > protocol::kArenaBegin + soft_bytes_) {  // one huge case: its pages are not kept for the small ones that follow
    segment_.release_from(protocol::kArenaBegin);
    if (shadow_ != nullptr) madvise(shadow_, segment_.bytes(), MADV_DONTNEED);
  }
  slots_.clear();
  used_ = protocol::kArenaBegin;
}

bool Arena::lay_out(Slot& slot, const Case& c, std::size_t guard_bytes, std::size_t& cursor) const {
  const auto add = [&](std::string_view name, const Tensor* input, std::size_t output) {
    Placed p{input, output, name, align_up(cursor), 0, 0, 0, 0, false};
    const Tensor& t = layout(slot, p);
    const auto bytes = buffer_bytes(t);
    if (!bytes || *bytes > segment_.bytes()) return false;
    p.first = p.begin + guard_bytes + static_cast<std::size_t>(t.misalign);
    p.element0 = p.first + static_cast<std::size_t>(t.offset) * t.element_bytes();
    p.last = p.first + *bytes;
    p.end = align_up(p.last + guard_bytes);
    p.compact = t.offset == 0 && t.strides == dense_strides(t.shape);
    cursor = p.end;
    slot.tensors.push_back(p);
    return cursor <= segment_.bytes();
  };
  slot.tensors.reserve(c.inputs.size() + slot.outputs.size());
  for (const auto& [name, tensor] : c.inputs)
    if (tensor && !add(name, &*tensor, 0)) return false;
  for (std::size_t i = 0; i < slot.outputs.size(); ++i)
    if (!add(slot.outputs[i].first, nullptr, i)) return false;
  return true;
}

Result<bool> Arena::place(const Case& c, std::size_t guard_bytes) {
  if (shadow_ == nullptr) return Error{"no memory for the copy of a worker's arena"};
  if (count() == protocol::kSlots) return false;
  const OpInfo* op = find_op(c.op);
  if (op == nullptr) return Error{"op '" + c.op + "': unknown"};
  Slot slot;
  slot.outputs = op->output_layouts(c);
  slot.inputs = inputs_of(c, *op);
  const std::size_t tensors = slot.inputs.size() + slot.outputs.size();
  if (tensors > protocol::kMaxTensors)
    return Error{fmt::format("op '{}': {} tensors, expected at most {}", c.op, tensors, protocol::kMaxTensors)};

  const std::size_t record = align_up(used_);
  std::size_t cursor = record + sizeof(CallRecord) + tensors * sizeof(TensorRecord) + c.params.size() * sizeof(ParamRecord);
  const bool fits = lay_out(slot, c, guard_bytes, cursor);
  if (count() > 0 && (!fits || cursor > protocol::kArenaBegin + soft_bytes_)) return false;
  if (!fits) return Error{fmt::format("op '{}': the tensors need more than the {} bytes of shared memory", c.op, segment_.bytes())};

  if (const Status written = write_record(slot, c, record); !written) return Error{written.error()};
  for (const Placed& p : slot.tensors) write_tensor(slot, p);

  Descriptor& d = segment_.descriptor(count());
  d.record = record;
  d.status = protocol::kPending;
  d.nanoseconds = 0;
  d.message[0] = '\0';
  slots_.push_back(std::move(slot));
  used_ = cursor;
  return true;
}

Status Arena::write_record(const Slot& slot, const Case& c, std::size_t at) {
  CallRecord& call = *reinterpret_cast<CallRecord*>(segment_.base() + at);
  std::memset(&call, 0, sizeof call);
  if (!copy_name(call.op, sizeof call.op, c.op)) return Error{"op '" + c.op + "': the name is too long for a worker"};
  call.input_count = static_cast<std::uint16_t>(slot.inputs.size());
  call.output_count = static_cast<std::uint16_t>(slot.outputs.size());
  call.param_count = static_cast<std::uint32_t>(c.params.size());
  auto* tensor = reinterpret_cast<TensorRecord*>(&call + 1);
  std::size_t index = 0, placed = 0;
  for (const auto& [name, input] : slot.inputs) {
    if (!write_tensor_record(*tensor++, name, input)) return Error{"input '" + std::string(name) + "': the name is too long"};
    if (input) call.data[index] = slot.tensors[placed++].element0;
    ++index;
  }
  for (const auto& [name, output] : slot.outputs) {
    if (!write_tensor_record(*tensor++, name, &output)) return Error{"output '" + name + "': the name is too long"};
    call.data[index++] = slot.tensors[placed++].element0;
  }
  auto* param = reinterpret_cast<ParamRecord*>(tensor);
  for (const auto& [name, value] : c.params)
    if (!write_param_record(*param++, name, value)) return Error{"parameter '" + name + "': name or text is too long for a worker"};
  call.bytes = static_cast<std::uint32_t>(reinterpret_cast<std::byte*>(param) - reinterpret_cast<std::byte*>(&call));
  return Unit{};
}

void Arena::write_tensor(const Slot& slot, const Placed& p) {
  const Tensor& t = layout(slot, p);
  std::byte* base = segment_.base();
  const std::size_t element = t.element_bytes();
  fill_canary(base + p.begin, base + (p.compact ? p.first : p.end));
  if (p.compact) fill_canary(base + p.last, base + p.end);
  for_each_run(t, [&](std::int64_t offset, std::int64_t index, std::int64_t run) {
    std::byte* to = base + p.element0 + static_cast<std::size_t>(offset) * element;
    if (p.input == nullptr) return fill_poison(t.dtype, to, run);
    std::memcpy(to, t.data.data() + static_cast<std::size_t>(index) * element, static_cast<std::size_t>(run) * element);
  });
  if (!p.compact) std::memcpy(shadow_ + p.begin, base + p.begin, p.end - p.begin);
}

Outcome Arena::take(std::uint32_t index) {
  static constexpr OutcomeKind kKinds[] = {OutcomeKind::kOk, OutcomeKind::kUnsupported, OutcomeKind::kRejected};  // by nf_status
  Slot& slot = slots_[index];
  Descriptor& d = segment_.descriptor(index);
  Outcome o;
  o.message.assign(d.message, strnlen(d.message, sizeof d.message));
  o.microseconds = static_cast<double>(d.nanoseconds) / 1000;
  if (d.status > 2) {
    o.kind = OutcomeKind::kRejected;
    o.message = fmt::format("run() returned {}, which is no nf_status", d.status);
  } else {
    o.kind = kKinds[d.status];
  }
  const bool ok = o.kind == OutcomeKind::kOk;
  for (const Placed& p : slot.tensors)
    if (p.input == nullptr) collect_output(p, slot.outputs[p.output].second, ok, o.memory);
  for (const Placed& p : slot.tensors)
    if (!intact(p)) report_changes(p, layout(slot, p), o.memory);
  if (!ok) return o;
  for (auto& [name, t] : slot.outputs) {
    t.strides = dense_strides(t.shape);
    t.offset = 0;
    t.misalign = 0;
  }
  o.outputs = std::move(slot.outputs);
  return o;
}

// Copies the elements out; in a strided tensor it puts the poison back in their place, so that what still differs from the shadow is
// padding.
void Arena::collect_output(const Placed& p, Tensor& t, bool ok, MemoryReport& report) {
  const std::size_t element = t.element_bytes();
  for_each_run(t, [&](std::int64_t offset, std::int64_t index, std::int64_t run) {
    const std::size_t at = p.element0 + static_cast<std::size_t>(offset) * element, bytes = static_cast<std::size_t>(run) * element;
    std::memcpy(t.data.data() + static_cast<std::size_t>(index) * element, segment_.base() + at, bytes);
    if (!p.compact) std::memcpy(segment_.base() + at, shadow_ + at, bytes);
  });
  if (!ok) return;
  const std::int64_t unwritten = count_poison(t);
  if (unwritten == 0) return;
  if (report.unwritten_output.empty()) report.unwritten_output = p.name;
  report.unwritten_elements += unwritten;
  std::int64_t first = 0;
  while (t.bits(first) != kPoisonBits[static_cast<std::size_t>(t.dtype)]) ++first;
  add_detail(report,
             fmt::format("{}: {} of {} elements never written, the first is {}", p.name, unwritten, t.size(), index_text(t, first)));
}

bool Arena::intact(const Placed& p) const {
  const std::byte* now = segment_.base();
  if (!p.compact) return std::memcmp(now + p.begin, shadow_ + p.begin, p.end - p.begin) == 0;
  return is_canary(now + p.begin, now + p.first) && is_canary(now + p.last, now + p.end) &&
         (p.input == nullptr || p.first == p.last || std::memcmp(now + p.first, p.input->data.data(), p.last - p.first) == 0);
}

// Premise: not intact. Slow and thorough.
void Arena::report_changes(const Placed& p, const Tensor& t, MemoryReport& report) {
  const std::byte* now = segment_.base();
  if (p.compact) {  // the shadow that was not needed until now
    fill_canary(shadow_ + p.begin, shadow_ + p.end);
    if (p.first < p.last) std::memcpy(shadow_ + p.first, p.input ? p.input->data.data() : now + p.first, p.last - p.first);
  }
  const std::size_t element = t.element_bytes();
  std::vector<bool> owned(p.end - p.begin);  // bytes that belong to an element
  std::optional<std::int64_t> changed;       // logical index of the first changed element
  for_each_run(t, [&](std::int64_t offset, std::int64_t index, std::int64_t run) {
    const std::size_t at = p.element0 + static_cast<std::size_t>(offset) * element, bytes = static_cast<std::size_t>(run) * element;
    for (std::size_t i = 0; i < bytes; ++i) {
      owned[at + i - p.begin] = true;
      if (!changed && now[at + i] != shadow_[at + i]) changed = index + static_cast<std::int64_t>(i / element);
    }
  });
  if (changed) {  // an output's elements are back to what they were
    if (report.changed_input.empty()) report.changed_input = p.name;
    add_detail(report, fmt::format("{}: element {} of an input changed", p.name, index_text(t, *changed)));
  }
  std::size_t at = p.begin;
  while (at < p.end && (owned[at - p.begin] || now[at] == shadow_[at])) ++at;
  if (at == p.end) return;
  if (report.overrun.empty()) report.overrun = p.name;
  if (at < p.element0)
    add_detail(report, fmt::format("{}: byte {} before the first element", p.name, p.element0 - at));
  else if (at >= p.last)
    add_detail(report, fmt::format("{}: byte {} after the last element", p.name, at - p.last));
  else
    add_detail(report, fmt::format("{}: padding {} bytes behind the first element", p.name, at - p.element0));
}

}  // namespace normfuzz
