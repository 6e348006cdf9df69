#include "train/recorder.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"
#include "base/file.h"
#include "comm/collectives.h"
#include "schedule/trace/trace_json.h"

namespace troika::train {

using schedule::Event;
using schedule::Instruction;

Recorder::Recorder(Of of, RankActivity* rank_activity, tensor::Streams* streams)
    : of_(of),
      rank_activity_(rank_activity),
      streams_(streams == nullptr || streams->shares_host_memory() ? nullptr : streams) {}

RankActivity::During Recorder::during() const {
  return of_ == Of::training ? RankActivity::During::training : RankActivity::During::evaluation;
}

void Recorder::begins(std::int64_t step, const Instruction& instruction) {
  if (streams_ == nullptr) {
    waits_.clear();
  } else {
    host_waited_ = 0;
    tell(Told::What::begins, instruction);
  }
  if (rank_activity_ == nullptr) return;
  const double now = base::monotonic_seconds();
  if (of_ == Of::training && step != step_) {
    rank_activity_->step_begins(now, computed_in_step_);
    computed_in_step_ = 0;
    step_ = step;
  }
  rank_activity_->begins(step, instruction, now);
}

void Recorder::awaits_device() {
  if (rank_activity_ != nullptr) rank_activity_->awaits_device();
}

void Recorder::stands() {
  if (streams_ != nullptr) stood_ = mark();
}

void Recorder::tell(Told::What what, const Instruction& instruction, tensor::Event from) {
  told_.push_back({what, instruction, std::move(from), mark(), keeping_});
}

// The lane has nothing to do, so an event is passed where it is recorded: it ties the device's time to the host's.
void Recorder::device_is_done() {
  if (streams_ == nullptr) return;
  const tensor::Event now = mark();
  const double now_seconds = base::monotonic_seconds();
  tensor::await(now, [] {});
  const auto seconds_of = [&](const tensor::Event& event) { return now_seconds - streams_->seconds_between(event, now); };
  const std::vector<Told> told = std::exchange(told_, {});
  for (const Told& one : told) hear(one, seconds_of);
}

void Recorder::await_device(const std::function<void()>& check) {
  if (streams_ == nullptr) return;
  tensor::await(mark(), check);
  device_is_done();
}

// A message is under way from where the compute lane came to the instruction that starts it.
void Recorder::hear(const Told& told, const std::function<double(const tensor::Event&)>& seconds_of) {
  using What = Told::What;
  hears_kept_ = told.kept;
  const double at = seconds_of(told.at);
  if (told.what == What::begins) {
    waits_.clear();
    began_ = at;
    if (!schedule::is_computation(told.instruction.kind)) messages_began_[to_text(told.instruction)] = at;
  }
  if (told.what == What::waited) hear_waited(told.instruction, seconds_of(told.from), at);
  if (told.what == What::exchanged_inside) hear_exchanged(told.instruction, seconds_of(told.from), at);
  if (told.what == What::transferred)
    add(told.instruction, Event::Activity::transfer, messages_began_[to_text(told.instruction)], at);
  if (told.what == What::ended) {
    const double waited_seconds = hear_ended(told.instruction, began_, at);
    if (rank_activity_ != nullptr) rank_activity_->took(told.instruction, at - began_ - waited_seconds, waited_seconds, during());
  }
}

void Recorder::add(const Instruction& instruction, Event::Activity activity, double begin, double end) {
  if ((streams_ == nullptr ? keeping_ : hears_kept_) && end > begin) events_.push_back({instruction, activity, begin, end});
}

void Recorder::waited(const Instruction& instruction, double begin, double end) {
  if (streams_ == nullptr) return hear_waited(instruction, begin, end);
  host_waited_ += end - begin;
  tell(Told::What::waited, instruction, stood_);
}

void Recorder::exchanged_inside(const Instruction& instruction, double begin, double end) {
  if (streams_ == nullptr) return hear_exchanged(instruction, begin, end);
  host_waited_ += end - begin;
  tell(Told::What::exchanged_inside, instruction, stood_);
}

void Recorder::hear_waited(const Instruction& instruction, double begin, double end) {
  waits_.emplace_back(begin, end);
  phase_seconds_.waited += end - begin;
  add(instruction, Event::Activity::wait, begin, end);
}

void Recorder::hear_exchanged(const Instruction& instruction, double begin, double end) {
  waits_.emplace_back(begin, end);
  phase_seconds_.exchanged[static_cast<std::size_t>(instruction.kind)] += end - begin;
  add(instruction, Event::Activity::wait, begin, end);
}

void Recorder::transferred(const Instruction& instruction, double begin, double end) {
  if (streams_ == nullptr) return add(instruction, Event::Activity::transfer, begin, end);
  tell(Told::What::transferred, instruction);
}

static bool starts_only(schedule::Kind kind) {
  using schedule::Kind;
  return kind == Kind::send_act || kind == Kind::recv_act || kind == Kind::send_grad || kind == Kind::recv_grad ||
         kind == Kind::gather_params || kind == Kind::reduce_grads || kind == Kind::fetch;
}

// The time between the waits of an instruction is computing; starting a transfer takes no time worth a row.
void Recorder::ended(const Instruction& instruction, double begin, double end) {
  if (streams_ != nullptr) {
    tell(Told::What::ended, instruction);
    if (rank_activity_ != nullptr) rank_activity_->stood(instruction, end - begin - host_waited_, host_waited_);
    return;
  }
  const double waited_seconds = hear_ended(instruction, begin, end);
  if (rank_activity_ != nullptr) rank_activity_->ended(instruction, end - begin - waited_seconds, waited_seconds, during());
}

// Returns for how long the instruction stood still.
double Recorder::hear_ended(const Instruction& instruction, double begin, double end) {
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
  phase_seconds_.computed[static_cast<std::size_t>(instruction.kind)] += computed;
  if (schedule::is_computation(instruction.kind)) computed_in_step_ += computed;
  return waited_seconds;
}

std::vector<Event> Recorder::take_events() {
  keeping_ = false;
  std::vector<Event> events = std::move(events_);
  events_.clear();
  std::stable_sort(events.begin(), events.end(),
                   [](const Event& a, const Event& b) { return a.begin_seconds < b.begin_seconds; });
  return events;
}

schedule::StepTrace write_timeline(const TimelinePlace& place, std::int64_t step, std::vector<schedule::Event> events,
                                   comm::Channel& world) {
  constexpr int rounds = 16;
  schedule::RankTrace trace;
  trace.step = step;
  trace.clock_offset_seconds = comm::clock_offset_seconds(world, rounds);
  trace.timeline = {place.grid_rank, place.world_rank, place.host, std::move(events)};
  trace.link = place.link;
  const std::string text = schedule::write_rank_trace(trace);
  base::make_directories(place.folder);
  base::write_file_atomic(place.folder + "/" + schedule::rank_trace_name(step, place.world_rank), text);

  const std::vector<std::string> all = comm::all_gather_text(world, text);
  if (world.rank() != 0) return {};
  const schedule::StepTrace merged = schedule::merge(all);
  base::write_file_atomic(place.folder + "/" + schedule::merged_trace_name(step), schedule::write_chrome(merged));
  return merged;
}

}  // namespace troika::train
