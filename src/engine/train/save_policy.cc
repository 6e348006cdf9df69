#include "train/save_policy.h"

#include <algorithm>

#include "base/clock.h"
#include "base/error.h"
#include "base/say.h"

namespace troika::train {

SavePolicy::SavePolicy(const config::CheckpointSettings& settings, CheckpointWriter& writer, RunReporter& reporter,
                       std::function<void()> before, std::int64_t saved_step)
    : settings_(settings),
      writer_(writer),
      reporter_(reporter),
      before_(std::move(before)),
      saved_step_(saved_step) {}

bool SavePolicy::due_by_time(double now_seconds) const {
  constexpr double retry_seconds = 60, most_share = 0.02;
  const double interval = settings_.every_minutes * 60;
  if (writer_.writing() || (interval <= 0 && !last_failed_)) return false;
  const double pause = last_failed_ ? retry_seconds : std::max(interval, waited_for_last_ / most_share);
  return now_seconds - last_try_ >= pause;
}

bool SavePolicy::due(std::int64_t step, Reason reason) const {
  const bool by_step = settings_.every > 0 && step % settings_.every == 0;
  return by_step || reason == Reason::asked || (reason == Reason::best && settings_.keep_best);
}

void SavePolicy::begin(const Position& at, Until until) {
  settle(at, NextTry::now);
  reporter_.tell_saving(records::Activity::saving);
  last_try_ = base::monotonic_seconds();
  before_();
  writer_.begin(until);
  waited_for_last_ = base::monotonic_seconds() - last_try_;
  waited_seconds_ += waited_for_last_;
}

void SavePolicy::finish() {
  const double begin = base::monotonic_seconds();
  reporter_.tell_saving(records::Activity::finishing_save);
  const CheckpointWriter::Outcome outcome = writer_.finish();
  waited_seconds_ += base::monotonic_seconds() - begin;
  saved_step_ = outcome.step;
  last_failed_ = false;
  for (const base::Text& text : outcome.remarks) reporter_.note(base::say("step {} is saved; {}", outcome.step, text));
  reporter_.record(records::EventKind::save, base::say("step {} is saved", outcome.step),
                   {{"saved_step", static_cast<double>(outcome.step)}, {"seconds", outcome.seconds}});
}

SavePolicy::NextTry SavePolicy::next_try(const Position& at) const {
  if (!at.over) return NextTry::later;
  return settings_.at_end ? NextTry::now : NextTry::never;
}

bool SavePolicy::settle(const Position& at) { return settle(at, next_try(at)); }

void SavePolicy::settle_if_complete(const Position& at) {
  if (writer_.complete()) settle(at);
}

// All ranks hear alike of a disk that fails.
bool SavePolicy::settle(const Position& at, NextTry next) {
  if (!writer_.writing()) return true;
  try {
    finish();
    return true;
  } catch (const base::DataError& error) {
    last_failed_ = true;
    last_try_ = base::monotonic_seconds();
    const base::Text text = failed_save(base::text_of(error), at, next);
    reporter_.note(text);
    reporter_.record(records::EventKind::save_failed, text, {}, error.cause());
    return false;
  }
}

bool SavePolicy::save_now(const Position& at) {
  settle(at, NextTry::now);
  if (saved_step_ == at.step) return true;
  begin(at, Until::complete);
  return settle(at, NextTry::never);
}

void SavePolicy::save_the_end(const Position& at) {
  settle(at);
  if (saved_step_ == at.step || !settings_.at_end) return;
  begin(at, Until::complete);
  try {
    finish();
  } catch (const base::DataError& error) {
    throw base::DataError(failed_save(base::text_of(error), at, NextTry::never), error.cause());
  }
}

// The part of the run that is safe now, and what becomes of the rest.
base::Text SavePolicy::failed_save(const base::Text& cause, const Position& at, NextTry next) const {
  const base::Text newest = saved_step_ < 0 ? base::say("nothing from the run is saved so far")
                                            : base::say("the newest checkpoint is from step {}", saved_step_);
  base::Text then;
  if (next == NextTry::later) {
    const std::int64_t every = settings_.every;
    const std::int64_t due = every > 0 ? (at.step / every + 1) * every : at.steps;
    const std::int64_t again = settings_.at_end ? std::min(due, at.steps) : due;
    const bool by_step = every > 0 ? again <= at.steps : settings_.at_end;
    then = by_step ? base::say("the run continues and retries in a minute, or after step {} if that comes first", again)
                   : base::say("the run continues and retries in a minute");
  } else if (next == NextTry::now) {
    then = base::say("the run retries now, with step {}", at.step);
  } else if (saved_step_ < 0) {
    then = base::say(
        "the run ends without a checkpoint of this step: free space on that disk or repair it, and rerun the same command, which starts over");
  } else {
    then = base::say(
        "the run ends without a checkpoint of this step: free space on that disk or repair it, and rerun the same command, which resumes from step {}",
        saved_step_);
  }
  return base::say("step {} could not be saved: {}; {}; {}", writer_.step(), cause, newest, then);
}

}  // namespace troika::train
