// layer_norm and rms_norm of one row, and their gradients, by a block of threads: the same code on the device and on the host, over one
// block of memory that a RowTask describes. Statistics are float32; f16 and bf16 are storage.
#pragma once

#include <cstring>
#include <stdexcept>

#include "targets/cuda/row_reduce.h"
#include "targets/row_task.h"

#ifdef __CUDACC__
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#endif

namespace normfuzz::cuda {

// ---- elements ----

// 16 bytes at once, at an address that is a multiple of 16.
constexpr int kVectorBytes = 16;

NORMFUZZ_BOTH inline bool vector_aligned(const unsigned char* p) { return reinterpret_cast<uintptr_t>(p) % kVectorBytes == 0; }

template <class Bits>
struct Vector {
  Bits element[kVectorBytes / sizeof(Bits)];
};

template <class Bits>
NORMFUZZ_BOTH inline Vector<Bits> load_vector(const unsigned char* p) {
  Vector<Bits> v;
#ifdef __CUDA_ARCH__
  const uint4 words = *reinterpret_cast<const uint4*>(p);
  memcpy(&v, &words, sizeof v);
#else
  if (!vector_aligned(p)) throw std::logic_error("a vector load at an address that is no multiple of 16");
  std::memcpy(&v, p, sizeof v);
#endif
  return v;
}

template <class Bits>
NORMFUZZ_BOTH inline void store_vector(unsigned char* p, const Vector<Bits>& v) {
#ifdef __CUDA_ARCH__
  uint4 words;
  memcpy(&words, &v, sizeof v);
  *reinterpret_cast<uint4*>(p) = words;
#else
  if (!vector_aligned(p)) throw std::logic_error("a vector store at an address that is no multiple of 16");
  std::memcpy(p, &v, sizeof v);
#endif
}

// One object at its own alignment.
template <class T>
NORMFUZZ_BOTH inline T load_at(const unsigned char* p) {
#ifdef __CUDA_ARCH__
  return *reinterpret_cast<const T*>(p);  // memcpy would be loads of single bytes
#else
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
#endif
}
template <class T>
NORMFUZZ_BOTH inline void store_at(unsigned char* p, const T& v) {
#ifdef __CUDA_ARCH__
  *reinterpret_cast<T*>(p) = v;
#else
  std::memcpy(p, &v, sizeof v);
#endif
}

template <class To, class From>
NORMFUZZ_BOTH inline To bits_as(From from) {
  static_assert(sizeof(To) == sizeof(From), "same size");
  To to;
  memcpy(&to, &from, sizeof to);
  return to;
}

struct Float32 {
  using Bits = float;
  static constexpr ElementType kType = kFloat32;
  NORMFUZZ_BOTH static float decode(Bits b) { return b; }
  NORMFUZZ_BOTH static Bits encode(float v) { return v; }
};

struct Float16 {
  using Bits = uint16_t;
  static constexpr ElementType kType = kFloat16;
#ifdef __CUDA_ARCH__
  __device__ static float decode(Bits b) { return __half2float(__ushort_as_half(b)); }
  __device__ static Bits encode(float v) { return __half_as_ushort(__float2half_rn(v)); }
#else
  // 5 exponent bits of bias 15 and 10 of significand become 8 of bias 127 and 23: a factor 2^112 once the bits stand in place.
  static float decode(Bits b) {
    const uint32_t sign = static_cast<uint32_t>(b & 0x8000) << 16, magnitude = static_cast<uint32_t>(b & 0x7fff) << 13;
    if ((b & 0x7c00) == 0x7c00) return bits_as<float>(sign | 0x7f800000u | magnitude);
    return bits_as<float>(sign | bits_as<uint32_t>(bits_as<float>(magnitude) * 0x1p112f));
  }
  static Bits encode(float v) {
    const auto sign = static_cast<Bits>(bits_as<uint32_t>(v) >> 16 & 0x8000);
    const float a = std::fabs(v);
    if (v != v) return static_cast<Bits>(sign | 0x7e00);
    if (a >= 65520) return static_cast<Bits>(sign | 0x7c00);                                            // max + ulp/2 and beyond: infinity
    if (a < 0x1p-14f) return static_cast<Bits>(sign | static_cast<Bits>(std::nearbyint(a * 0x1p24f)));  // multiples of 2^-24
    const uint32_t bits = bits_as<uint32_t>(a), odd = bits >> 13 & 1;
    return static_cast<Bits>(sign | ((bits + 0xfff + odd - (112u << 23)) >> 13));
  }
#endif
};

struct Bfloat16 {
  using Bits = uint16_t;
  static constexpr ElementType kType = kBfloat16;
  NORMFUZZ_BOTH static float decode(Bits b) { return bits_as<float>(static_cast<uint32_t>(b) << 16); }
#ifdef __CUDA_ARCH__
  __device__ static Bits encode(float v) { return __bfloat16_as_ushort(__float2bfloat16_rn(v)); }
#else
  static Bits encode(float v) {
    const auto bits = bits_as<uint32_t>(v);
    if (v != v) return static_cast<Bits>(bits >> 16 | 0x40);
    return static_cast<Bits>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
#endif
};

template <class Element>
NORMFUZZ_BOTH inline float load_element(const unsigned char* p) {
  return Element::decode(load_at<typename Element::Bits>(p));
}
template <class Element>
NORMFUZZ_BOTH inline void store_element(unsigned char* p, float v) {
  store_at<typename Element::Bits>(p, Element::encode(v));
}

// Calls visit(Element{}) for the type that a parameter has, which need not be that of x.
template <class Visit>
NORMFUZZ_BOTH inline auto with_element(int32_t type, Visit visit) {
  if (type == kFloat16) return visit(Float16{});
  if (type == kBfloat16) return visit(Bfloat16{});
  return visit(Float32{});
}

// ---- addresses ----

// Not inlined into the kernels: divisions of 64 bits are long, and their places many.
NORMFUZZ_OUTLINED inline int64_t strided(int64_t index, int32_t rank, const int64_t* shape, const int64_t* stride) {
  int64_t offset = 0;
  for (int32_t i = rank - 1; i >= 0; --i) {
    offset += index % shape[i] * stride[i];
    index /= shape[i];
  }
  return offset;
}

NORMFUZZ_BOTH inline int64_t item_size(int32_t type) { return type == kFloat32 ? 4 : 2; }

// A row of x, dy or the result.
template <class Element>
class RowAccess {
 public:
  static constexpr int kLanes = kVectorBytes / sizeof(typename Element::Bits);

  NORMFUZZ_BOTH RowAccess(const RowTask& task, const TaskTensor& tensor, unsigned char* memory, int64_t row)
      : task_(task),
        tensor_(tensor),
        begin_(memory + tensor.offset + strided(row, task.outer_rank, task.outer_shape, tensor.outer_stride) * kItem) {}

  // Columns col to col + count - 1, count = kLanes or 1.
  NORMFUZZ_BOTH void load(int64_t col, int count, float* v) const {
    if (vectorized(col, count)) {
      const auto bits = load_vector<typename Element::Bits>(begin_ + col * kItem);
      for (int i = 0; i < kLanes; ++i) v[i] = Element::decode(bits.element[i]);
    } else {
      for (int i = 0; i < count; ++i) v[i] = load_element<Element>(address(col + i));
    }
  }
  NORMFUZZ_BOTH void store(int64_t col, int count, const float* v) const {
    if (vectorized(col, count)) {
      Vector<typename Element::Bits> bits;
      for (int i = 0; i < kLanes; ++i) bits.element[i] = Element::encode(v[i]);
      store_vector(begin_ + col * kItem, bits);
    } else {
      for (int i = 0; i < count; ++i) store_element<Element>(address(col + i), v[i]);
    }
  }

 private:
  static constexpr int64_t kItem = sizeof(typename Element::Bits);

  NORMFUZZ_BOTH bool vectorized(int64_t col, int count) const {
    return count == kLanes && tensor_.contiguous && vector_aligned(begin_ + col * kItem);
  }
  NORMFUZZ_BOTH unsigned char* address(int64_t col) const {
    return begin_ + (tensor_.contiguous ? col : strided(col, task_.inner_rank, task_.inner_shape, tensor_.inner_stride)) * kItem;
  }

  const RowTask& task_;
  const TaskTensor& tensor_;
  unsigned char* begin_;
};

NORMFUZZ_BOTH inline int64_t parameter_address(const RowTask& task, const TaskTensor& tensor, int64_t col) {
  return tensor.offset +
         (tensor.contiguous ? col : strided(col, task.inner_rank, task.inner_shape, tensor.inner_stride)) * item_size(tensor.type);
}
NORMFUZZ_OUTLINED inline float parameter(const RowTask& task, const TaskTensor& tensor, const unsigned char* memory, int64_t col,
                                         float absent) {
  if (tensor.offset < 0) return absent;
  const unsigned char* p = memory + parameter_address(task, tensor, col);
  return with_element(tensor.type, [p](auto element) { return load_element<decltype(element)>(p); });
}

// ---- the formulas ----

enum Statistic { kWelford, kTwoPass, kMeanSquare };  // of layer_norm, its variant, and of rms_norm

struct RowNumbers {
  float epsilon, weight_offset;
};

struct RowStatistics {
  float mean, scale;  // scale = 1/sqrt(statistic + epsilon); mean of rms_norm: 0
};

NORMFUZZ_BOTH inline unsigned char* statistics_address(const RowTask& task, unsigned char* memory, int64_t row) {
  return memory + task.statistics_offset + row * static_cast<int64_t>(sizeof(RowStatistics));
}

// rsqrtf is within 2 ulp (CUDA C++ Programming Guide, 'Mathematical Functions'); the host's quotient of a correctly rounded root as well.
NORMFUZZ_BOTH inline float reciprocal_root(float v) {
#ifdef __CUDA_ARCH__
  return rsqrtf(v);
#else
  return 1 / std::sqrt(v);
#endif
}

NORMFUZZ_BOTH inline float weight_of(const RowTask& task, const unsigned char* memory, int64_t col, const RowNumbers& numbers) {
  const float weight = parameter(task, task.weight, memory, col, 1);
  return numbers.weight_offset == 0 ? weight : numbers.weight_offset + weight;
}

// The combination over all threads of what visit(partial result, column, lanes) adds for every column that a thread takes.
template <class Value, class Element, class Order, class Block, class Add>
NORMFUZZ_BOTH inline Value over_row(Block& block, const RowAccess<Element>& x, int64_t cols, Add add) {
  return block.template reduce<Value>([&](int thread) {
    Value partial;
    Order::template for_each_columns<RowAccess<Element>::kLanes>(cols, thread, block.threads(), [&](int64_t col, int count) {
      float v[RowAccess<Element>::kLanes];
      x.load(col, count, v);
      for (int i = 0; i < count; ++i) add(partial, v[i], col + i);
    });
    return partial;
  });
}

template <Statistic kStatistic, class Element, class Order, class Block>
NORMFUZZ_BOTH inline RowStatistics row_statistics(Block& block, const RowAccess<Element>& x, int64_t cols, float epsilon) {
  const auto count = static_cast<float>(cols);
  float mean = 0, statistic = 0;
  if constexpr (kStatistic == kWelford) {
    const auto moments = over_row<Moments, Element, Order>(block, x, cols, [](Moments& m, float v, int64_t) { m.add(v); });
    mean = moments.mean;
    statistic = moments.squares / count;
  } else {
    if constexpr (kStatistic == kTwoPass)
      mean = over_row<Sum, Element, Order>(block, x, cols, [](Sum& s, float v, int64_t) { s.add(v); }).total / count;
    const auto squares = over_row<Sum, Element, Order>(block, x, cols, [mean](Sum& s, float v, int64_t) {
      const float d = v - mean;
      s.add(d * d);
    });
    statistic = squares.total / count;
  }
  return {mean, reciprocal_root(statistic + epsilon)};
}

// y = (x - mean) scale weight + bias
template <Statistic kStatistic, class Element, class Order, class Block>
NORMFUZZ_BOTH void forward_row(Block& block, const RowTask& task, unsigned char* memory, int64_t row, const RowNumbers& numbers) {
  using Access = RowAccess<Element>;
  const Access x(task, task.x, memory, row), y(task, task.result, memory, row);
  const RowStatistics s = row_statistics<kStatistic, Element, Order>(block, x, task.cols, numbers.epsilon);
  block.each_thread([&](int thread) {
    Order::template for_each_columns<Access::kLanes>(task.cols, thread, block.threads(), [&](int64_t col, int count) {
      float v[Access::kLanes];
      x.load(col, count, v);
      for (int i = 0; i < count; ++i)
        v[i] = (v[i] - s.mean) * s.scale * weight_of(task, memory, col + i, numbers) + parameter(task, task.bias, memory, col + i, 0);
      y.store(col, count, v);
    });
  });
}

// dx = scale (g - mean(g) - xhat mean(g xhat)), g = weight dy; rms_norm without mean(g). Leaves the row's statistics for column_sums.
template <Statistic kStatistic, class Element, class Order, class Block>
NORMFUZZ_BOTH void input_gradient_row(Block& block, const RowTask& task, unsigned char* memory, int64_t row, const RowNumbers& numbers) {
  using Access = RowAccess<Element>;
  const Access x(task, task.x, memory, row), dy(task, task.dy, memory, row), dx(task, task.result, memory, row);
  const RowStatistics s = row_statistics<kStatistic, Element, Order>(block, x, task.cols, numbers.epsilon);
  const auto count = static_cast<float>(task.cols);
  const float mean_g = kStatistic == kMeanSquare ? 0
                                                 : over_row<Sum, Element, Order>(
                                                       block, dy, task.cols,
                                                       [&](Sum& sum, float v, int64_t col) {
                                                         sum.add(weight_of(task, memory, col, numbers) * v);
                                                       }).total /
                                                       count;
  const float mean_g_xhat = over_row<Sum, Element, Order>(block, x, task.cols,
                                                          [&](Sum& sum, float v, int64_t col) {
                                                            float g;
                                                            dy.load(col, 1, &g);
                                                            sum.add(weight_of(task, memory, col, numbers) * g * ((v - s.mean) * s.scale));
                                                          })
                                .total /
                            count;
  block.each_thread([&](int thread) {
    if (thread == 0) store_at(statistics_address(task, memory, row), s);
    Order::template for_each_columns<Access::kLanes>(task.cols, thread, block.threads(), [&](int64_t col, int lanes) {
      float v[Access::kLanes], g[Access::kLanes];
      x.load(col, lanes, v);
      dy.load(col, lanes, g);
      for (int i = 0; i < lanes; ++i)
        v[i] = s.scale * (weight_of(task, memory, col + i, numbers) * g[i] - mean_g - (v[i] - s.mean) * s.scale * mean_g_xhat);
      dx.store(col, lanes, v);
    });
  });
}

// dweight = sum of dy xhat and dbias = sum of dy, over the rows from first to last: one thread per column.
template <class Element>
NORMFUZZ_BOTH void column_sums(const RowTask& task, unsigned char* memory, int64_t col) {
  float dweight = 0, dbias = 0;
  for (int64_t row = 0; row < task.rows; ++row) {
    float x, dy;
    RowAccess<Element>(task, task.x, memory, row).load(col, 1, &x);
    RowAccess<Element>(task, task.dy, memory, row).load(col, 1, &dy);
    const auto s = load_at<RowStatistics>(statistics_address(task, memory, row));
    dweight += dy * ((x - s.mean) * s.scale);
    dbias += dy;
  }
  const auto store = [&](const TaskTensor& tensor, float v) {
    if (tensor.offset < 0) return;
    unsigned char* p = memory + parameter_address(task, tensor, col);
    with_element(tensor.type, [p, v](auto element) { store_element<decltype(element)>(p, v); });
  };
  store(task.dweight, dweight);
  store(task.dbias, dbias);
}

enum class Variant { kWelford, kTwoPass };

}  // namespace normfuzz::cuda
