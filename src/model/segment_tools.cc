#include "model/segment_tools.h"

#include <ATen/ATen.h>

namespace troika::model {

// Shares `given`, which somebody else owns, or owns a group of this rank alone.
template <class Group>
static std::shared_ptr<const Group> shared(const Group* given) {
  if (given == nullptr) return std::make_shared<const Group>();
  return {std::shared_ptr<const Group>(), given};
}

Groups groups_of(const Parallelism& parallel) { return {shared(parallel.tensor), shared(parallel.context)}; }

at::Tensor gradient_like(const at::Tensor& parameter) {
  return at::empty(parameter.sizes(), parameter.options().dtype(at::kFloat));
}

std::int64_t bytes_of(std::initializer_list<const at::Tensor*> tensors) {
  std::int64_t sum = 0;
  for (const at::Tensor* tensor : tensors) sum += tensor->defined() ? static_cast<std::int64_t>(tensor->nbytes()) : 0;
  return sum;
}

at::Tensor view(const at::Tensor& flat, const shape::Range& place) {
  return flat.defined() ? flat.narrow(0, place.begin, place.count) : at::Tensor();
}

}  // namespace troika::model
