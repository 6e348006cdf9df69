// Whether a program's messages can be paired by their order alone, as NCCL pairs them.
#pragma once

#include <string>

#include "schedule/instruction/program.h"

namespace troika::schedule {

// Empty when between every two ranks, in each direction, the receives of activations are started in the order of their
// sends, and so are those of gradients and of tied tables; else a sentence that names the first receive that is not. `program` has passed check().
std::string receive_out_of_order(const Program& program);

}  // namespace troika::schedule
