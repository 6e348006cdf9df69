// Doing something on every rank and agreeing on the outcome.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "comm/channel.h"

namespace troika::checkpoint {

// Collective. Runs `work` and gathers what it returns, by rank. When it threw on any rank, all ranks throw an error of the same
// kind whose text names the rank, its host and the cause. `work` must not use the channel. It may take as long as the channel
// lets the others wait.
std::vector<std::string> gather(comm::Channel& world, const std::function<std::string()>& work);

// The same for work without a result.
void agree(comm::Channel& world, const std::function<void()>& work);

}  // namespace troika::checkpoint
