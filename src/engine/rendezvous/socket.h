// Connected TCP sockets, and addresses of hosts as people write them: names, and numbers of version 4 and 6.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/cause.h"
#include "base/language.h"

namespace troika::rendezvous {

// With deadlines. Times are base::monotonic_seconds(). Threads: one, except shut().
class Socket {
 public:
  Socket() = default;
  ~Socket();
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  // Connects again (an earlier connection is closed), to the first address of the name that answers, of version 4 or 6.
  // False: `cause` says why.
  bool connect(const std::string& address, int port, double until, base::Text* cause);
  // Whether the last connect() failed because the host is there and nobody listens on that port.
  bool nobody_listens() const { return nobody_listens_; }
  // Whether it failed because the name has no address, or none yet.
  bool no_address() const { return no_address_; }
  // Whether it failed because this host has no network to there.
  bool no_network() const { return no_network_; }

  // Why the last connect() failed.
  base::Cause cause() const { return cause_; }

  bool send_all(std::string_view bytes, double until);

  enum class Received { some, late, gone };
  // Appends between 1 and `most` bytes to `buffer`.
  Received receive(std::string& buffer, std::size_t most, double until);

  std::string local_address() const;  // numeric
  void shut();                        // ends every wait, now and later; from any thread
  int release();                      // the connection, for who closes it; -1: there is none

 private:
  bool ready(short events, double until) const;
  bool connect_to(int family, const std::string& address, double until, base::Text* cause);
  int socket_ = -1;
  base::Cause cause_{};
  bool nobody_listens_ = false, no_network_ = false, no_address_ = false;
};

// A connected one of TCP: small messages go at once; a host that vanishes without a word is noticed by the system within
// about 30 s.
void set_options(int socket);

std::string peer_address(int socket);  // of a connected one, numeric; "" where it is gone

// Why connections are not made, over many tries. A firewall that rejects answers the first tries and, as systems limit how often
// they do, none of the later ones: these only run out of time.
class ConnectCause {
 public:
  // Hears the outcome of a try that had its time. The last that is more than a time-out stays.
  void hear(base::Text text, base::Cause cause);
  const base::Text& text() const { return text_; }  // empty: none was heard
  base::Cause cause() const { return cause_; }

 private:
  base::Text text_;
  base::Cause cause_{};
};

// The system's word for an errno, and what an ICMP message has told: "No route to host: a firewall forbids it".
base::Text connect_words(int code, base::Cause told);

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
