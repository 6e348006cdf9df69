#include "model/segment_tools.h"

#include <fmt/format.h>

#include "base/error.h"
#include "tensor/tensor.h"

namespace troika::model {

// Shares `given`, which somebody else owns, or owns a group of this rank alone.
template <class Group>
static std::shared_ptr<const Group> shared(const Group* given) {
  if (given == nullptr) return std::make_shared<const Group>();
  return {std::shared_ptr<const Group>(), given};
}

Groups groups_of(const Parallelism& parallel) { return {shared(parallel.tensor), shared(parallel.context)}; }

double loss_factor(const Tokens& tokens) {
  if (tokens.T_whole < tokens.T)
    throw base::BugError(fmt::format("{} positions of a sequence of {}", tokens.T, tokens.T_whole));
  return tokens.loss_scale / static_cast<double>(tokens.B * tokens.T_whole);
}

tensor::Tensor gradient_like(const tensor::Tensor& parameter) {
  return tensor::empty(parameter.sizes(), parameter.type().of(tensor::Dtype::fp32));
}

std::int64_t bytes_of(std::initializer_list<const tensor::Tensor*> tensors) {
  std::int64_t sum = 0;
  for (const tensor::Tensor* tensor : tensors) sum += tensor->defined() ? tensor->bytes() : 0;
  return sum;
}

tensor::Tensor view(const tensor::Tensor& flat, const shape::Range& place) {
  return flat.defined() ? flat.narrow(0, place.begin, place.count) : tensor::Tensor();
}

}  // namespace troika::model
