#include "rendezvous/notice_judges.h"

namespace troika::rendezvous {

bool SaveJudge::stands(const Save& save) {
  constexpr double patience_seconds = 20, times_usual = 2;
  return save.step >= 0 && save.seconds > patience_seconds + times_usual * save.usual_seconds;
}

void SaveJudge::ended(int rank) {
  ranks_[rank].save = {};
  if (spell_ && spell_->rank == rank) spell_.reset();
}

records::Incident SaveJudge::notice_of(records::IncidentKind kind, int rank, const Save& save) const {
  records::Incident notice;
  notice.kind = kind;
  notice.who = party_of(rank, ranks_.at(rank).peer.value_or(Peer{}));
  notice.place.step = save.step;
  notice.seconds = save.seconds;
  notice.address = save.folder;
  return notice;
}

std::vector<records::Incident> SaveJudge::judge() {
  std::vector<records::Incident> notices;
  if (spell_) {
    const Save& now = ranks_.at(spell_->rank).save;
    const bool same = now.step == spell_->save.step && stands(now);
    if (same) {
      spell_->save = now;
      return notices;
    }
    notices.push_back(notice_of(records::IncidentKind::save_continues, spell_->rank, spell_->save));
    spell_.reset();
  }
  int most = -1, count = 0;
  for (const auto& [rank, state] : ranks_) {
    if (!stands(state.save) || state.save.awaited) continue;
    ++count;
    if (most < 0 || state.save.seconds > ranks_.at(most).save.seconds) most = rank;
  }
  if (most < 0) return notices;
  spell_ = Spell{most, ranks_.at(most).save};
  notices.push_back(notice_of(records::IncidentKind::save_stalled, most, spell_->save));
  notices.back().others = count - 1;
  return notices;
}

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
