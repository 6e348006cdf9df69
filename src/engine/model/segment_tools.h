// What the segments share: the groups that they work in, places in buffers and in leaves, bytes.
#pragma once

#include <initializer_list>
#include <memory>

#include "kernels/vocabulary.h"
#include "model/decoder.h"
#include "tensor/tensor.h"

namespace troika::model {

// The groups of a Parallelism, or groups of this rank alone where it names none.
struct Groups {
  std::shared_ptr<const sharding::TensorGroup> tensor;
  std::shared_ptr<const sharding::ContextGroup> context;
  shape::TensorShare share() const { return {tensor->rank(), tensor->size()}; }
};
Groups groups_of(const Parallelism& parallel);

// What backward multiplies the loss's sum over rows by: the step divides by the integer of all rows and by the loss scale once they
// are known (executor.cc). A further term of the loss, of whichever segment, gets a weight relative to that integer and this factor
// too; else its size would depend on how a batch is cut into microbatches.
double loss_factor(const Tokens& tokens);

// An fp32 tensor of the same shape, uninitialised: a gradient.
tensor::Tensor gradient_like(const tensor::Tensor& parameter);

// Bytes of those that are defined.
std::int64_t bytes_of(std::initializer_list<const tensor::Tensor*> tensors);

template <class... Tensors>
void drop(Tensors&... tensors) {
  (tensors.reset(), ...);
}

// Ranges of a flat buffer, one after the other.
class Places {
 public:
  shape::Range take(std::int64_t elements) {
    end_ += elements;
    return {end_ - elements, elements};
  }
  std::int64_t end() const { return end_; }

 private:
  std::int64_t end_ = 0;
};

// Undefined of an undefined buffer.
tensor::Tensor view(const tensor::Tensor& flat, const shape::Range& place);

// A range of a leaf, or of none.
class LeafPart {
 public:
  LeafPart(sharding::LeafWriter* leaf, const shape::Range& place) : leaf_(leaf), place_(place) {}
  LeafPart part(const shape::Range& of) const { return {leaf_, {place_.begin + of.begin, of.count}}; }
  tensor::Tensor open() const { return leaf_->open(place_); }
  void write(const tensor::Tensor& x) const { leaf_->write(place_, x); }
  tensor::Destination open_sum() const { return leaf_->open_sum(place_); }
  void close() const { leaf_->close(); }
  void write_rows(const kernels::NamedRows& rows) const { leaf_->write_rows(place_, rows.row_r, rows.gradient_rD); }

 private:
  sharding::LeafWriter* leaf_;
  shape::Range place_;
};

}  // namespace troika::model
