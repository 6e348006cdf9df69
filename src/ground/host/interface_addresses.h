// The addresses that this host's network interfaces have.
#pragma once

#include <string>
#include <vector>

namespace troika::host {

struct InterfaceAddress {
  std::string interface;
  bool up = false;    // the interface is, and runs
  int family = 0;     // AF_INET or AF_INET6; another one: of the following there is nothing
  std::string text;   // numeric
  std::string scope;  // behind it where it is of one link: "%eth0"
  int prefix = 0;     // bits of its subnet
};

std::vector<InterfaceAddress> interface_addresses();  // as the system orders them

}  // namespace troika::host
