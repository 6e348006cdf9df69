// The traffic between one rank and its peers, counted as it happens.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace troika::comm {

// By world rank. Threads: every call from any; counting takes no lock.
class Traffic {
 public:
  explicit Traffic(int world_size) : peers_(static_cast<std::size_t>(world_size)) {}

  // Counts a posted message; ignores a peer outside the world.
  void sent(int peer, std::int64_t bytes) { add(&Peer::sent, peer, bytes); }
  void received(int peer, std::int64_t bytes) { add(&Peer::received, peer, bytes); }
  // The rank's thread waited for a message from or to the peer.
  void waited(int peer, double seconds) {
    add(&Peer::waited_nanoseconds, peer, static_cast<std::int64_t>(seconds * 1e9));
  }

  struct Count {
    int peer = 0;
    std::int64_t sent_bytes = 0, received_bytes = 0;
    double waited_seconds = 0;
  };
  std::vector<Count> counts() const {  // of peers with any traffic, ascending
    std::vector<Count> all;
    for (std::size_t peer = 0; peer < peers_.size(); ++peer) {
      const Count count{static_cast<int>(peer), read(peers_[peer].sent), read(peers_[peer].received),
                        static_cast<double>(read(peers_[peer].waited_nanoseconds)) * 1e-9};
      if (count.sent_bytes > 0 || count.received_bytes > 0) all.push_back(count);
    }
    return all;
  }

 private:
  struct Peer {
    std::atomic<std::int64_t> sent{0}, received{0}, waited_nanoseconds{0};
  };
  static std::int64_t read(const std::atomic<std::int64_t>& value) { return value.load(std::memory_order_relaxed); }
  void add(std::atomic<std::int64_t> Peer::*member, int peer, std::int64_t amount) {
    const auto index = static_cast<std::size_t>(peer);
    if (index < peers_.size()) (peers_[index].*member).fetch_add(amount, std::memory_order_relaxed);
  }

  std::vector<Peer> peers_;
};

}  // namespace troika::comm
