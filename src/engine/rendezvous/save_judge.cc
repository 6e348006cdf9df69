#include "rendezvous/save_judge.h"

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

}  // namespace troika::rendezvous
