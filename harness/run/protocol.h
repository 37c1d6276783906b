// The memory that a campaign shares with a worker process (PROTOCOLS.md, 'Worker protocol'): a header of 4 KiB, 256 descriptors of 512
// bytes, then an arena with the call records and tensors. Plain old data with fixed offsets, because python_host.py reads the same bytes
// through Python's struct module: a change here is a change there and of kVersion.
//
// A worker finds the segment as file descriptor 3, a pipe to read commands from as 4 and one to write replies to as 5. One byte each way:
// the worker says kReady (the header's text is the framework's version) or kFailed (it is the reason); then for every kGo it runs the slots
// first..count-1 and answers kDone. End of file on 4 ends it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace normfuzz::protocol {

inline constexpr std::uint64_t kMagic = 0x52454b524f57464e;  // "NFWORKER" in memory, little-endian
inline constexpr std::uint32_t kVersion = 1;

inline constexpr int kSegmentFd = 3, kCommandFd = 4, kReplyFd = 5;
inline constexpr char kGo = 'g', kReady = 'r', kFailed = 'f', kDone = 'd';

inline constexpr std::size_t kHeaderBytes = 4096;
inline constexpr std::uint32_t kSlots = 256;
inline constexpr std::size_t kDescriptorBytes = 512;
inline constexpr std::size_t kArenaBegin = kHeaderBytes + kSlots * kDescriptorBytes;
inline constexpr std::size_t kArenaAlignment = 64;

inline constexpr std::uint32_t kIdle = 0xffffffff;     // of Header::current: no case is being run
inline constexpr std::uint32_t kPending = 0xffffffff;  // of Descriptor::status: not run yet, or died while running

inline constexpr int kRank = 8;                                                                     // core's kMaxRank
inline constexpr int kMaxTensors = 16;                                                              // inputs and outputs of one call
inline constexpr std::size_t kOpBytes = 32, kNameBytes = 24, kTextBytes = 24, kMessageBytes = 488;  // with the terminating zero

struct Header {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t count;           // slots of this batch
  std::uint32_t first;           // where to begin: behind the case that killed the previous process
  std::uint32_t current;         // slot being run, or kIdle; written by the worker
  std::uint32_t sequence;        // cases started since the process began; written by the worker
  std::uint32_t parent_pid;      // the worker ends when this is no longer its parent
  std::int64_t started_ns;       // CLOCK_MONOTONIC at the start of the current case; written by the worker
  std::uint64_t total_bytes;     // of the segment
  std::uint64_t memory_bytes;    // RLIMIT_DATA of the worker; 0: none
  char text[kHeaderBytes - 56];  // version or reason; written by the worker before kReady or kFailed
};
static_assert(offsetof(Header, count) == 12 && offsetof(Header, current) == 20 && offsetof(Header, started_ns) == 32);
static_assert(offsetof(Header, memory_bytes) == 48 && sizeof(Header) == kHeaderBytes);

struct Descriptor {
  std::uint64_t record;  // offset of the call record from the segment's beginning
  std::uint32_t status;  // nf_status, or kPending
  std::uint32_t reserved;
  std::int64_t nanoseconds;     // inside the target's run
  char message[kMessageBytes];  // as much as fits
};
static_assert(sizeof(Descriptor) == kDescriptorBytes && offsetof(Descriptor, message) == 24);

// Followed by input_count + output_count TensorRecords and param_count ParamRecords. Everything from `op` on repeats from case to case of
// one shape, which lets a reader cache what it made of it under those bytes.
struct CallRecord {
  std::uint32_t bytes;  // of this record with all that follows
  std::uint16_t input_count, output_count;
  std::uint64_t data[kMaxTensors];  // offset of element [0, ..., 0] of each tensor from the segment's beginning; 0: absent
  char op[kOpBytes];
  std::uint32_t param_count;
  std::uint32_t reserved;
};
static_assert(offsetof(CallRecord, data) == 8 && offsetof(CallRecord, op) == 136 && sizeof(CallRecord) == 176);

struct TensorRecord {
  char name[kNameBytes];
  std::uint8_t present;
  std::uint8_t dtype;      // core's DType: f64, f32, f16, bf16
  std::uint8_t type_code;  // DLPack's: 2 IEEE, 4 bfloat
  std::uint8_t bits;
  std::int32_t rank;
  std::int64_t shape[kRank];
  std::int64_t strides[kRank];  // in elements
};
static_assert(offsetof(TensorRecord, rank) == 28 && sizeof(TensorRecord) == 160);

struct ParamRecord {
  char name[kNameBytes];
  std::int32_t kind;  // nf_param_kind
  std::int32_t reserved;
  double number;
  std::int64_t integer;
  char text[kTextBytes];
};
static_assert(sizeof(ParamRecord) == 72);

// Fields that one side writes while the other reads; everything else is ordered by the bytes on the pipes.
template <class T>
void publish(T& field, T value) {
  std::atomic_ref<T>(field).store(value, std::memory_order_release);
}
template <class T>
T observe(T& field) {
  return std::atomic_ref<T>(field).load(std::memory_order_acquire);
}

}  // namespace normfuzz::protocol
