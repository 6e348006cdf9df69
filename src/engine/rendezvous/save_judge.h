// Which rank's disk keeps a checkpoint that is written beside training from being complete, from what all ranks say of
// themselves. It knows no store, no clock and no threads: it is told what was heard. Ages are as the ranks gave them.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "rendezvous/heartbeat.h"
#include "rendezvous/join.h"

namespace troika::rendezvous {

// A save stands when its rank has written nothing for longer than 20 s and twice what is usual, without waiting for another
// rank. Nobody waits for it before the next save is due, and until then no checkpoint is newer than the last complete one.
class SaveJudge {
 public:
  void joined(int rank, const Peer& peer) { ranks_[rank].peer = peer; }
  void heard(int rank, const Heartbeat& heartbeat) { ranks_[rank].save = heartbeat.save; }
  void ended(int rank);  // well or not

  // To be said once: whose save stands, or does no more. A rank that waits for its save itself is the matter of the
  // StallJudge.
  std::vector<records::Incident> judge();

 private:
  struct Rank {
    std::optional<Peer> peer;
    Save save;
  };
  struct Spell {  // of the rank that was named
    int rank = 0;
    Save save;
  };

  static bool stands(const Save& save);
  records::Incident notice_of(records::IncidentKind kind, int rank, const Save& save) const;

  std::map<int, Rank> ranks_;
  std::optional<Spell> spell_;
};

}  // namespace troika::rendezvous
