#include "plan/memory.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"

namespace troika::plan {

void Memory::note(const Memory& now) {
  parameters = std::max(parameters, now.parameters);
  gradients = std::max(gradients, now.gradients);
  state = std::max(state, now.state);
  activations = std::max(activations, now.activations);
  lasting = std::max(lasting, now.parameters + now.gradients + now.state);
  at_once = std::max(at_once, now.parameters + now.gradients + now.state + now.activations);
}

std::string describe(const Memory& m) {
  return fmt::format("{} (parameters {}, gradients {}, optimizer {}, activations {}{}, program {})",
                     base::format_bytes(m.total()), base::format_bytes(m.parameters), base::format_bytes(m.gradients),
                     base::format_bytes(m.state), base::format_bytes(m.activations),
                     m.snapshot > 0 ? ", saving " + base::format_bytes(m.snapshot) : "", base::format_bytes(m.program));
}

}  // namespace troika::plan
