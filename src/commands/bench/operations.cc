#include "commands/bench/operations.h"

#include "tensor/tensor.h"

namespace troika::commands {

tensor::Tensor StepShapes::normal(const tensor::Sizes& sizes) const { return at::randn(sizes).to(dtype); }

double StepShapes::element_bytes() const { return static_cast<double>(base::bytes_of(dtype)); }

Operations operations_of(const StepShapes& s) {
  Operations operations;
  for (const auto add : {add_embedding, add_norms, add_linears, add_rotations, add_attention, add_activations,
                         add_output_loss, add_flat})
    add(s, operations);
  return operations;
}

}  // namespace troika::commands
