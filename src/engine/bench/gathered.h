// Numbers of all ranks side by side.
#pragma once

#include <vector>

#include "comm/channel.h"
#include "tensor/tensor.h"

namespace troika::bench {

// Collective: row r holds rank r's values, in double.
tensor::Tensor gathered(comm::Channel& world, const std::vector<double>& values);

}  // namespace troika::bench
