#include "rendezvous/save_judge.h"

#include <fmt/format.h>

namespace troika::rendezvous {

bool SaveJudge::stands(const Save& save) {
  constexpr double patience_seconds = 20, times_usual = 2;
  return save.step >= 0 && save.seconds > patience_seconds + times_usual * save.usual_seconds;
}

void SaveJudge::ended(int rank) {
  ranks_[rank].save = {};
  if (spell_ && spell_->rank == rank) spell_.reset();
}

std::string SaveJudge::name(int rank) const {
  const auto& peer = ranks_.at(rank).peer;
  return peer ? describe(rank, *peer) : fmt::format("rank {}", rank);
}

std::string SaveJudge::sentence(int rank, int others) const {
  const Save& save = ranks_.at(rank).save;
  std::string text = fmt::format(
      "{} has written nothing for {:.0f} s of the checkpoint of step {} in '{}': see its disk; training continues, and "
      "no "
      "newer checkpoint is complete before that one",
      name(rank), save.seconds, save.step, save.folder);
  if (others > 0) text += fmt::format("; {} more rank{} the same", others, others == 1 ? " does" : "s do");
  return text;
}

std::vector<std::string> SaveJudge::judge() {
  std::vector<std::string> sentences;
  if (spell_) {
    const Save& now = ranks_.at(spell_->rank).save;
    const bool same = now.step == spell_->save.step && stands(now);
    if (same) {
      spell_->save = now;
      return sentences;
    }
    sentences.push_back(fmt::format("{} writes again after {:.0f} s (the checkpoint of step {})", name(spell_->rank),
                                    spell_->save.seconds, spell_->save.step));
    spell_.reset();
  }
  int most = -1, count = 0;
  for (const auto& [rank, state] : ranks_) {
    if (!stands(state.save) || state.save.awaited) continue;
    ++count;
    if (most < 0 || state.save.seconds > ranks_.at(most).save.seconds) most = rank;
  }
  if (most < 0) return sentences;
  spell_ = Spell{most, ranks_.at(most).save};
  sentences.push_back(sentence(most, count - 1));
  return sentences;
}

}  // namespace troika::rendezvous
