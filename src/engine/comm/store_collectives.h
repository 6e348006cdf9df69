// Collectives of texts through the store, for ranks that have no channels between them yet (collectives.h).
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "comm/wait_mark.h"
#include "rendezvous/identity.h"
#include "rendezvous/store.h"

namespace troika::comm {

// All ranks call in the same order; `what` names a call, once in a run. PeerError when a rank fails meanwhile.
class StoreCollectives {
 public:
  // `client`: null for a rank that is alone. `mark`: told that the rank waits. Both outlive it.
  StoreCollectives(const rendezvous::Identity& identity, rendezvous::StoreClient* client, WaitMark& mark)
      : identity_(identity), client_(client), mark_(mark) {}

  // Rank 0 makes the text, all return it.
  std::string broadcast_text(const std::string& what, const std::function<std::string()>& text) const;
  // Every rank gives a text, all return those of all by rank.
  std::vector<std::string> all_gather_text(const std::string& what, const std::string& mine) const;
  // The texts of those ranks that gave the same `group`, by world rank. Not of a rank that is alone.
  std::map<int, std::string> gather_among(const std::string& what, const std::string& group,
                                          const std::string& mine) const;

 private:
  std::string key(const std::string& name) const { return rendezvous::key_of(identity_, name); }
  std::string await(const std::string& name) const;
  std::string said_by(int rank, const std::string& what) const;

  const rendezvous::Identity identity_;
  rendezvous::StoreClient* const client_;
  WaitMark& mark_;
};

// Before there are groups others may still tokenize or measure; a failure report ends the wait when one of them fails.
inline constexpr double store_patience_seconds = 7 * 24 * 3600.0;

}  // namespace troika::comm
