// A connection to another doctor, every call on it with a deadline.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "doctor/echo.h"

namespace troika::doctor {

struct NumericAddress {
  sockaddr_storage bytes{};
  socklen_t length = 0;
};

// Nothing for a name, or what is no address.
std::optional<NumericAddress> numeric_address(const std::string& address, int port);

// Deadlines are base::monotonic_seconds(). Threads: one.
class EchoLine {
 public:
  EchoLine() = default;
  ~EchoLine();
  EchoLine(const EchoLine&) = delete;
  EchoLine& operator=(const EchoLine&) = delete;

  int connect(const std::string& address, int port, double until);  // errno; 0: it stands. Closes an earlier connection
  std::string local_address() const;                                // numeric; "" without a connection

  // False: late, or the connection has ended.
  bool ask(echo::Ask what, std::uint32_t bytes, double until);
  bool send(const char* bytes, std::size_t count, double until);
  bool receive(char* bytes, std::size_t count, double until);

 private:
  void close();
  bool ready(short events, double until) const;
  int socket_ = -1;
};

}  // namespace troika::doctor
