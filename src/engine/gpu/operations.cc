#include "gpu/operations.h"

#include <fmt/format.h>

#include "base/error.h"
#include "cuda/elements_dispatch.h"
#include "tensor/copy.h"

namespace troika::gpu {
using tensor::Tensor;
namespace dispatch = cuda::dispatch;

namespace {

dispatch::Elements elements_of(const Tensor& x) { return {x.dtype(), x.data()}; }

cuda::WalkShape shape_of(const Tensor& a, const Tensor& b) {
  static_assert(tensor::max_dims <= cuda::most_walked_dims);
  cuda::WalkShape shape;
  if (a.elements() == 0) return {1, {0}, {1}, {1}};
  for (const tensor::Walk::Dimension& one : tensor::walk_of(a, b).dimensions) {
    shape.size[shape.dims] = one.size;
    shape.of_a[shape.dims] = one.of_a;
    shape.of_b[shape.dims++] = one.of_b;
  }
  return shape;
}

void check_place(const Tensor& x, const Tensor& other) {
  if (x.device() != other.device())
    throw base::BugError(
        fmt::format("an operation on tensors of {} and {}", name_of(x.device()), name_of(other.device())));
}

// Rows of whole tensors.
dispatch::RowIndex index_of(const Tensor& index_r, const Tensor& held) {
  const std::int64_t rows = held.size(0);
  return {index_r.data<std::int64_t>(), index_r.elements(), rows, rows == 0 ? 0 : held.elements() / rows};
}

}  // namespace

void DeviceOperations::copy(const Tensor& to, const Tensor& from) {
  if (to.elements() == 0) return;
  if (to.is_cuda() && from.is_cuda() && to.device() != from.device()) return copy(to, from.cpu());
  if (to.dtype() == from.dtype() && to.is_contiguous() && from.is_contiguous()) return copy_bytes(to, from);
  if (to.device() == from.device())
    return dispatch::copy_elements(OnDevice(to), shape_of(to, from), elements_of(to), elements_of(from));
  if (to.is_cpu()) {  // what differs but the place is changed before, then after
    const Tensor there = from.contiguous(), here = tensor::empty(from.sizes(), from.dtype());
    copy_bytes(here, there);
    to.copy_from(here);
  } else {
    const Tensor here = from.contiguous(), there = tensor::empty(from.sizes(), to.type().of(from.dtype()));
    copy_bytes(there, here);
    copy(to, there);
  }
}

void DeviceOperations::fill(const Tensor& x, double value) {
  dispatch::fill_elements(OnDevice(x), shape_of(x, x), elements_of(x), value);
}

void DeviceOperations::add(const Tensor& sum, const Tensor& x, double scale) {
  check_place(sum, x);
  dispatch::add_elements(OnDevice(sum), shape_of(sum, x), elements_of(sum), elements_of(x), scale);
}

void DeviceOperations::multiply(const Tensor& x, double factor) {
  dispatch::multiply_elements(OnDevice(x), shape_of(x, x), elements_of(x), factor);
}

void DeviceOperations::gather_rows(const Tensor& to, const Tensor& from, const Tensor& index_r) {
  check_place(to, from);
  const Tensor whole = from.contiguous(), index = index_r.contiguous();
  dispatch::gather_rows(OnDevice(to), index_of(index, whole), elements_of(to), elements_of(whole));
}

void DeviceOperations::scatter_rows(const Tensor& to, const Tensor& index_r, const Tensor& from) {
  check_place(to, from);
  const Tensor rows = from.to(to.dtype()).contiguous(), index = index_r.contiguous();
  dispatch::scatter_rows(OnDevice(to), index_of(index, to), elements_of(to), elements_of(rows));
}

void DeviceOperations::add_rows(const Tensor& sum, const Tensor& index_r, const Tensor& x) {
  check_place(sum, x);
  const Tensor rows = x.contiguous(), index = index_r.contiguous();
  dispatch::add_rows(OnDevice(sum), index_of(index, sum), elements_of(sum), elements_of(rows));
}

}  // namespace troika::gpu
