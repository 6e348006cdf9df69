// Stands in for cuBLASLt over the streams of the stand-in driver: products by loops, in column-major order as the library has it.
// It has three algorithms, which add in different orders: one takes 1 ms, the one that it recommends 3, the third 2.
//
// TROIKA_STAND_IN_BLAS (120901): its version. TROIKA_STAND_IN_FASTEST (1): the fastest algorithm, 1 or 2.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "gpu/blas_api.h"
#include "cuda/number.h"
#include "tensor/fake_lane_test_support.h"

namespace {
using namespace troika::gpu;
using troika::tensor::FakeLane;
using troika::tensor::FakeWork;

constexpr auto invalid_value = static_cast<BlasStatus>(7), not_supported = static_cast<BlasStatus>(15);

constexpr std::uint64_t algorithms = 3, mark = 0x5eed;  // data: which of them, mark

std::uint64_t number_of(const char* variable, std::uint64_t usual) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? usual : std::strtoull(text, nullptr, 10);
}

bool is_algorithm(const BlasAlgorithm& x) { return x.data[0] < algorithms && x.data[1] == mark; }

}  // namespace

namespace troika::gpu {

struct BlasHandle {};
struct BlasPreference {};
struct BlasProduct {
  std::int32_t transpose_a = 0, transpose_b = 0, epilogue = 1, bias_type = -1;
  const void* bias = nullptr;
};
struct BlasMatrix {
  BlasType type = BlasType::fp32;
  std::int64_t rows = 0, columns = 0, stride = 0;
  std::int32_t batches = 1;
  std::int64_t batch_stride = 0;
};

}  // namespace troika::gpu

namespace {

float read(BlasType type, const void* data, std::int64_t at) {
  if (type == BlasType::fp32) return static_cast<const float*>(data)[at];
  if (type == BlasType::bf16) return troika::cuda::to_float(static_cast<const troika::cuda::Bf16*>(data)[at]);
  return troika::cuda::to_float(static_cast<const troika::cuda::Fp16*>(data)[at]);
}

void write(BlasType type, void* data, std::int64_t at, float x) {
  if (type == BlasType::fp32)
    static_cast<float*>(data)[at] = x;
  else if (type == BlasType::bf16)
    static_cast<troika::cuda::Bf16*>(data)[at] = troika::cuda::rounded<troika::cuda::Bf16>(x);
  else
    static_cast<troika::cuda::Fp16*>(data)[at] = troika::cuda::rounded<troika::cuda::Fp16>(x);
}

struct Operand {
  BlasMatrix layout;
  const void* data;
  bool transposed;
  std::int64_t rows() const { return transposed ? layout.columns : layout.rows; }
  std::int64_t columns() const { return transposed ? layout.rows : layout.columns; }
  float at(std::int64_t batch, std::int64_t row, std::int64_t column) const {
    if (transposed) std::swap(row, column);
    return read(layout.type, data, batch * layout.batch_stride + column * layout.stride + row);
  }
};

class Product final : public FakeWork {
 public:
  Product(std::uint64_t algorithm, BlasProduct product, Operand a, Operand b, Operand c, void* d, BlasMatrix of_d, float alpha,
          float beta)
      : algorithm_(algorithm), product_(product), a_(a), b_(b), c_(c), d_(d), of_d_(of_d), alpha_(alpha), beta_(beta) {}
  std::int64_t milliseconds() const override {
    return algorithm_ == 0 ? 3 : algorithm_ == number_of("TROIKA_STAND_IN_FASTEST", 1) ? 1 : 2;
  }
  bool try_to_do() override {
    const auto K = static_cast<std::size_t>(a_.columns());
    for (std::int64_t batch = 0; batch < of_d_.batches; ++batch) {
      // The factors lie side by side, in the order in which the algorithm adds.
      std::vector<float> a(static_cast<std::size_t>(of_d_.rows) * K), b(static_cast<std::size_t>(of_d_.columns) * K);
      for (std::size_t i = 0; i < K; ++i) {
        const auto k = static_cast<std::int64_t>(algorithm_ == 0 ? i : algorithm_ == 1 ? K - 1 - i : (i + K / 2) % K);
        for (std::int64_t row = 0; row < of_d_.rows; ++row) a[static_cast<std::size_t>(row) * K + i] = a_.at(batch, row, k);
        for (std::int64_t column = 0; column < of_d_.columns; ++column)
          b[static_cast<std::size_t>(column) * K + i] = b_.at(batch, k, column);
      }
      for (std::int64_t column = 0; column < of_d_.columns; ++column)
        for (std::int64_t row = 0; row < of_d_.rows; ++row) {
          const float *x = a.data() + static_cast<std::size_t>(row) * K, *y = b.data() + static_cast<std::size_t>(column) * K;
          float sum = 0;
          for (std::size_t i = 0; i < K; ++i) sum += x[i] * y[i];
          sum *= alpha_;
          if (beta_ != 0) sum += beta_ * c_.at(batch, row, column);
          if (product_.epilogue == static_cast<int>(BlasEpilogue::bias))
            sum += read(static_cast<BlasType>(product_.bias_type), product_.bias, row);
          write(of_d_.type, d_, batch * of_d_.batch_stride + column * of_d_.stride + row, sum);
        }
    }
    return true;
  }

 private:
  const std::uint64_t algorithm_;
  BlasProduct product_;
  Operand a_, b_, c_;
  void* d_;
  BlasMatrix of_d_;
  float alpha_, beta_;
};

bool fits(const Operand& a, const Operand& b, const BlasMatrix& d) {
  const auto holds = [](const BlasMatrix& x) { return x.stride >= x.rows; };
  return a.columns() == b.rows() && a.rows() == d.rows && b.columns() == d.columns && a.layout.type == b.layout.type &&
         holds(a.layout) && holds(b.layout) && holds(d) && a.layout.batches == d.batches && b.layout.batches == d.batches &&
         (d.type == a.layout.type || d.type == BlasType::fp32);
}

// The added matrix may lie elsewhere, its columns further apart.
bool fits_too(const BlasMatrix& c, const BlasMatrix& d) {
  return c.type == d.type && c.rows == d.rows && c.columns == d.columns && c.stride >= c.rows && c.batches == d.batches;
}

template <class Field>
BlasStatus take(Field* field, const void* value, std::size_t bytes) {
  if (bytes != sizeof *field) return invalid_value;
  std::memcpy(field, value, bytes);
  return BlasStatus::success;
}

}  // namespace

extern "C" {

std::size_t cublasLtGetVersion() { return number_of("TROIKA_STAND_IN_BLAS", 120901); }
const char* cublasLtGetStatusName(BlasStatus status) {
  return status == invalid_value ? "CUBLAS_STATUS_INVALID_VALUE" : "CUBLAS_STATUS_INTERNAL_ERROR";
}
BlasStatus cublasLtCreate(BlasHandle** handle) {
  *handle = new BlasHandle;
  return BlasStatus::success;
}
BlasStatus cublasLtDestroy(BlasHandle* handle) {
  delete handle;
  return BlasStatus::success;
}
BlasStatus cublasLtMatmulDescCreate(BlasProduct** product, BlasCompute compute, BlasType scale) {
  *product = new BlasProduct;
  return compute == BlasCompute::fp32 && scale == BlasType::fp32 ? BlasStatus::success : invalid_value;
}
BlasStatus cublasLtMatmulDescSetAttribute(BlasProduct* product, BlasProductAttribute name, const void* value, std::size_t bytes) {
  switch (name) {
    case BlasProductAttribute::transpose_a:
      return take(&product->transpose_a, value, bytes);
    case BlasProductAttribute::transpose_b:
      return take(&product->transpose_b, value, bytes);
    case BlasProductAttribute::epilogue:
      return take(&product->epilogue, value, bytes);
    case BlasProductAttribute::bias:
      return take(&product->bias, value, bytes);
    case BlasProductAttribute::bias_type:
      return take(&product->bias_type, value, bytes);
  }
  return invalid_value;
}
BlasStatus cublasLtMatmulDescDestroy(BlasProduct* product) {
  delete product;
  return BlasStatus::success;
}
BlasStatus cublasLtMatrixLayoutCreate(BlasMatrix** matrix, BlasType type, std::uint64_t rows, std::uint64_t columns,
                                      std::int64_t stride) {
  *matrix = new BlasMatrix{type, static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns), stride, 1, 0};
  return BlasStatus::success;
}
BlasStatus cublasLtMatrixLayoutSetAttribute(BlasMatrix* matrix, BlasMatrixAttribute name, const void* value, std::size_t bytes) {
  return name == BlasMatrixAttribute::batches ? take(&matrix->batches, value, bytes) : take(&matrix->batch_stride, value, bytes);
}
BlasStatus cublasLtMatrixLayoutDestroy(BlasMatrix* matrix) {
  delete matrix;
  return BlasStatus::success;
}
BlasStatus cublasLtMatmulPreferenceCreate(BlasPreference** preference) {
  *preference = new BlasPreference;
  return BlasStatus::success;
}
BlasStatus cublasLtMatmulPreferenceSetAttribute(BlasPreference*, BlasPreferenceAttribute name, const void*, std::size_t bytes) {
  return bytes == (name == BlasPreferenceAttribute::workspace_bytes ? 8u : 4u) ? BlasStatus::success : invalid_value;
}
BlasStatus cublasLtMatmulPreferenceDestroy(BlasPreference* preference) {
  delete preference;
  return BlasStatus::success;
}

static Operand operand(const BlasMatrix* layout, const void* data, std::int32_t transpose) { return {*layout, data, transpose == 1}; }

BlasStatus cublasLtMatmulAlgoGetHeuristic(BlasHandle*, BlasProduct* product, BlasMatrix* a, BlasMatrix* b, BlasMatrix* c,
                                          BlasMatrix* d, BlasPreference*, int wanted, BlasChoice* choices, int* found) {
  if (wanted < 1 || !fits(operand(a, nullptr, product->transpose_a), operand(b, nullptr, product->transpose_b), *d) ||
      !fits_too(*c, *d))
    return invalid_value;
  *found = std::min<int>(wanted, algorithms);
  for (int i = 0; i < *found; ++i) choices[i] = {{{static_cast<std::uint64_t>(i), mark}}, 0, BlasStatus::success, 0, {}};
  return BlasStatus::success;
}
BlasStatus cublasLtMatmulAlgoCheck(BlasHandle*, BlasProduct*, BlasMatrix*, BlasMatrix*, BlasMatrix*, BlasMatrix*,
                                   const BlasAlgorithm* algorithm, BlasChoice* result) {
  result->workspace_bytes = 0;
  return is_algorithm(*algorithm) ? BlasStatus::success : not_supported;
}
BlasStatus cublasLtMatmul(BlasHandle*, BlasProduct* product, const void* alpha, const void* a, BlasMatrix* of_a, const void* b,
                          BlasMatrix* of_b, const void* beta, const void* c, BlasMatrix* of_c, void* d, BlasMatrix* of_d,
                          const BlasAlgorithm* algorithm, void* workspace, std::size_t, void* stream) {
  const Operand x = operand(of_a, a, product->transpose_a), y = operand(of_b, b, product->transpose_b);
  if (algorithm == nullptr || !is_algorithm(*algorithm) || workspace == nullptr || !fits(x, y, *of_d) ||
      !fits_too(*of_c, *of_d) || (c == d && of_c->stride != of_d->stride))
    return invalid_value;
  static_cast<FakeLane*>(stream)->push(
      std::make_unique<Product>(algorithm->data[0], *product, x, y, operand(of_c, c, 0), d, *of_d, *static_cast<const float*>(alpha),
                                *static_cast<const float*>(beta)));
  return BlasStatus::success;
}

}  // extern "C"
