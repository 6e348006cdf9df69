#include "rendezvous/straggler_judge.h"

#include <algorithm>

namespace troika::rendezvous {

static constexpr int all_kinds = -1;
static constexpr double looks_every_seconds = 5;
static constexpr double slow_ratio = 1.3, slow_ratio_of_other_work = 2;
static constexpr double well_again = 0.9;    // of the ratio that makes it slow
static constexpr double much_changed = 1.5;  // times slower or faster than told

static bool is_known(const Pace& pace) { return pace.seconds > 0 && pace.work > 0; }

static double seconds_of_unit(const Pace& pace) { return pace.seconds / pace.work; }

// Of all but one, which is `without`.
static double median_of_others(const std::vector<double>& sorted, double without) {
  const auto own = static_cast<std::size_t>(std::lower_bound(sorted.begin(), sorted.end(), without) - sorted.begin());
  const std::size_t middle = (sorted.size() - 1) / 2;
  return sorted[middle < own ? middle : middle + 1];
}

std::map<int, std::vector<double>> StragglerJudge::sorted_paces() const {
  std::map<int, std::vector<double>> sorted;
  for (const auto& [rank, pace] : paces_) {
    if (!is_known(pace)) continue;
    sorted[pace.like].push_back(seconds_of_unit(pace));
    sorted[all_kinds].push_back(seconds_of_unit(pace));
  }
  for (auto& [like, paces] : sorted) std::sort(paces.begin(), paces.end());
  return sorted;
}

std::optional<StragglerJudge::Slow> StragglerJudge::slowness(int rank,
                                                             const std::map<int, std::vector<double>>& sorted) const {
  const Pace& mine = paces_.at(rank);
  if (!is_known(mine) || sorted.at(all_kinds).size() < 2) return std::nullopt;
  Slow slow;
  slow.rank = rank;
  slow.of_its_kind = sorted.at(mine.like).size() > 1;
  const std::vector<double>& others = sorted.at(slow.of_its_kind ? mine.like : all_kinds);
  slow.like_seconds = median_of_others(others, seconds_of_unit(mine)) * mine.work;
  slow.ratio = mine.seconds / slow.like_seconds;
  return slow;
}

static double limit_of(bool of_its_kind) { return of_its_kind ? slow_ratio : slow_ratio_of_other_work; }

// The ratio as a multiple of what makes a rank slow.
static double excess(double ratio, bool of_its_kind) { return ratio / limit_of(of_its_kind); }

std::map<std::string, StragglerJudge::Slow> StragglerJudge::slowest_of_hosts() const {
  std::map<std::string, Slow> slowest;
  const auto sorted = sorted_paces();
  for (const auto& [rank, pace] : paces_) {
    const auto host = hosts_.find(rank);
    const std::optional<Slow> slow = slowness(rank, sorted);
    if (host == hosts_.end() || !slow) continue;
    const auto [known, is_new] = slowest.insert({host->second, *slow});
    if (!is_new && excess(slow->ratio, slow->of_its_kind) > excess(known->second.ratio, known->second.of_its_kind))
      known->second = *slow;
  }
  return slowest;
}

records::Incident StragglerJudge::notice_of(const std::string& host, const Slow& slow) const {
  records::Incident notice;
  notice.kind = records::IncidentKind::host_slow;
  notice.who = {slow.rank, -1, host, 0};
  notice.seconds = paces_.at(slow.rank).seconds;
  notice.reference_seconds = slow.like_seconds;
  notice.alike = slow.of_its_kind;
  return notice;
}

std::vector<records::Incident> StragglerJudge::judge(double now) {
  std::vector<records::Incident> notices;
  if (last_judged_ && now - *last_judged_ < looks_every_seconds) return notices;
  last_judged_ = now;
  for (const auto& [host, slow] : slowest_of_hosts()) {
    const auto told = told_.find(host);
    const double limit = limit_of(slow.of_its_kind);
    if (told == told_.end() ? slow.ratio > limit
                            : slow.ratio > limit && (slow.ratio > told->second * much_changed ||
                                                     slow.ratio < told->second / much_changed)) {
      told_[host] = slow.ratio;
      notices.push_back(notice_of(host, slow));
    } else if (told != told_.end() && slow.ratio < limit * well_again) {
      told_.erase(told);
      records::Incident over = notice_of(host, slow);
      over.kind = records::IncidentKind::host_recovered;
      notices.push_back(over);
    }
  }
  return notices;
}

}  // namespace troika::rendezvous
