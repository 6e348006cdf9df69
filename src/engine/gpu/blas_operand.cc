#include "gpu/blas.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace troika::gpu {
using tensor::Dtype;
using tensor::Tensor;

BlasType type_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::fp32:
      return BlasType::fp32;
    case Dtype::bf16:
      return BlasType::bf16;
    case Dtype::fp16:
      return BlasType::fp16;
    default:
      throw base::BugError(fmt::format("a product of {} on a GPU", base::name_of(dtype)));
  }
}

bool rows_are_contiguous(const Tensor& x) {
  return x.stride(-1) == 1 && (x.size(-2) <= 1 || x.stride(-2) >= x.size(-1));
}

static std::int64_t alignment_of(const Tensor& x, std::int64_t stride) {
  std::int64_t bytes = 16;
  const auto address = reinterpret_cast<std::uintptr_t>(x.data());
  const std::int64_t step = stride * x.element_bytes(), batch = x.dims() == 3 ? x.stride(0) * x.element_bytes() : 0;
  while (address % static_cast<std::uintptr_t>(bytes) != 0 || step % bytes != 0 || batch % bytes != 0) bytes /= 2;
  return bytes;
}

BlasOperand operand_of(const Tensor& x) {
  const bool rows = rows_are_contiguous(x);
  if (!rows && x.stride(-2) != 1)
    throw base::BugError(fmt::format("a product of a matrix {} with strides {}", text_of(x.sizes()), text_of(x.strides())));
  BlasOperand operand{x.dtype(), x.size(-1), x.size(-2), rows ? x.stride(-2) : x.stride(-1), x.dims() == 3 ? x.stride(0) : 0};
  if (!rows) {
    std::swap(operand.rows, operand.columns);
    operand.transpose = BlasTranspose::transposed;
  }
  operand.stride = std::max(operand.stride, operand.rows);  // of one column
  operand.alignment = alignment_of(x, operand.stride);
  return operand;
}

std::string text_of(const BlasOperand& x) {
  return fmt::format("{} {}x{} stride {}{} aligned {}{}", base::name_of(x.dtype), x.rows, x.columns, x.stride,
                     x.batch_stride == 0 ? "" : fmt::format(" of batches {}", x.batch_stride), x.alignment,
                     x.transpose == BlasTranspose::transposed ? " transposed" : "");
}

}  // namespace troika::gpu
