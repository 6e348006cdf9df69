// What the segments share: the groups that they work in, views of buffers, bytes.
#pragma once

#include <initializer_list>
#include <memory>

#include "model/decoder.h"

namespace troika::model {

// The groups of a Parallelism, or groups of this rank alone where it names none.
struct Groups {
  std::shared_ptr<const sharding::TensorGroup> tensor;
  std::shared_ptr<const sharding::ContextGroup> context;
  shape::TensorShare share() const { return {tensor->rank(), tensor->size()}; }
};
Groups groups_of(const Parallelism& parallel);

// An fp32 tensor of the same shape, uninitialised: a gradient.
at::Tensor gradient_like(const at::Tensor& parameter);

// Bytes of those that are defined.
std::int64_t bytes_of(std::initializer_list<const at::Tensor*> tensors);

template <class... Tensors>
void drop(Tensors&... tensors) {
  (tensors.reset(), ...);
}

// Views of a flat buffer, one after the other; undefined ones of an undefined buffer.
class Views {
 public:
  explicit Views(at::Tensor flat) : flat_(std::move(flat)) {}
  at::Tensor take(at::IntArrayRef shape);

 private:
  at::Tensor flat_;
  std::int64_t offset_ = 0;
};

}  // namespace troika::model
