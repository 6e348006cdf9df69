#include "model/activation.h"

#include "kernels/activation.h"

namespace troika::model {

Activation activation_of(const shape::Architecture& architecture) {
  if (architecture.activation == shape::Architecture::Activation::swiglu)
    return {shape::activation_inputs(architecture), kernels::swiglu_forward, kernels::swiglu_backward};
  return {shape::activation_inputs(architecture), kernels::gelu_forward, kernels::gelu_backward};
}

}  // namespace troika::model
