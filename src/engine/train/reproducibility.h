// The conditions for equal bits beside equal settings: ranks that compute alike, and a checkpoint whose sums were cut alike.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "comm/channel.h"
#include "config/settings/settings.h"
#include "tensor/tensor.h"

namespace troika::train {

// By what libraries choose their code and cut their sums, with this rank's value: its program, its libraries, its
// processor and its GPU. Not its threads: they cut no sum.
using Traits = std::vector<std::pair<std::string, base::Text>>;  // names in English
Traits traits_of_this_rank(const tensor::Device& device);

// The model name of this host's processor, or "unknown".
std::string processor_name();

// Collective. Empty when all ranks are alike, else a sentence that names the first trait that differs, and two ranks.
base::Text different_ranks(comm::Channel& world, const Traits& mine);

// "KEY was A and is B", of those settings that differ.
base::Text differences(const std::vector<std::string>& keys, const config::Settings& saved,
                       const config::Settings& now);

// Empty when a run may resume from a checkpoint of `saved` with the bits of one that was not interrupted, as far as sums
// are concerned; else a sentence with both values of what differs.
base::Text different_sums(const config::Settings& saved, const config::Settings& now);

// The effect of parallel.reproducible on such a sentence: `run` and `layout` a note, `off` nothing (""); `bits` throws ConfigError.
base::Text note_or_refuse(const config::Settings& settings, const base::Text& sentence);

}  // namespace troika::train
