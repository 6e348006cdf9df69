#include "shape/optimizer_state.h"

#include "base/error.h"

namespace troika::shape {

OptimizerShape shape_of(config::Optimizer optimizer) {
  switch (optimizer) {
    case config::Optimizer::adamw:
      return {{{"adam_m", "the first moment (adam_m)"}, {"adam_v", "the second moment (adam_v)"}}};
  }
  throw base::BugError("an optimizer without a shape");
}

}  // namespace troika::shape
