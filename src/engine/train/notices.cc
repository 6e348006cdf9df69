#include "train/notices.h"

#include <unistd.h>

#include "base/host_name.h"

namespace troika::train {

void Notices::hear(const records::Incident& notice) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    last_ = said(notice);
  }
  {
    const std::lock_guard<std::mutex> lock(listening_);
    if (second_) second_(notice);
  }
  if (first_) first_(notice);
}

void Notices::also_tell(Listener listener) {
  const std::lock_guard<std::mutex> lock(listening_);
  second_ = std::move(listener);
}

base::Text Notices::last() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return last_;
}

static rendezvous::SaveJudge judge_of_this_rank(double heartbeat_seconds) {
  rendezvous::SaveJudge judge;
  judge.joined(0, {base::host_name(), "", ::getpid(), 0, heartbeat_seconds});
  return judge;
}

OwnSaveWatch::OwnSaveWatch(const Whereabouts& whereabouts, Notices& notices, double heartbeat_seconds)
    : judge_(judge_of_this_rank(heartbeat_seconds)), ticker_(1.0, [this, &whereabouts, &notices] {
        rendezvous::Heartbeat beat;
        beat.save = whereabouts.save();
        judge_.heard(0, beat);
        for (const records::Incident& notice : judge_.judge()) notices.hear(notice);
        return true;
      }) {}

}  // namespace troika::train
