#include "cpu/product.h"

#ifdef TROIKA_WITH_DNNL
#include <cpuid.h>
#include <dnnl.h>
#include <fmt/format.h>

#include <algorithm>

#include "cpu/tile_units.h"

// Exported by oneDNN since 1.0, but in none of its headers.
extern "C" dnnl_status_t dnnl_gemm_bf16bf16f32(char transa, char transb, dnnl_dim_t M, dnnl_dim_t N, dnnl_dim_t K,
                                               float alpha, const std::uint16_t* A, dnnl_dim_t lda,
                                               const std::uint16_t* B, dnnl_dim_t ldb, float beta, float* C,
                                               dnnl_dim_t ldc);

namespace troika::cpu {
namespace {

// As libraries name it: stored by rows, or by columns ("transposed"), with this distance between two of them.
struct Stored {
  bool by_rows = true;
  std::int64_t distance = 1;
};

// A matrix of one row or one column may have both strides 1, and a distance must be at least a row's length.
template <class Element>
Stored stored(const MatrixOf<Element>& m, std::int64_t rows, std::int64_t columns) {
  const bool by_rows = m.column_stride == 1 && (m.row_stride != 1 || rows == 1 || columns == 1);
  return by_rows ? Stored{true, std::max(m.row_stride, columns)} : Stored{false, std::max(m.column_stride, rows)};
}

}  // namespace

int sgemm(std::int64_t M, std::int64_t N, std::int64_t K, const Matrix& a, const Matrix& b, float beta, float* c,
          std::int64_t c_stride) {
  const Stored sa = stored(a, M, K), sb = stored(b, K, N);
  return dnnl_sgemm(sa.by_rows ? 'N' : 'T', sb.by_rows ? 'N' : 'T', M, N, K, 1.0f, a.data, sa.distance, b.data,
                    sb.distance, beta, c, M == 1 ? N : c_stride);
}

int sgemm(std::int64_t M, std::int64_t N, std::int64_t K, const HalfMatrix& a, const HalfMatrix& b, float beta,
          float* c, std::int64_t c_stride) {
  const Stored sa = stored(a, M, K), sb = stored(b, K, N);
  const auto bits = [](const Bf16* p) { return reinterpret_cast<const std::uint16_t*>(p); };
  return dnnl_gemm_bf16bf16f32(sa.by_rows ? 'N' : 'T', sb.by_rows ? 'N' : 'T', M, N, K, 1.0f, bits(a.data), sa.distance,
                               bits(b.data), sb.distance, beta, c, M == 1 ? N : c_stride);
}

// Without units for bf16 the library imitates them, slower than fp32, or refuses.
bool multiplies_halves() {
  static const bool does = [] {
    const Bf16 one{0x3f80};
    float product = 0;
    unsigned a = 0, b = 0, c = 0, d = 0;
    const bool has_bf16 = __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & 1u << 5) != 0;  // AVX512_BF16
    return has_bf16 && sgemm(1, 1, 1, {&one, 1}, {&one, 1}, 0, &product, 1) == 0 &&
           product == 1;
  }();
  return does;
}

std::string product_library() {
  if (has_tile_units()) return "Troika's own product, AMX";
  const dnnl_version_t& v = *dnnl_version();
  return fmt::format("oneDNN {}.{}.{}", v.major, v.minor, v.patch);
}

}  // namespace troika::cpu
#else
namespace troika::cpu {

int sgemm(std::int64_t M, std::int64_t N, std::int64_t K, const Matrix& a, const Matrix& b, float beta, float* c,
          std::int64_t c_stride) {
  product(M, N, K, a, b, beta, c, c_stride);
  return 0;
}

int sgemm(std::int64_t, std::int64_t, std::int64_t, const HalfMatrix&, const HalfMatrix&, float, float*, std::int64_t) {
  return sgemm_unknown;
}

bool multiplies_halves() { return false; }

std::string product_library() { return "Troika's own product"; }

}  // namespace troika::cpu
#endif
