// An HTTP/1.1 server for a few clients of a run: one thread, which no client can block.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "base/error.h"
#include "http/connection.h"

namespace troika::http {

struct ServerOptions {
  std::string address = "127.0.0.1";    // or ::1, 0.0.0.0, ::, or a name
  int port = 0;                         // 0: any free one
  std::string address_flag, port_flag;  // what the user gave them by, for errors: "--metrics-port"
  std::size_t connections = 64;  // one more, and the one that has waited longest for its request to come is closed;
                                 // half of them at most hold streams, so that others are answered: one stream more is 503
  RequestLimits limits{};
  Patience patience{};
};

// Serves until destroyed. `handler` is called from the server's thread, one request at a time, so it must not wait for anything.
class Server {
 public:
  // ConfigError when the address is none of this host or the port is taken, naming who holds it where /proc tells.
  Server(const ServerOptions& options, Handler handler);
  ~Server();  // open streams end
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  int port() const;
  std::string url() const;  // "http://127.0.0.1:9400"

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Somebody else listens at that port already.
class PortHeld : public base::ConfigError {
 public:
  using ConfigError::ConfigError;
};

// The socket that a server listens on: owned by the caller, non-blocking. ConfigError as http::Server says; the flags are named in it.
int listen_on(const std::string& address, int port, const std::string& address_flag, const std::string& port_flag);

}  // namespace troika::http
