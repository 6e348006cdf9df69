// Tags of the executor's messages, below those of the collectives (0x80000000 and up).
#pragma once

#include <cstdint>

#include "base/error.h"

namespace troika::executor {

// What travels between stages, on the pp channel.
enum class Cargo : std::uint32_t { activation = 0, gradient = 1, tied = 2 };

inline constexpr int most_microbatches = 1 << 20, most_stages = 1 << 9;

// `stage` is the one that receives.
inline std::uint32_t message_tag(Cargo cargo, int microbatch, int stage) {
  if (microbatch >= most_microbatches || stage >= most_stages)
    throw base::BugError("no tag for such a message is left");
  return static_cast<std::uint32_t>(cargo) << 29 | static_cast<std::uint32_t>(stage) << 20 |
         static_cast<std::uint32_t>(microbatch);
}

// Between replicas, on their channel.
enum class Purpose : std::uint32_t { gradients = 0, totals = 1, parameters = 2, squares = 3 };
enum class Use : std::uint32_t { first = 0, second = 1 };  // of a tied embedding's table

inline std::uint32_t replica_tag(Purpose purpose, int segment, Use use) {
  return static_cast<std::uint32_t>(purpose) << 24 | static_cast<std::uint32_t>(segment) << 2 |
         static_cast<std::uint32_t>(use);
}

inline std::uint32_t adapter_tag(Purpose purpose, int segment) { return replica_tag(purpose, segment, Use::first) | 2; }

}  // namespace troika::executor
