// Heartbeats and verdicts. Every rank runs a Guard; one Watch, where the store is hosted, reads all beats and says
// which rank is guilty: never guessed from a connection's error text.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "rendezvous/identity.h"
#include "rendezvous/store.h"

namespace troika::rendezvous {

// Beats every heartbeat/5 seconds, at most every second, from a thread and a connection of its own.
class Guard {
 public:
  // `on_verdict(text)` is called once, from the guard's thread, when a verdict stands or the store has been gone for
  // `heartbeat_seconds`; it must not call the guard. Throws PeerError when the store cannot be reached.
  Guard(const Identity& identity, double heartbeat_seconds, std::function<void(const std::string&)> on_verdict);
  ~Guard();  // stops beating; without done() or failed() before, the Watch takes the rank for dead
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  // Where the rank is; shown when it falls silent. From one thread, cheap (a lock that is free, a copy of the text).
  void at(std::int64_t step, const std::string& instruction);

  // This rank ends well, or failed with this error; beating stops. After failed() a verdict is still heard of. A store that is
  // gone is no error here.
  void done();
  void failed(int exit_code, const std::string& text);

  // "" while there is none; from any thread.
  std::string verdict() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Writes the verdict when a rank that has beaten once is silent for longer than `heartbeat_seconds`, or has failed. A
// failure with exit code 75 (a peer or the network) may be the consequence of another, so it waits a second for a
// better cause; when a rank has stopped beating meanwhile without a word, that one is named.
class Watch {
 public:
  // Connects to the store that `identity` names; its world_rank is not used.
  explicit Watch(const Identity& identity);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace troika::rendezvous
