// Addresses of hosts as people write them: names, and numbers of version 4 and 6.
#pragma once

#include <optional>
#include <string>

namespace troika::rendezvous {

struct Endpoint {
  std::string address;  // without brackets
  std::optional<int> port;
};

// "host", "host:29500", "10.0.0.1", "::1", "[::1]:29500", "fe80::1%eth0". ConfigError names `what`, a flag or variable: for text that is
// no address or port, and for a link-local one without an interface of this host.
Endpoint parse_endpoint(const std::string& what, const std::string& text);

// "10.0.0.1:29500", "[::1]:29500".
std::string endpoint_text(const std::string& address, int port);

bool is_numeric_address(const std::string& address);  // not a name
bool is_loopback(const std::string& address);         // of this host alone, whatever names mean elsewhere

// Where the processes of this host meet: 127.0.0.1, or ::1 on a host that has only that.
std::string loopback_address();

}  // namespace troika::rendezvous
