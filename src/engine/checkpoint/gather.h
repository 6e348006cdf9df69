// Doing something on every rank and agreeing on the outcome.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/language.h"
#include "comm/channel.h"

namespace troika::checkpoint {

// Collective. Runs `work` and gathers what it returns, by rank. When it threw on any rank, all ranks throw an error of the same
// kind whose text names the rank, its host and the cause. `work` must not use the channel. It may take as long as the channel
// lets the others wait.
std::vector<std::string> gather(comm::Channel& world, const std::function<std::string()>& work);

// A rank's result that is JSON.
nlohmann::json json_in(const std::string& result);

// Collective: whether any rank says yes. Errors as of gather.
bool any_rank(comm::Channel& world, const std::function<bool()>& question);

// Collective: the largest of the ranks' numbers.
std::int64_t most_of(comm::Channel& world, std::int64_t number);

// A sentence as a rank's result, and back; no sentence is "".
std::string result_of(const base::Text& words);
base::Text words_in(const std::string& result);

// The sentences of those ranks that have one, by rank.
std::vector<base::Text> gather_words(comm::Channel& world, const std::function<base::Text()>& work);

// The same for work without a result.
void agree(comm::Channel& world, const std::function<void()>& work);

}  // namespace troika::checkpoint
