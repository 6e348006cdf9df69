// Where a result goes.
#pragma once

#include "tensor/accelerator.h"
#include "tensor/tensor.h"

namespace troika::tensor {

struct Destination {
  Tensor elements;
  Sum sum = Sum::replaced;  // replaced: the elements are uninitialised, and all are written. added: the result is added to them
};

}  // namespace troika::tensor
