// That a run writes in its own folder and nowhere else.
#pragma once

#include "config/settings.h"

namespace troika::train {

// ConfigError naming the first thing in train.out that such a run writes to and that is a link or of another kind than Troika makes:
// what is written through a link, or removed behind it, is somebody else's. Links of other names, and to steps inside of checkpoints/,
// are let be.
void check_own_folder(const config::Settings& settings);

}  // namespace troika::train
