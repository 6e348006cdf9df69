#include "bench/machine_rates.h"

#include <algorithm>

#include "bench/timing.h"
#include "cpu/gemm.h"
#include "cpu/parallel.h"
#include "tensor/tensor.h"

namespace troika::bench {
namespace {

constexpr std::int64_t gemm_M = 2048, gemm_K = 1024, gemm_N = 3072;
constexpr std::int64_t triad_elements = std::int64_t{16} << 20;
constexpr std::int64_t triad_piece_elements = std::int64_t{1} << 16;
static_assert(triad_elements % triad_piece_elements == 0);

template <class Element>
cpu::MatrixOf<Element> rows_of(const tensor::Tensor& x) {
  return {static_cast<const Element*>(x.data()), x.stride(0), 1};
}

// As operations multiply: tiles of the matrix library's product on all threads.
template <class Element>
void product(const tensor::Tensor& x, const tensor::Tensor& w, const tensor::Tensor& y) {
  cpu::gemm(gemm_M, gemm_N, gemm_K, rows_of<Element>(x), rows_of<Element>(w), y.data<float>(), gemm_N, {});
}

// Of a length that compilers know and arrays that they may take as apart, so that they use vectors: one element at a time takes
// longer than the memory does.
void triad_piece(const float* __restrict b, const float* __restrict c, float* __restrict a) {
  for (std::int64_t i = 0; i < triad_piece_elements; ++i) a[i] = b[i] + 3 * c[i];
}

void triad(const float* b, const float* c, float* a) {
  cpu::parallel_pieces(triad_elements, triad_piece_elements,
                       [=](std::int64_t begin, std::int64_t) { triad_piece(b + begin, c + begin, a + begin); });
}

// With all threads.
double gemm_rate(tensor::Dtype operands, double seconds) {
  const tensor::Tensor x = tensor::full({gemm_M, gemm_K}, 0.5, operands), w = tensor::full({gemm_K, gemm_N}, 0.25, operands);
  const tensor::Tensor y = tensor::empty({gemm_M, gemm_N});
  const auto body = [&] { (operands == tensor::Dtype::fp32 ? product<float> : product<cpu::Bf16>)(x, w, y); };
  return 2.0 * gemm_M * gemm_K * gemm_N / median_seconds(body, seconds);
}

double triad_rate(double seconds) {
  const tensor::Tensor b = tensor::ones({triad_elements}), c = tensor::full({triad_elements}, 2);
  const tensor::Tensor a = tensor::zeros({triad_elements});
  const double each = median_seconds([&] { triad(b.data<float>(), c.data<float>(), a.data<float>()); }, seconds);
  return 12.0 * triad_elements / each;
}

}  // namespace

MachineRates measure_rates(tensor::Dtype operands, double seconds) {
  const bool as_they_are = operands == tensor::Dtype::bf16 && cpu::multiplies_halves();
  return {gemm_rate(as_they_are ? operands : tensor::Dtype::fp32, seconds), triad_rate(seconds)};
}

MachineRates better(const MachineRates& a, const MachineRates& b) {
  return {std::max(a.gemm_flops_per_second, b.gemm_flops_per_second),
          std::max(a.triad_bytes_per_second, b.triad_bytes_per_second)};
}

}  // namespace troika::bench
