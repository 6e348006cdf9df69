#include "commands/bench/operation.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "tensor/tensor.h"

namespace troika::commands {

static double relative_error_of(const tensor::Tensor& got, const tensor::Tensor& want) {
  if (got.sizes() != want.sizes())
    throw base::BugError(fmt::format("a body returns {} elements, its reference {}", got.elements(), want.elements()));
  const double scale = want.abs().max().item<double>();
  const double error = (got.to(tensor::Dtype::fp64) - want.to(tensor::Dtype::fp64)).abs().max().item<double>();
  return error == 0 ? 0 : error / scale;
}

double relative_error(const std::vector<tensor::Tensor>& got, const std::vector<tensor::Tensor>& want) {
  if (got.size() != want.size())
    throw base::BugError(fmt::format("a body returns {} results, its reference {}", got.size(), want.size()));
  double largest = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = relative_error_of(got[i], want[i]);
    if (std::isnan(error)) return error;
    largest = std::max(largest, error);
  }
  return largest;
}

}  // namespace troika::commands
