#include "cost/memory.h"

#include <fmt/format.h>

#include "base/units.h"

namespace troika::cost {

std::string describe(const Memory& m) {
  return fmt::format("{} (parameters {}, gradients {}, optimizer {}, activations {}, program {})",
                     base::format_bytes(m.total()), base::format_bytes(m.parameters), base::format_bytes(m.gradients),
                     base::format_bytes(m.state), base::format_bytes(m.activations), base::format_bytes(m.program));
}

}  // namespace troika::cost
