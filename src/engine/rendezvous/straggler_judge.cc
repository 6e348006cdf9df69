#include "rendezvous/straggler_judge.h"

namespace troika::rendezvous {

static constexpr double looks_every_seconds = 5;
static constexpr double well_again = 0.9;    // of the ratio that makes it slow
static constexpr double much_changed = 1.5;  // times slower or faster than told

std::map<std::string, StragglerJudge::Slow> StragglerJudge::slowest_of_hosts() const {
  std::map<std::string, Slow> slowest;
  for (const auto& [rank, slowness] : records::slowness_of(paces_)) {
    const auto host = hosts_.find(rank);
    if (host == hosts_.end()) continue;
    const Slow slow{rank, slowness};
    const auto [known, is_new] = slowest.insert({host->second, slow});
    if (!is_new && slow.excess() > known->second.excess()) known->second = slow;
  }
  return slowest;
}

records::Incident StragglerJudge::notice_of(const std::string& host, const Slow& slow) const {
  records::Incident notice;
  notice.kind = records::IncidentKind::host_slow;
  notice.who = {slow.rank, -1, host, 0};
  notice.seconds = paces_.at(slow.rank).seconds;
  notice.reference_seconds = slow.of.reference_seconds;
  notice.alike = slow.of.alike;
  return notice;
}

std::vector<records::Incident> StragglerJudge::judge(double now) {
  std::vector<records::Incident> notices;
  if (last_judged_ && now - *last_judged_ < looks_every_seconds) return notices;
  last_judged_ = now;
  for (const auto& [host, slow] : slowest_of_hosts()) {
    const auto told = told_.find(host);
    const double limit = slow.of.limit();
    if (told == told_.end() ? slow.of.ratio > limit
                            : slow.of.ratio > limit && (slow.of.ratio > told->second * much_changed ||
                                                        slow.of.ratio < told->second / much_changed)) {
      told_[host] = slow.of.ratio;
      notices.push_back(notice_of(host, slow));
    } else if (told != told_.end() && slow.of.ratio < limit * well_again) {
      told_.erase(told);
      records::Incident over = notice_of(host, slow);
      over.kind = records::IncidentKind::host_recovered;
      notices.push_back(over);
    }
  }
  return notices;
}

}  // namespace troika::rendezvous
