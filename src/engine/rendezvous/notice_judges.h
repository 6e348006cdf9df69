// Judges whose findings are notices alone, from what all ranks say of themselves. They know no store, no clock and no threads: they are
// told what was heard. Ages are as the ranks gave them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rendezvous/heartbeat.h"
#include "rendezvous/join.h"

namespace troika::rendezvous {

// Finds the rank whose disk keeps a checkpoint written beside training incomplete: no write for 20 s and twice the usual time,
// without a wait for another rank. Nobody waits for it before the next save is due; until then the last complete one is newest.
class SaveJudge {
 public:
  void joined(int rank, const Peer& peer) { ranks_[rank].peer = peer; }
  void heard(int rank, const Heartbeat& heartbeat) { ranks_[rank].save = heartbeat.save; }
  void ended(int rank);  // well or not

  // Notices to give once: whose save is stuck, or no longer. A rank that waits for its save itself is the matter of the
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

// Finds the host that computes slower than its peers. A rank is slow by records::slowness_of, each beside what is planned for it.
class StragglerJudge {
 public:
  void joined(int rank, const Peer& peer) { hosts_[rank] = peer.host; }
  void heard(int rank, const records::Pace& pace) { paces_[rank] = pace; }  // pace.like is not negative
  void ended(int rank) { paces_.erase(rank); }

  // To be said once: a host that is slow, has become much slower or less slow, or is slow no more. Looks at most
  // every 5 s.
  std::vector<records::Incident> judge(double now);

 private:
  struct Slow {
    int rank = 0;
    records::Slowness of;
    double excess() const { return of.ratio / of.limit(); }
  };
  std::map<std::string, Slow> slowest_of_hosts() const;
  records::Incident notice_of(const std::string& host, const Slow& slow) const;

  std::map<int, std::string> hosts_;
  std::map<int, records::Pace> paces_;
  std::map<std::string, double> told_;  // ratio, by host
  std::optional<double> last_judged_;
};

}  // namespace troika::rendezvous
