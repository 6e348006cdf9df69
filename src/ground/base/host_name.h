// The name of this host.
#pragma once

#include <unistd.h>

#include <string>

namespace troika::base {

// "unknown host" where the system does not say.
inline std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "unknown host";
}

}  // namespace troika::base
