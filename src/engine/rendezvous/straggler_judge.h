// Which host computes slower than its like, from what all ranks say of their pace. It knows no store, no clock and no threads.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "rendezvous/beat.h"
#include "rendezvous/join.h"

namespace troika::rendezvous {

// A rank is compared with the median of those that do the same work, each by what is planned for it: slower by more than 1.3
// times, it is named. Where it is the only one of its kind (a pipeline without replicas), with the median of all, and named
// beyond 2 times, because planned work of different kinds is less exact.
class StragglerJudge {
 public:
  void joined(int rank, const Peer& peer) { hosts_[rank] = peer.host; }
  void heard(int rank, const Pace& pace) { paces_[rank] = pace; }  // pace.like is not negative
  void ended(int rank) { paces_.erase(rank); }

  // To be said once: a host that is slow, has become much slower or less slow, or is slow no more. Looks at most
  // every 5 s.
  std::vector<records::Incident> judge(double now);

 private:
  struct Slow {
    int rank = 0;
    double ratio = 1, like_seconds = 0;  // of a step, for the like of this rank
    bool of_its_kind = true;             // compared with ranks that do the same work
  };
  // Seconds of a unit of work, ascending, by what ranks do; and of all.
  std::map<int, std::vector<double>> sorted_paces() const;
  std::optional<Slow> slowness(int rank, const std::map<int, std::vector<double>>& sorted) const;
  std::map<std::string, Slow> slowest_of_hosts() const;
  records::Incident notice_of(const std::string& host, const Slow& slow) const;

  std::map<int, std::string> hosts_;
  std::map<int, Pace> paces_;
  std::map<std::string, double> told_;  // ratio, by host
  std::optional<double> last_judged_;
};

}  // namespace troika::rendezvous
