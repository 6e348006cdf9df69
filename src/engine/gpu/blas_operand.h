// A product's matrices as cuBLASLt sees them: columns are contiguous, so a matrix whose rows are is its own transpose.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "gpu/blas_api.h"
#include "tensor/tensor.h"

namespace troika::gpu {

BlasType type_of(tensor::Dtype dtype);  // BugError for one that has no products
bool rows_are_contiguous(const tensor::Tensor& x);

struct BlasOperand {
  tensor::Dtype dtype = tensor::Dtype::fp32;
  std::int64_t rows = 0, columns = 0, stride = 0, batch_stride = 0;
  BlasTranspose transpose = BlasTranspose::none;  // where it has to be turned back
  std::int64_t alignment = 16;                    // bytes, of its first element and its strides

  std::array<std::int64_t, 7> key() const {
    return {static_cast<std::int64_t>(dtype),     rows,     columns, stride, batch_stride,
            static_cast<std::int64_t>(transpose), alignment};
  }
};
BlasOperand operand_of(const tensor::Tensor& x);  // BugError where neither rows nor columns are contiguous

// "bf16 1024x8192 stride 1024 aligned 16", with "transposed" and the stride of batches where there are any.
std::string text_of(const BlasOperand& x);

}  // namespace troika::gpu
