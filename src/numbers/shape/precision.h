// The number formats of parameters and activations (config/choices.h).
#pragma once

#include <cstdint>

#include "config/choices.h"

namespace troika::shape {

inline constexpr std::int64_t bytes_of(config::Precision precision) {
  return precision == config::Precision::fp32 ? 4 : 2;
}

}  // namespace troika::shape
