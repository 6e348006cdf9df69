#include "model/activation.h"

#include "kernels/gelu.h"
#include "kernels/swiglu.h"

namespace troika::model {

Activation activation_of(const Architecture& architecture) {
  if (architecture.activation == Architecture::Activation::swiglu)
    return {2, kernels::swiglu_forward, kernels::swiglu_backward};
  return {1, kernels::gelu_forward, kernels::gelu_backward};
}

}  // namespace troika::model
