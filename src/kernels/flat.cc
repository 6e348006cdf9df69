#include "kernels/flat.h"

#include "kernels/reference/reference.h"

namespace troika::kernels {

void add_into(const at::Tensor& sum, const at::Tensor& other) { return reference::add_into(sum, other); }

std::vector<double> chunk_squares(const at::Tensor& x) { return reference::chunk_squares(x); }

void adamw(const AdamW& settings, const at::Tensor& parameter, const at::Tensor& gradient, const at::Tensor& m,
           const at::Tensor& v, const at::Tensor& rounded) {
  return reference::adamw(settings, parameter, gradient, m, v, rounded);
}

void round_into(const at::Tensor& master, const at::Tensor& rounded) { return reference::round_into(master, rounded); }

}  // namespace troika::kernels
