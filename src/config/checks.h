// The rules of resolve.h that concern more than one setting, apart from the batch.
#pragma once

#include <cstdint>

#include "config/batch.h"
#include "config/resolve.h"
#include "config/settings.h"

namespace troika::config {

// Answers dp for the world size. Errors go to `findings`; the result then has what could be answered.
Layout solve_layout(const ParallelSettings& settings, std::int64_t world_size, Findings* findings);

// Writes middle_layers into layers and checks the shape of the model against the layout.
void settle_model(Settings* settings, Findings* findings);

// Learning rate, steps, device, profile, precision.
void settle_run(Settings* settings, Findings* findings);

}  // namespace troika::config
