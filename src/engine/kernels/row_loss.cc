#include "kernels/row_loss.h"

#include "base/error.h"

namespace troika::kernels {

// Each in a file of its name.
std::unique_ptr<const RowLoss> cross_entropy_loss();

std::unique_ptr<const RowLoss> row_loss(config::Loss loss) {
  switch (loss) {
    case config::Loss::cross_entropy:
      return cross_entropy_loss();
  }
  throw base::BugError("a loss without its rows");
}

}  // namespace troika::kernels
