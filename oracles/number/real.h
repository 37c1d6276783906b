// One MPFR number with its limbs inside the object, so that row arithmetic does not call malloc.
#pragma once

#include <mpfr.h>

#include <memory>

namespace normfuzz {

// Precision in bits of the enclosures made on this thread; the Ziv loop doubles it until a verdict is decided.
mpfr_prec_t working_precision();
class PrecisionScope {
 public:
  explicit PrecisionScope(mpfr_prec_t bits);
  ~PrecisionScope();
  PrecisionScope(const PrecisionScope&) = delete;
  PrecisionScope& operator=(const PrecisionScope&) = delete;

 private:
  mpfr_prec_t saved_;
};

class Real {
 public:
  Real() { init(); }
  Real(const Real& other) {
    init();
    mpfr_set(value_, other.value_, MPFR_RNDN);  // exact within one PrecisionScope: both have the working precision
  }
  Real& operator=(const Real& other) {
    mpfr_set(value_, other.value_, MPFR_RNDN);
    return *this;
  }
  mpfr_ptr get() { return value_; }
  mpfr_srcptr get() const { return value_; }

 private:
  static constexpr mpfr_prec_t kInlineBits = 192;  // the first precision tried; wider ones allocate
  void init() {
    const mpfr_prec_t bits = working_precision();
    void* limbs = inline_;
    if (bits > kInlineBits) {
      heap_ = std::make_unique<unsigned char[]>(mpfr_custom_get_size(bits));
      limbs = heap_.get();
    }
    mpfr_custom_init(limbs, bits);
    mpfr_custom_init_set(value_, MPFR_ZERO_KIND, 0, bits, limbs);
  }
  mpfr_t value_;
  mp_limb_t inline_[kInlineBits / 64];
  std::unique_ptr<unsigned char[]> heap_;
};

}  // namespace normfuzz
