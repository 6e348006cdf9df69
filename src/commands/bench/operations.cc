#include "commands/bench/operations.h"

namespace troika::commands {

Operations operations_of(const StepShapes& s) {
  Operations operations;
  for (const auto add : {add_embedding, add_norms, add_linears, add_rotations, add_attention, add_activations,
                         add_output_loss, add_flat})
    add(s, operations);
  return operations;
}

}  // namespace troika::commands
