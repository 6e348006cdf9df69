// Equal bits need equal processors: libraries choose their code by what the processor can do.
#pragma once

#include <string>

#include "comm/channel.h"

namespace troika::train {

// The model name of this host's processor, or "unknown".
std::string processor_name();

// Collective. Empty when all ranks run on the same kind of processor, else a sentence that names two ranks that do not.
std::string mixed_processors(comm::Channel& world, const std::string& mine);

}  // namespace troika::train
