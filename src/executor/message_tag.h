// Tags of the executor's messages, below those of the collectives (0x80000000 and up).
#pragma once

#include <cstdint>

#include "base/error.h"

namespace troika::executor {

enum class Lane : std::uint32_t { activation = 0, gradient = 1, tied = 2 };

// `stage` is the one that receives. Up to 2^20 microbatches and 512 stages.
inline std::uint32_t message_tag(Lane lane, int microbatch, int stage) {
  if (microbatch >= (1 << 20) || stage >= (1 << 9)) {
    throw base::ConfigError("a step may have at most 1048575 microbatches and a pipeline 511 stages");
  }
  return static_cast<std::uint32_t>(lane) << 29 | static_cast<std::uint32_t>(stage) << 20 |
         static_cast<std::uint32_t>(microbatch);
}

}  // namespace troika::executor
