// The thread that reads and writes sockets: one for all connections of a process.
#pragma once

#include <cstdint>
#include <memory>

namespace troika::comm {

class TcpLoop {
 public:
  class Watched {
   public:
    virtual ~Watched() = default;
    virtual void on_events(std::uint32_t events) = 0;  // of epoll; from the loop's thread
    virtual void on_tick(double) {}                    // about ten times a second, with base::monotonic_seconds()
  };
  using Id = std::uint64_t;

  TcpLoop();
  ~TcpLoop();  // nobody is called any more; who is still watched is let go
  TcpLoop(const TcpLoop&) = delete;
  TcpLoop& operator=(const TcpLoop&) = delete;

  // From any thread. Whoever is watched lives at least as long; a call that is under way while remove() is called may still end
  // after it.
  Id add(int socket, std::uint32_t events, std::shared_ptr<Watched> watched);
  void change(Id id, int socket, std::uint32_t events);
  void remove(Id id, int socket);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace troika::comm
