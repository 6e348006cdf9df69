// For tests: a port to listen on later.
#pragma once

#include <random>

#include "base/error.h"
#include "rendezvous/store.h"

namespace troika::rendezvous {

// The one behind it is free, too. Below those that the system itself gives to connections and to port 0, so that nobody gets it
// between now and then by chance.
inline int free_port() {
  std::random_device draw;
  for (;;) {
    const int port = 10000 + 2 * static_cast<int>(draw() % 11000);
    try {
      const StoreServer one(port), behind(port + 1);
      return port;
    } catch (const base::ConfigError&) {  // taken
    }
  }
}

}  // namespace troika::rendezvous
