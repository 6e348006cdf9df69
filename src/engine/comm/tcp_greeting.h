// How two ranks of a launch authenticate each other on a new connection, before the first message of a group.
//
// Both sides send eight bytes and a nonce. Then the connecting side sends caller, callee and group (u32 length and
// text, u32 from, u32 to; little-endian) with a proof of 32 bytes, and the other answers with its own, which accepts
// the call. Proofs are rendezvous::proof of the key over both nonces and the call: the key is the launch's secret, or
// where it has none its id. Any other connection is closed without an answer, at once or after some seconds of silence.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>

#include "comm/tcp_link.h"
#include "rendezvous/socket.h"

namespace troika::comm {

// The two ends of a connection: ranks of a group that is being built. Unique in a launch.
struct TcpCall {
  std::string group;     // key of the group
  int from = 0, to = 0;  // world ranks
  friend bool operator<(const TcpCall& a, const TcpCall& b) {
    return std::tie(a.group, a.from, a.to) < std::tie(b.group, b.from, b.to);
  }
};

// The client's side.
enum class Greeted { taken, no_answer, foreign };  // foreign: another program, another launch or another secret
Greeted greet(rendezvous::Socket& socket, const std::string& key, const TcpCall& call, double until);

// The other side: listens, and hands over the sockets of those that were known.
class TcpListener : public TcpLoop::Watched, public std::enable_shared_from_this<TcpListener> {
 public:
  // Listens on this numeric address of the host, on any free port. ConfigError when it cannot.
  TcpListener(const std::string& address, std::string key);
  ~TcpListener() override;
  int port() const { return port_; }
  void start(TcpLoop& loop);
  void stop();  // takes nobody any more

  // The socket of this call, once it has come: at most `seconds`. -1: it has not.
  int take(const TcpCall& call, double seconds);

  void on_events(std::uint32_t events) override;
  void on_tick(double now) override;

 private:
  class Guest;

  const std::string key_;
  int listener_ = -1, port_ = 0;
  TcpLoop* loop_ = nullptr;
  TcpLoop::Id id_ = 0;
  // Used by the loop's thread alone.
  double accepts_again_at_ = 0;  // 0: it accepts
  std::size_t guests_ = 0;       // whose greeting is not done

  std::mutex mutex_;  // guards what follows
  std::condition_variable came_;
  bool stopped_ = false;
  std::map<TcpCall, int> known_;  // sockets
};

}  // namespace troika::comm
