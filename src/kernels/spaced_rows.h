// Room for matrices whose columns a product reads: rows a large power of two apart would share few sets of the caches, so
// these stand a line further apart.
#pragma once

#include <ATen/core/Tensor.h>

namespace troika::kernels {

// Uninitialised [rows, columns] in fp32; a row is contiguous.
at::Tensor empty_spaced_rows(std::int64_t rows, std::int64_t columns, const c10::Device& device);

}  // namespace troika::kernels
