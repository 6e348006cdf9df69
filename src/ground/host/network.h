// Sockets at addresses of this host, and the addresses of its network interfaces.
#pragma once

#include <sys/socket.h>

#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/language.h"

namespace troika::host {

// `type`: SOCK_STREAM, which listens with room for `waiting` connections, or SOCK_DGRAM; SOCK_NONBLOCK may be added. At
// "::" it serves versions 6 and 4. Without a number, and with errno, where the system refuses.
base::Descriptor socket_at(int type, const sockaddr* address, socklen_t length, int waiting);
// `address` is numeric; port 0: a free one.
base::Descriptor socket_at(int type, const std::string& address, int port, int waiting);
// Every network of versions 6 and 4, or of 4 alone where the host has no 6.
base::Descriptor socket_at_every_network(int type, int port, int waiting);

int port_of(int socket);  // that it got

struct InterfaceAddress {
  std::string interface;
  bool up = false;    // the interface is, and runs
  int family = 0;     // AF_INET or AF_INET6; another one: of the following there is nothing
  std::string text;   // numeric
  std::string scope;  // behind it where it is of one link: "%eth0"
  int prefix = 0;     // bits of its subnet
};

std::vector<InterfaceAddress> interface_addresses();  // as the system orders them

// The program that listens on a local TCP port, as far as /proc may be read: "'python3' (pid 4711)", or "another program" if /proc
// does not name it.
base::Text port_holder(int port);

}  // namespace troika::host
