// A small run to plan.
#pragma once

#include <cstdint>

#include "config/settings/settings.h"
#include "plan/plan.h"

namespace troika::plan {

inline constexpr std::int64_t gib = std::int64_t{1} << 30;

// 4 layers, width 64, heads 4/2 of 16, ffn 192, vocabulary 259; 12 sequences of 32 a step, one a microbatch.
config::Settings small_settings();
DataFacts small_data();  // for them

Plan small_plan(const config::Settings& settings, int world);

}  // namespace troika::plan
