// Brings what the ranks and launchers of all hosts say to the run's folder on the host of the store.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "rendezvous/identity.h"

namespace troika::rendezvous {

// Keys of an attempt (rendezvous::key_of), with the six digits of a rank or a node behind: the newest sample of a rank; an event
// that another host's disk has.
inline constexpr const char* sample_key = "sample";
inline constexpr const char* event_key = "event";

// From a thread of its own, once a second. A disk that fails or a store that is gone ends no run. What is in the folder already,
// because hosts share it, is not written twice.
class Gatherer {
 public:
  // Connects to the store that `identity` names; PeerError when it does not answer. Nothing is written before `may_write` says so,
  // which is asked from its thread.
  Gatherer(const Identity& identity, std::string folder, std::function<bool()> may_write);
  ~Gatherer();  // after a last look
  Gatherer(const Gatherer&) = delete;
  Gatherer& operator=(const Gatherer&) = delete;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace troika::rendezvous
