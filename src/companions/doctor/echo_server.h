// Answers other doctors while this one lives, so that they can measure the way to this host.
#pragma once

#include <memory>

namespace troika::doctor {

// On every network. What is asked is bounded (echo.h), a connection that is silent for some seconds is closed, and there are never
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
