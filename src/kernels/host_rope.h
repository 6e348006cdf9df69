// A rotary table as the fast bodies read it.
#pragma once

#include <ATen/core/Tensor.h>

#include "cpu/rope.h"
#include "kernels/rope.h"

namespace troika::kernels {

// Keeps alive what `rows` points to.
struct HostRope {
  explicit HostRope(const RopeTable& rope) : cos(rope.cos_TI.contiguous()), sin(rope.sin_TI.contiguous()) {
    rows.cos = cos.data_ptr<float>();
    rows.sin = sin.data_ptr<float>();
    if (!rope.row_BT.defined()) return;
    row = rope.row_BT.contiguous();
    rows.row = row.data_ptr<std::int64_t>();
  }
  at::Tensor cos, sin, row;
  cpu::RopeRows rows;
};

}  // namespace troika::kernels
