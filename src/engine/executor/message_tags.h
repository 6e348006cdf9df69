// Tags of the executor's messages, below those of the collectives (0x80000000 and up).
#pragma once

#include <cstdint>

#include "base/error.h"
#include "plan/stages.h"

namespace troika::executor {

// The messages between stages, on the pp channel.
enum class StageMessage : std::uint32_t { activation = 0, gradient = 1, tied = 2 };

// `stage` is the one that receives.
inline std::uint32_t message_tag(StageMessage message, int microbatch, int stage) {
  if (microbatch >= plan::most_microbatches || stage >= plan::most_stages)
    throw base::BugError("no tag for such a message is left");
  return static_cast<std::uint32_t>(message) << 29 | static_cast<std::uint32_t>(stage) << 20 |
         static_cast<std::uint32_t>(microbatch);
}

// Between replicas, on their channel.
enum class ReplicaMessage : std::uint32_t { gradients = 0, totals = 1, parameters = 2, squares = 3 };
// The reader of parameters: the segment that owns them, or the head of a tied model for those of the embedding.
enum class ReadBy : std::uint32_t { own_segment = 0, tied_head = 1 };

inline std::uint32_t replica_tag(ReplicaMessage message, int segment, ReadBy by) {
  return static_cast<std::uint32_t>(message) << 24 | static_cast<std::uint32_t>(segment) << 2 |
         static_cast<std::uint32_t>(by);
}

inline std::uint32_t adapter_tag(ReplicaMessage message, int segment) {
  return replica_tag(message, segment, ReadBy::own_segment) | 2;
}

}  // namespace troika::executor
