// Products of a few rows with a large weight, which is what decoding computes: bound by reading the weight, so halves are
// read as they are. A row's result has the same bits whatever the other rows are, and for any number of threads.
// Shapes: M rows, I inputs, O outputs.
#pragma once

#include <cstdint>

#include "cpu/dtype.h"

namespace troika::cpu {

// Above this many rows gemm.h is faster.
inline constexpr std::int64_t few_rows = 16;

struct Weight {
  Dtype element = Dtype::fp32;  // or bf16, fp16
  enum class Order { out_in, in_out } order = Order::out_in;  // [O, I], or [I, O]; dense
  std::int64_t I = 0, O = 0;
  const void* data = nullptr;
};

// y = x w^T + bias, in fp32. x: M x I, dense; y: M x O, rows y_stride apart; `bias_O` may be null. y must not overlap the
// inputs.
void multiply_few_rows(std::int64_t M, const float* x_MI, const Weight& w, const float* bias_O, float* y_MO,
                       std::int64_t y_stride);

}  // namespace troika::cpu
