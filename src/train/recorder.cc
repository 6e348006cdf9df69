#include "train/recorder.h"

#include <algorithm>

#include "base/clock.h"

namespace troika::train {
using schedule::Event;
using schedule::Instruction;

void Recorder::begins(std::int64_t step, const Instruction& instruction) {
  waits_.clear();
  if (whereabouts_ == nullptr) return;
  const double now = base::monotonic_seconds();
  if (of_ == Of::training && step != step_) {
    whereabouts_->step_begins(now, computed_in_step_);
    computed_in_step_ = 0;
    step_ = step;
  }
  whereabouts_->begins(step, instruction, now);
}

void Recorder::awaits_device() {
  if (whereabouts_ != nullptr) whereabouts_->awaits_device();
}

void Recorder::add(const Instruction& instruction, Event::Activity activity, double begin, double end) {
  if (keeping_ && end > begin) events_.push_back({instruction, activity, begin, end});
}

void Recorder::waited(const Instruction& instruction, double begin, double end) {
  waits_.emplace_back(begin, end);
  phase_seconds_["wait"] += end - begin;
  add(instruction, Event::Activity::wait, begin, end);
}

void Recorder::exchanged_inside(const Instruction& instruction, double begin, double end) {
  waits_.emplace_back(begin, end);
  phase_seconds_[std::string(schedule::name(instruction.kind)) + " exchange"] += end - begin;
  add(instruction, Event::Activity::wait, begin, end);
}

void Recorder::transferred(const Instruction& instruction, double begin, double end) {
  add(instruction, Event::Activity::transfer, begin, end);
}

static bool starts_only(schedule::Kind kind) {
  using schedule::Kind;
  return kind == Kind::send_act || kind == Kind::recv_act || kind == Kind::send_grad || kind == Kind::recv_grad ||
         kind == Kind::gather_params || kind == Kind::reduce_grads || kind == Kind::fetch;
}

// What lies between the waits of an instruction is computing; starting a transfer takes no time worth a row.
void Recorder::ended(const Instruction& instruction, double begin, double end) {
  const double lasted = end - begin;
  double waited_seconds = 0;
  for (const auto& [from, to] : waits_) {
    add(instruction, Event::Activity::compute, begin, from);
    waited_seconds += to - from;
    begin = to;
  }
  const double computed = lasted - waited_seconds;
  const bool starts_transfer = starts_only(instruction.kind);
  if (!starts_transfer) add(instruction, Event::Activity::compute, begin, end);
  phase_seconds_[schedule::name(instruction.kind)] += computed;
  if (schedule::is_computation(instruction.kind)) computed_in_step_ += computed;
  if (whereabouts_ != nullptr)
    whereabouts_->ended(instruction, computed, waited_seconds,
                        of_ == Of::training ? Whereabouts::During::training : Whereabouts::During::evaluation);
}

std::vector<Event> Recorder::take_events() {
  keeping_ = false;
  std::vector<Event> events = std::move(events_);
  events_.clear();
  std::stable_sort(events.begin(), events.end(),
                   [](const Event& a, const Event& b) { return a.begin_seconds < b.begin_seconds; });
  return events;
}

}  // namespace troika::train
