// The rule that distinguishes one optimizer: how parameters and state follow a gradient. Its state and how parameters are
// split are numbers (shape::OptimizerShape). A further optimizer is a word of config::Optimizer, its shape, a rule in a file of its
// own and a line in update_rule() (optimizer.cc).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "config/settings/settings.h"
#include "kernels/flat.h"
#include "tensor/tensor.h"

namespace troika::optimizer {

struct Update {
  double lr = 0, gradient_scale = 1;  // the gradient is multiplied by the latter first (token count, clipping)
  std::int64_t number = 1;            // of updates, from 1
};

// One-dimensional tensors of one length, on one device, fp32 but for `rounded`. All but the gradient are updated in place.
struct UpdateTensors {
  tensor::Tensor parameter, gradient;
  std::vector<tensor::Tensor> state;  // in the order of shape::OptimizerShape::buffers
  tensor::Tensor rounded;             // what forward and backward read: the new parameter in its dtype; undefined in fp32
};

// Called for each piece of a buffer, on the rank's thread. `stretches` cover the tensors in order. An element's result
// depends on its own inputs alone, with one rounding per arithmetic operation, so that it has the same bits in every piece.
class UpdateRule {
 public:
  virtual ~UpdateRule() = default;

  virtual void apply(const Update& update, const std::vector<kernels::DecayStretch>& stretches,
                     const UpdateTensors& tensors) const = 0;
  // The same; returns the sums of the bits that it found and left in every stretch, on the tensors' device: int64, stretches x 2 x
  // tensors, in the order parameter, state, rounded (kernels::bits_sums, for rules whose kernel does not add them up).
  virtual tensor::Tensor apply_summed(const Update& update, const std::vector<kernels::DecayStretch>& stretches,
                                      const UpdateTensors& tensors) const = 0;
};

std::unique_ptr<const UpdateRule> update_rule(const config::OptimizerSettings& settings);

}  // namespace troika::optimizer
