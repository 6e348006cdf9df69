// The socket that a server listens on.
#pragma once

#include <string>

#include "base/error.h"

namespace troika::http {

// Somebody else listens at that port already.
class PortHeld : public base::ConfigError {
 public:
  using ConfigError::ConfigError;
};

// Owned by the caller, non-blocking. ConfigError as http::Server says; the flags are named in it.
int listen_on(const std::string& address, int port, const std::string& address_flag, const std::string& port_flag);

}  // namespace troika::http
