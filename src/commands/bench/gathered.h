// Numbers of all ranks side by side.
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "comm/channel.h"

namespace troika::commands {

// Collective: row r holds rank r's values, in double.
at::Tensor gathered(comm::Channel& world, const std::vector<double>& values);

}  // namespace troika::commands
