// What a run with given settings asks of a host.
#pragma once

#include "config/config.h"
#include "doctor/host_view.h"

namespace troika::commands {

struct RunHosts {
  int hosts = 1, ranks_per_host = 1;
};

// Folder, interface, ranks, threads and port. Memory and disk where the settings say what is trained, on processors, in a layout
// that is stated; of the host that needs most. ConfigError where such settings do not fit so many ranks.
doctor::Want want_of(const config::Settings& settings, const RunHosts& on, int port);

}  // namespace troika::commands
