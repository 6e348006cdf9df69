// The questions of one doctor to another over TCP and UDP, and a connection for them, every call with a deadline.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/descriptor.h"

namespace troika::doctor::echo {

// TCP: a question is 12 bytes, three numbers in network order: the sign, what is asked, a count of bytes.
inline constexpr std::uint32_t sign = 0x54726b44;
enum class Ask : std::uint32_t {
  time,  // 8 bytes come back: the answerer's clock in nanoseconds since 1970, in network order
  take,  // so many bytes follow; when all have come, 8 bytes come back as above
  give,  // so many bytes come back
};
inline constexpr std::uint32_t question_bytes = 12, answer_bytes = 8;
inline constexpr std::uint32_t most_bytes = std::uint32_t{64} << 20;

// UDP: a datagram of any size that begins with the sign and a number of the asker's is answered by these 8 bytes. An answer is never
// longer than its question, so that nobody can use it to flood another.
inline constexpr std::uint32_t datagram_bytes = 8;

}  // namespace troika::doctor::echo

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
  int connect(const std::string& address, int port, double until);  // errno; 0: connected. Closes an earlier connection
  std::string local_address() const;                                // numeric; "" without a connection

  // False: late, or the connection has ended.
  bool ask(echo::Ask what, std::uint32_t bytes, double until);
  bool send(const char* bytes, std::size_t count, double until);
  bool receive(char* bytes, std::size_t count, double until);

 private:
  bool ready(short events, double until) const;
  base::Descriptor socket_;
};

// Answers other doctors while this one lives, so that they can measure the way to this host.
// On every network. What is asked is bounded (echo above), a connection that is silent for some seconds is closed, and there are never
// more than some tens of them. Threads: of its own; the object may be used by one.
class EchoServer {
 public:
  // Also at `port`, where that is not 0 and free. PeerError where no socket can be had.
  explicit EchoServer(int port);
  ~EchoServer();
  EchoServer(const EchoServer&) = delete;
  EchoServer& operator=(const EchoServer&) = delete;

  int tcp_port() const;
  int udp_port() const;
  int named_port() const;  // 0: it was not free, or none was named

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace troika::doctor
