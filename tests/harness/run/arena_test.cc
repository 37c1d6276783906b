// Each memory check against a kernel, played by the test itself, that breaks exactly that rule: on dense and on strided tensors.
#include "harness/run/arena.h"

#include <cstring>

#include "normfuzz/target.h"
#include "tests/harness/run/run_testing.h"

namespace normfuzz {
namespace {

// A case in an arena, and the places a kernel would be given.
struct Placed {
  Segment segment = std::move(*Segment::create(std::size_t{1} << 24));
  Arena arena{segment, std::size_t{1} << 22};
  Case c;

  explicit Placed(Case given, std::size_t guard = kGuardBytes) : c(std::move(given)) {
    const auto placed = arena.place(c, guard);
    EXPECT_TRUE(placed && *placed);
  }
  // Element [0, ..., 0] of a tensor: x is 0, y the last one.
  std::byte* element0(int tensor) {
    const auto& record = *reinterpret_cast<protocol::CallRecord*>(segment.base() + segment.descriptor(0).record);
    return segment.base() + record.data[tensor];
  }
  std::byte* x() { return element0(0); }
  std::byte* y() { return element0(3); }
  // What a correct kernel does: every output element is written.
  void write_output() {
    const Tensor& x = *c.input("x");
    for (const std::int64_t at : x.element_offsets()) store_bits(x.dtype, y() + (at - x.offset) * format_of(x.dtype).bytes, 1);
  }
  Outcome take(std::uint32_t status = NF_OK) {
    protocol::publish(segment.descriptor(0).status, status);
    return arena.take(0);
  }
};

Case strided_case(DType dtype = DType::kF32) {
  Case c = small_case(3, 4, dtype);
  Tensor& x = *c.input("x");
  x.strides = {12, 2};  // padding between the elements of a row and between rows
  x.offset = 1;
  return c;
}

class Memory : public testing::TestWithParam<DType> {
 protected:
  std::int64_t bytes() const { return format_of(GetParam()).bytes; }
};
INSTANTIATE_TEST_SUITE_P(, Memory, testing::ValuesIn(kAllDTypes), [](const auto& info) { return std::string(name_of(info.param)); });

TEST_P(Memory, CleanWhereTheKernelKeepsTheRules) {
  for (const Case& c : {small_case(3, 4, GetParam()), strided_case(GetParam())}) {
    Placed p(c);
    p.write_output();
    const Outcome o = p.take();
    EXPECT_EQ(o.kind, OutcomeKind::kOk);
    EXPECT_TRUE(o.memory.clean()) << o.memory.detail;
    EXPECT_TRUE(o.outputs[0].second.dense());
    for (std::int64_t i = 0; i < 12; ++i) EXPECT_EQ(o.outputs[0].second.bits(i), 1u);
  }
}

TEST_P(Memory, EveryByteAroundATensorIsGuarded) {
  const std::int64_t guard = static_cast<std::int64_t>(kGuardBytes), size = 12 * bytes();
  for (std::int64_t at = -guard; at < size + guard; ++at) {
    if (at >= 0 && at < size) continue;
    Placed p(small_case(3, 4, GetParam()));
    p.write_output();
    p.y()[at] ^= std::byte{1};
    const Outcome o = p.take();
    EXPECT_EQ(o.memory.overrun, "y") << at;
    EXPECT_EQ(o.memory.changed_input, "");
    EXPECT_EQ(o.memory.detail, at < 0 ? "y: byte " + std::to_string(-at) + " before the first element"
                                      : "y: byte " + std::to_string(at - size) + " after the last element");
  }
}

TEST_P(Memory, PaddingBetweenElementsIsGuarded) {
  Placed p(strided_case(GetParam()));
  p.write_output();
  p.y()[bytes()] ^= std::byte{1};
  const Outcome o = p.take();
  EXPECT_EQ(o.memory.overrun, "y");
  EXPECT_EQ(o.memory.detail, "y: padding " + std::to_string(bytes()) + " bytes behind the first element");
}

TEST_P(Memory, PaddingOfAnInputIsNotTheInput) {
  Placed p(strided_case(GetParam()));
  p.write_output();
  p.x()[-1] ^= std::byte{1};  // inside the buffer, before the offset
  const Outcome o = p.take();
  EXPECT_EQ(o.memory.overrun, "x");
  EXPECT_EQ(o.memory.changed_input, "");
  EXPECT_EQ(o.memory.detail, "x: byte 1 before the first element");
}

TEST_P(Memory, EveryBitOfAnInputIsWatched) {
  for (const Case& c : {small_case(3, 4, GetParam()), strided_case(GetParam())}) {
    const std::vector<std::int64_t> offsets = c.input("x")->element_offsets();
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      Placed p(c);
      p.write_output();
      p.x()[(offsets[i] - offsets[0]) * bytes()] ^= std::byte{0x10};
      const Outcome o = p.take();
      EXPECT_EQ(o.memory.changed_input, "x");
      EXPECT_EQ(o.memory.overrun, "");
      EXPECT_EQ(o.memory.detail, "x: element [" + std::to_string(i / 4) + ", " + std::to_string(i % 4) + "] of an input changed");
    }
  }
}

TEST_P(Memory, EveryUnwrittenElementIsCounted) {
  for (const Case& c : {small_case(3, 4, GetParam()), strided_case(GetParam())}) {
    const std::vector<std::int64_t> offsets = c.input("x")->element_offsets();
    for (std::size_t skipped = 0; skipped < offsets.size(); ++skipped) {
      Placed p(c);
      for (std::size_t i = 0; i < offsets.size(); ++i)
        if (i != skipped && i != 11) store_bits(GetParam(), p.y() + (offsets[i] - offsets[0]) * bytes(), 1);
      const Outcome o = p.take();
      EXPECT_EQ(o.memory.unwritten_output, "y");
      EXPECT_EQ(o.memory.unwritten_elements, skipped == 11 ? 1 : 2);
      EXPECT_EQ(o.memory.overrun, "");
    }
  }
}

TEST_P(Memory, PoisonIsASignallingNan) {
  const std::uint64_t bits = kPoisonBits[static_cast<std::size_t>(GetParam())];
  EXPECT_TRUE(is_nan_bits(GetParam(), bits));
  const int mantissa = format_of(GetParam()).precision - 1;
  EXPECT_EQ(bits >> (mantissa - 1) & 1, 0u) << "the quiet bit is set";
}

TEST_P(Memory, CanaryIsANanAtEveryAddress) {
  Placed p(strided_case(GetParam()));
  for (std::int64_t i = 1; i < 12; i += 2) EXPECT_TRUE(is_nan_bits(GetParam(), load_bits(GetParam(), p.x() + i * bytes()))) << i;
  EXPECT_TRUE(is_nan_bits(GetParam(), load_bits(GetParam(), p.x() - bytes())));
}

TEST_P(Memory, TensorsLieWhereTheCaseSays) {
  for (int misalign = 0; misalign < 64; misalign += static_cast<int>(bytes())) {
    Case c = small_case(3, 4, GetParam());
    c.input("x")->misalign = misalign;
    Placed p(c);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p.x()) % 64, static_cast<std::uintptr_t>(misalign));
    EXPECT_EQ(std::memcmp(p.x(), c.input("x")->data.data(), c.input("x")->data.size()), 0);
  }
}

TEST(Arena, AnInputThatTheCaseDoesNotMentionIsAbsentLikeANullOne) {
  Case unmentioned = small_case(3, 4);
  std::erase_if(unmentioned.inputs, [](const auto& input) { return input.first != "x"; });
  for (const Case& c : {small_case(3, 4), unmentioned}) {
    Placed p(c);
    const auto& call = *reinterpret_cast<protocol::CallRecord*>(p.segment.base() + p.segment.descriptor(0).record);
    ASSERT_EQ(call.input_count, 3);
    const auto* tensors = reinterpret_cast<const protocol::TensorRecord*>(&call + 1);
    EXPECT_STREQ(tensors[1].name, "weight");
    EXPECT_EQ(tensors[1].present, 0);
    EXPECT_STREQ(tensors[2].name, "bias");
    EXPECT_EQ(tensors[2].present, 0);
    EXPECT_STREQ(tensors[3].name, "y");
    p.write_output();
    EXPECT_TRUE(p.take().memory.clean());
  }
}

TEST(Arena, NothingIsReportedUnwrittenWhereTheCallWasDeclined) {
  for (const nf_status status : {NF_UNSUPPORTED, NF_REJECTED}) {
    Placed p(small_case(3, 4));
    const Outcome o = p.take(status);
    EXPECT_EQ(o.kind, status == NF_UNSUPPORTED ? OutcomeKind::kUnsupported : OutcomeKind::kRejected);
    EXPECT_TRUE(o.memory.clean()) << o.memory.detail;
    EXPECT_TRUE(o.outputs.empty());
  }
}

TEST(Arena, AStatusThatIsNoneIsARejection) {
  Placed p(small_case(3, 4));
  const Outcome o = p.take(7);
  EXPECT_EQ(o.kind, OutcomeKind::kRejected);
  EXPECT_EQ(o.message, "run() returned 7, which is no nf_status");
}

TEST(Arena, BatchesCloseAtTheirLimitAndTheNextOneFits) {
  Segment segment = std::move(*Segment::create(std::size_t{1} << 24));
  Arena arena(segment, std::size_t{1} << 20);
  const Case large = small_case(256, 256);  // 256 KiB, with its output 512 KiB
  int placed = 0;
  while (*arena.place(large, kGuardBytes)) ++placed;
  EXPECT_EQ(placed, 1);
  const Case small = small_case(1, 4);
  arena.reset();
  for (placed = 0; *arena.place(small, kGuardBytes);) ++placed;
  EXPECT_EQ(placed, 256);
  arena.reset();
  const Case huge = small_case(1024, 1024);  // beyond the batch's limit, within the segment
  EXPECT_TRUE(*arena.place(huge, kGuardBytes));
  arena.reset();
  EXPECT_FALSE(arena.place(small_case(1024, 4096), kGuardBytes));
}

}  // namespace
}  // namespace normfuzz
