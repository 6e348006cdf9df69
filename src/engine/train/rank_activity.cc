#include "train/rank_activity.h"

#include "base/clock.h"

namespace troika::train {

static constexpr std::size_t known_from = 3;  // times before which nothing is usual

static std::size_t index_of(const schedule::Instruction& instruction) {
  return static_cast<std::size_t>(instruction.kind);
}

// A rank that is not known to have begun has not begun.
void RankActivity::arrive(std::int64_t from, std::int64_t to) const {
  if (from < 1 && to > from && arrived_) arrived_();
}

void RankActivity::leave_activity(double now) {
  if (!in_program_ && activity_ != records::Activity::nothing) {
    activities_[activity_].add(now - since_);
    totals_.outside[activity_] += now - since_;
  }
  activity_ = records::Activity::nothing;
}

void RankActivity::stand(std::int64_t step, records::Activity activity, Saver saver) {
  std::int64_t before = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    before = step_;
    const double now = base::monotonic_seconds();
    leave_activity(now);
    step_ = step;
    since_ = now;
    in_program_ = awaits_device_ = false;
    activity_ = activity;
    saver_ = saver;
  }
  arrive(before, step);
}

void RankActivity::begins(std::int64_t step, const schedule::Instruction& instruction, double now) {
  std::int64_t before = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    before = step_;
    if (!in_program_) leave_activity(now);
    step_ = step;
    since_ = now;
    in_program_ = true;
    awaits_device_ = false;
    saver_ = Saver::apart;
    instruction_ = instruction;
  }
  arrive(before, step);
}

void RankActivity::awaits_device() {
  const std::lock_guard<std::mutex> lock(mutex_);
  awaits_device_ = true;
}

void RankActivity::ended(const schedule::Instruction& instruction, double computed_seconds, double waited_seconds,
                        During during) {
  const std::lock_guard<std::mutex> lock(mutex_);
  add_taken(instruction, computed_seconds, waited_seconds, during);
  add_stood(instruction, computed_seconds, waited_seconds);
}

void RankActivity::stood(const schedule::Instruction& instruction, double computed_seconds, double waited_seconds) {
  const std::lock_guard<std::mutex> lock(mutex_);
  add_stood(instruction, computed_seconds, waited_seconds);
}

void RankActivity::took(const schedule::Instruction& instruction, double computed_seconds, double waited_seconds,
                       During during) {
  const std::lock_guard<std::mutex> lock(mutex_);
  add_taken(instruction, computed_seconds, waited_seconds, during);
}

void RankActivity::add_taken(const schedule::Instruction& instruction, double computed_seconds, double waited_seconds,
                            During during) {
  if (during == During::training) {
    totals_.computed[index_of(instruction)] += computed_seconds;
    totals_.waited[index_of(instruction)] += waited_seconds;
  } else {
    totals_.evaluating += computed_seconds + waited_seconds;
  }
}

void RankActivity::add_stood(const schedule::Instruction& instruction, double computed_seconds, double waited_seconds) {
  awaits_device_ = false;
  computed_[index_of(instruction)].add(computed_seconds);
  if (waited_seconds > 0) waited_[index_of(instruction)].add(waited_seconds);
}

void RankActivity::save_begins(std::int64_t step, const std::string& folder) {
  const std::lock_guard<std::mutex> lock(mutex_);
  save_step_ = step;
  save_folder_ = folder;
  save_since_ = base::monotonic_seconds();
  longest_stand_ = 0;
}

// A wait for other ranks is none for the disk.
double RankActivity::save_stands_since(const comm::WaitMark::Reading& waits) const {
  return std::max(save_since_, waits.since);
}

void RankActivity::save_moves() {
  const comm::WaitMark::Reading waits = saver_mark_->read();
  const std::lock_guard<std::mutex> lock(mutex_);
  const double now = base::monotonic_seconds();
  longest_stand_ = std::max(longest_stand_, now - save_stands_since(waits));
  save_since_ = now;
}

void RankActivity::save_ended() {
  save_moves();
  const std::lock_guard<std::mutex> lock(mutex_);
  longest_stands_.add(longest_stand_);
  save_step_ = -1;
}

void RankActivity::step_begins(double now, double computed_seconds) {
  const std::lock_guard<std::mutex> lock(mutex_);
  pace_.step_begins(now, computed_seconds);
}

void RankActivity::planned(double work, int like) {
  const std::lock_guard<std::mutex> lock(mutex_);
  work_ = work;
  like_ = like;
}

records::Place RankActivity::place() const {
  comm::WaitMark::Reading waits = wait_mark_->read();
  const std::lock_guard<std::mutex> lock(mutex_);
  if (saver_ == Saver::awaited && waits.peer == comm::WaitMark::nobody) waits = saver_mark_->read();
  const double now = base::monotonic_seconds();
  records::Place place;
  place.step = step_;
  place.waits_for = awaits_device_ && waits.peer == comm::WaitMark::nobody ? comm::WaitMark::others : waits.peer;
  place.at = in_program_ ? records::Doing::instruction_of(to_text(instruction_)) : records::Doing(activity_);
  if (step_ < 0) return place;
  place.seconds = std::max(0.0, now - std::max(since_, waits.since));
  if (in_program_) {
    place.usual_seconds =
        (waits.peer == comm::WaitMark::nobody ? computed_ : waited_)[index_of(instruction_)].median(known_from);
  } else if (const auto known = activities_.find(activity_); known != activities_.end()) {
    place.usual_seconds = known->second.median(known_from);
  }
  return place;
}

rendezvous::Save RankActivity::save() const {
  const comm::WaitMark::Reading waits = saver_mark_->read();
  const std::lock_guard<std::mutex> lock(mutex_);
  rendezvous::Save save;
  if (save_step_ < 0 || waits.peer != comm::WaitMark::nobody) return save;
  save.step = save_step_;
  save.folder = save_folder_;
  save.seconds = std::max(0.0, base::monotonic_seconds() - save_stands_since(waits));
  save.usual_seconds = longest_stands_.median(known_from);
  save.awaited = saver_ == Saver::awaited;
  return save;
}

RankActivity::Totals RankActivity::totals() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return totals_;
}

records::Pace RankActivity::pace() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return {pace_.seconds(), work_, like_};
}

}  // namespace troika::train
