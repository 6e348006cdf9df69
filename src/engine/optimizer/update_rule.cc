#include "optimizer/update_rule.h"

#include "base/error.h"

namespace troika::optimizer {

// Each in a file of its name.
std::unique_ptr<const UpdateRule> adamw(const config::OptimizerSettings& settings);

std::unique_ptr<const UpdateRule> update_rule(const config::OptimizerSettings& settings) {
  switch (settings.name) {
    case config::Optimizer::adamw:
      return adamw(settings);
  }
  throw base::BugError("an optimizer without a rule");
}

}  // namespace troika::optimizer
