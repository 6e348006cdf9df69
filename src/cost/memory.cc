#include "cost/memory.h"

#include <fmt/format.h>

#include "base/units.h"

namespace troika::cost {

// Resident memory of a rank that has loaded libtorch, opened its channels and run one small step (measured: 190 to 240 MiB).
constexpr std::int64_t program_bytes = std::int64_t{240} << 20;

// The most gradient buffers alive at once: a leaf beside the partial sums of the leaves before it.
static std::int64_t gradient_buffers(std::int64_t leaves) {
  std::int64_t levels = 0;
  while ((std::int64_t{1} << levels) < leaves) ++levels;
  return 1 + levels;
}

Memory memory_of(const StageNumbers& stage) {
  Memory memory;
  memory.parameters = 4 * stage.parameter_elements;
  memory.gradients = 4 * stage.gradient_elements * gradient_buffers(stage.microbatches);
  memory.state = 8 * stage.parameter_elements;
  memory.activations = stage.in_flight * (stage.saved_bytes + 2 * stage.border_bytes);
  memory.program = program_bytes;
  return memory;
}

std::string describe(const Memory& m) {
  return fmt::format("{} (parameters {}, gradients {}, optimizer {}, activations {}, program {})",
                     base::format_bytes(m.total()), base::format_bytes(m.parameters), base::format_bytes(m.gradients),
                     base::format_bytes(m.state), base::format_bytes(m.activations), base::format_bytes(m.program));
}

}  // namespace troika::cost
