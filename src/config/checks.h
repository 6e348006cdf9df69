// The rules of resolve.h for the model and the run.
#pragma once

#include "config/batch.h"
#include "config/settings.h"

namespace troika::config {

// Writes middle_layers into layers and checks the shape of the model.
void settle_model(Settings* settings, Findings* findings);

// Learning rate, steps, device, profile, loss scale.
void settle_run(Settings* settings, Findings* findings);

}  // namespace troika::config
