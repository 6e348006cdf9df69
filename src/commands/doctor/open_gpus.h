// The NVIDIA GPUs of this host as a run would open them.
#pragma once

#include "doctor/host_view.h"

namespace troika::commands {

// Loads the libraries that a run would load, and opens every card: some tenths of a second each. For hosts with a driver.
doctor::Gpus open_gpus();

}  // namespace troika::commands
