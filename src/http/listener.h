// The socket that a server listens on.
#pragma once

#include <string>

namespace troika::http {

// Owned by the caller, non-blocking. ConfigError as http::Server says; the flags are named in it.
int listen_on(const std::string& address, int port, const std::string& address_flag, const std::string& port_flag);
int port_of(int listener);

}  // namespace troika::http
