// Which host computes slower than its like, from what all ranks say of their pace. It knows no store, no clock and no threads.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rendezvous/heartbeat.h"
#include "rendezvous/join.h"

namespace troika::rendezvous {

// A rank is slow by records::slowness_of, each beside what is planned for it.
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
