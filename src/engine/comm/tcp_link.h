// One connection between two ranks of a group, and the matching of its messages by tag.
//
// Data travel when both sides know of them: a receive sends `ready` with its size, and a send that has met one sends `data`, straight
// from and into the tensors' memory. What nobody asked for is never sent, so nothing is kept on the way and the message of one
// tag does not hold up another. Frames are a head of 16 bytes (u32 kind, u32 tag, u64 bytes; little-endian) and, of `data`, the bytes.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "comm/failure.h"

namespace troika::comm {

// The thread that reads and writes sockets: one for all connections of a process.
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

// A message under way. Guarded by its link.
struct TcpMessage {
  Direction direction = Direction::send;
  std::byte* data = nullptr;
  std::uint64_t bytes = 0;
  std::uint32_t tag = 0;
  bool done = false;
  base::Text error;  // not empty: it will never be done
};

class TcpLink : public TcpLoop::Watched, public std::enable_shared_from_this<TcpLink> {
 public:
  // Takes the connected socket. Ranks are those that sentences name.
  TcpLink(int socket, int rank, int peer_rank);
  ~TcpLink() override;  // closes it
  void start(TcpLoop& loop);

  void post(const std::shared_ptr<TcpMessage>& message);
  // Until it is done or has its error, at most `seconds` (infinity: without end). False: neither.
  bool wait(const TcpMessage& message, double seconds);
  // Ends every message, now and later, with this error; memory of messages is not touched any more. The first error stays.
  void end(const base::Text& error);

  void on_events(std::uint32_t events) override;

 private:
  enum class Kind : std::uint32_t { ready = 1, data, refused };
  struct Head {
    Kind kind = Kind::ready;
    std::uint32_t tag = 0;
    std::uint64_t bytes = 0;
  };
  static_assert(sizeof(Head) == 16);
  struct Outgoing {
    Head head;
    std::shared_ptr<TcpMessage> message;  // of data
    std::size_t sent = 0;                 // of head and bytes
  };

  // All with the mutex held.
  void meet(const std::shared_ptr<TcpMessage>& send, std::uint64_t wanted);
  void flush();
  void receive();
  bool take_heads();  // false: the link has ended
  bool take(const Head& head);
  void give(std::size_t bytes);  // so many bytes more have come for `incoming_`
  void finish(TcpMessage& message);
  void break_off(const base::Text& error);
  void watch();

  const int rank_, peer_rank_;
  const std::string address_;  // of the peer
  TcpLoop* loop_ = nullptr;

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  int socket_;
  TcpLoop::Id id_ = 0;
  std::uint32_t watched_ = 0;
  base::Text error_;
  std::deque<Outgoing> outgoing_;
  std::map<std::uint32_t, std::deque<std::shared_ptr<TcpMessage>>> sends_, receives_;  // by tag, in posting order
  std::map<std::uint32_t, std::deque<std::uint64_t>> ready_;                           // sizes that the peer waits for
  std::shared_ptr<TcpMessage> incoming_;                                               // whose bytes come now
  std::uint64_t arrived_ = 0;                                                          // of them
  std::vector<std::byte> buffer_;  // heads, and what came behind them
  std::size_t buffered_ = 0;
};

}  // namespace troika::comm
