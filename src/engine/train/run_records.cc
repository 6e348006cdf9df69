#include "train/run_records.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/host_name.h"
#include "base/say.h"
#include "host/memory.h"
#include "host/vitals.h"
#include "planner/estimate.h"
#include "records/folder_lock.h"
#include "records/run_reader.h"

namespace troika::train {
using records::EventKind;
using records::Life;
using schedule::Kind;

static constexpr double most_samples_a_second = 100;  // of all ranks together, for the host that gathers them

static const char* phase_of(Kind kind) {
  switch (kind) {
    case Kind::load:
      return "load";
    case Kind::fwd:
      return "forward";
    case Kind::refwd:
    case Kind::bwd:
    case Kind::bwd_input:
    case Kind::bwd_weight:
      return "backward";
    case Kind::norm:
    case Kind::fetch:
    case Kind::offload:
    case Kind::step:
      return "optimizer";
    case Kind::loss:
      return "evaluate";
    default:
      return "exchange";
  }
}

// The phase of a rank's work outside of the program.
static const char* phase_of(records::Activity activity) {
  switch (activity) {
    case records::Activity::saving:
    case records::Activity::finishing_save:
      return "save";
    case records::Activity::evaluating:
      return "evaluate";
    case records::Activity::reporting:
      return "report";
    case records::Activity::measuring_link:
      return "measure";
    default:
      return "prepare";
  }
}

static records::RunState state_of(const RunRecords::Place& place) {
  records::RunState state;
  state.launch = place.launch;
  state.attempt = place.attempt;
  state.slurm_job = place.slurm_job;
  state.folder = place.folder;
  state.sample_seconds = place.sample_seconds;
  return state;
}

base::Text all_steps_are_done(std::int64_t steps) {
  return steps == 1 ? base::say("the one step is done") : base::say("all {} steps are done", steps);
}

RunRecords::RunRecords(const Place& place, const RankActivity& rank_activity, std::shared_ptr<const comm::Traffic> traffic,
                       Publish publish)
    : place_(place),
      host_(base::host_name()),
      rank_activity_(rank_activity),
      traffic_(std::move(traffic)),
      publish_(std::move(publish)),
      samples_(std::make_shared<records::LineWriter>(place.folder, records::samples_name(place.rank), 100)),
      events_(std::make_shared<records::LineWriter>(place.folder, "events.jsonl")),
      log_(std::make_shared<records::LineWriter>(place.folder, "run.log")),
      begin_(base::monotonic_seconds()),
      state_(state_of(place)) {}

RunRecords::~RunRecords() {
  if (ticker_ == nullptr) return;
  ticker_->stop();
  take_sample();
}

records::Event RunRecords::event_of(EventKind kind, std::int64_t step, const std::string& text) const {
  records::Event event;
  event.time = base::wall_seconds();
  event.kind = kind;
  event.host = host_;
  event.attempt = place_.attempt;
  event.step = step;
  event.text = text;
  return event;
}

// Before the folder is this run's it is taken for as long as the writing lasts, or not written to.
void RunRecords::post(std::function<void()> job) {
  if (left_) return;
  if (prepared_) return disk_.post(std::move(job));
  disk_.post([job = std::move(job), folder = place_.folder, launch = place_.launch] {
    const auto launcher = records::lock_holder(records::launch_lock_path(folder));
    if (launcher && launcher->is_of(launch)) return job();
    const std::string path = records::run_lock_path(folder);
    records::FolderLock lock(path);
    while (!lock.take(records::this_process("", launch))) {
      const auto holder = records::lock_holder(path);
      if (holder && !holder->run.empty()) return;  // a run, and no rank that says its last word
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    if (!records::held_by_another(records::launch_lock_path(folder), launch)) job();
  });
}

void RunRecords::write(const records::Event& event) {
  if (also_) also_(event);
  post([events = events_, line = to_json(event)] { events->append(line); });
}

void RunRecords::event(EventKind kind, std::int64_t step, const base::Text& text,
                       const std::map<std::string, double>& numbers, base::Cause cause) {
  if (place_.rank != 0) return;
  records::Event event = event_of(kind, step, text.english);
  event.numbers = numbers;
  event.incident = records::told(text, cause);
  write(event);
}

void RunRecords::notice(const records::Incident& notice) {
  if (!prepared_ || !first_of_host()) return;
  const std::string sentence = english(notice);
  told(sentence);
  records::Event event = event_of(EventKind::notice, rank_activity_.place().step, sentence);
  event.incident = notice;
  write(event);
}

void RunRecords::told(const std::string& text) {
  if (place_.rank == 0) post([log = log_, line = records::log_line(base::wall_seconds(), text)] { log->append(line); });
}

void RunRecords::leave_folder() {
  prepared_ = false;
  left_ = true;
  ticker_.reset();
}

void RunRecords::failed(int exit_code, const base::Text& text, base::Cause cause) {
  told("failed: " + text.english);
  records::Event event = event_of(EventKind::rank_failed, rank_activity_.place().step, text.english);
  event.rank = place_.rank;
  event.incident = records::failed({place_.rank, -1, host_, ::getpid()}, text, cause);
  event.numbers["exit_code"] = exit_code;
  write(event);
  if (publish_) publish_(fmt::format("{}/{:06}-failed", rendezvous::event_key, place_.rank), to_json(event));
  if (!prepared_) return;
  state_.incident = event.incident;
  ends(Life::failed, text.english, exit_code);
}

// Starts from the state on the disk, as the rank's thread may be about to change its own.
void RunRecords::ended_at_once() {
  event(EventKind::stop, rank_activity_.place().step, base::say("stopped immediately after a second stop request"));
  if (first_of_host())
    disk_.post([place = place_, now = base::wall_seconds()] {
      std::optional<records::RunState> state = records::read_run_state(place.folder);
      const bool of_this_attempt = state && state->launch == place.launch && state->attempt == place.attempt;
      if (!of_this_attempt || (state->life != Life::preparing && state->life != Life::training)) return;
      state->life = Life::stopped;
      state->since = now;
      state->exit_code = base::exit_interrupted;
      records::write_run_state(place.folder, *state);
    });
  disk_.flush();
}

void RunRecords::hold(const tensor::Ledger& ledger) {
  using tensor::MemoryUse;
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [name, use] :
       {std::pair{"parameters", MemoryUse::parameters}, {"state", MemoryUse::state}, {"snapshot", MemoryUse::snapshot}})
    memory_[name] = ledger.live(use);
  // Between two steps there are neither: the most at once is what counts.
  memory_["gradients"] = ledger.peak(MemoryUse::gradients);
  memory_["activations"] = ledger.peak(MemoryUse::activations);
}

records::Sample RunRecords::sample() {
  records::Sample sample;
  sample.time = base::wall_seconds();
  sample.rank = place_.rank;
  sample.host = host_;
  sample.attempt = place_.attempt;
  sample.number = ++taken_;
  sample.place = rank_activity_.place();
  sample.pace_seconds = rank_activity_.pace().seconds;
  sample.elapsed_seconds = base::monotonic_seconds() - begin_;
  const RankActivity::Totals totals = rank_activity_.totals();
  for (std::size_t kind = 0; kind < schedule::kind_count; ++kind) {
    const Kind of = static_cast<Kind>(kind);
    if (totals.computed[kind] > 0) sample.phases[phase_of(of)] += totals.computed[kind];
    if (totals.waited[kind] > 0) sample.waits[std::string(schedule::name(of))] += totals.waited[kind];
  }
  if (totals.evaluating > 0) sample.phases["evaluate"] += totals.evaluating;
  for (const auto& [activity, seconds] : totals.outside) sample.phases[phase_of(activity)] += seconds;
  if (traffic_ != nullptr)
    for (const comm::Traffic::Count& of_peer : traffic_->counts())
      sample.traffic.push_back({of_peer.peer, of_peer.sent_bytes, of_peer.received_bytes, of_peer.waited_seconds});
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    sample.memory = memory_;
    sample.threads = threads_;
  }
  const host::ProcessMemory memory = host::process_memory();
  sample.memory["resident"] = memory.resident_bytes;
  sample.peak_resident_bytes = memory.peak_resident_bytes;
  if (first_of_host()) {
    sample.vitals = host::read_vitals("");
    sample.vitals->disk_free_bytes = *disk_free_bytes_;
  }
  return sample;
}

// A disk that does not answer keeps its own thread, and what it has free is that of the last answer.
void RunRecords::take_sample() {
  const std::string line = to_json(sample());
  disk_.post([samples = samples_, line, free = disk_free_bytes_, folder = place_.folder] {
    samples->append(line);
    *free = host::free_disk_bytes(folder);
  });
  if (publish_) publish_(fmt::format("{}/{:06}", rendezvous::sample_key, place_.rank), line);
}

void RunRecords::write_state(Life life) {
  if (!first_of_host()) return;
  state_.life = life;
  state_.since = base::wall_seconds();
  disk_.post([folder = place_.folder, state = state_] {
    const std::optional<records::RunState> there = records::read_run_state(folder);
    const bool of_this_attempt = there && there->launch == state.launch && there->attempt == state.attempt;
    // The launcher has told the cause, and this rank perhaps what follows from it.
    if (of_this_attempt && state.life == Life::failed && there->life == Life::failed) return;
    records::write_run_state(folder, state);
  });
}

void RunRecords::prepares(const std::vector<records::RankPlace>& ranks) {
  prepared_ = true;
  state_.began = base::wall_seconds();  // whatever lies there already is of others
  state_.ranks = ranks;
  const double pace = std::max(place_.sample_seconds, static_cast<double>(ranks.size()) / most_samples_a_second);
  if (place_.sample_seconds > 0) state_.sample_seconds = pace;
  write_state(Life::preparing);
  if (place_.sample_seconds <= 0) return;
  ticker_ = std::make_unique<rendezvous::Ticker>(pace, [this] {
    take_sample();
    return true;
  });
}

void RunRecords::gather(const rendezvous::Identity& identity) {
  try {
    gatherer_ = std::make_unique<rendezvous::Gatherer>(identity, place_.folder, [this] { return !left_; });
  } catch (const base::Error&) {  // every host has its own ranks' records all the same
  }
}

void RunRecords::planned(const plan::Plan& plan, const records::ThreadUse& threads) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    threads_ = threads;
  }
  const config::Settings& s = plan.settings();
  const base::Text model = plan::model_line(plan), layout = plan::layout_line(plan);
  state_.model = model.english;
  state_.model_zh = model.chinese;
  state_.layout = layout.english;
  state_.layout_zh = layout.chinese;
  state_.parameters = shape::parameter_count(plan.model());
  state_.dp = plan.shape.dp;
  state_.pp = plan.shape.pp;
  state_.tp = plan.shape.tp;
  state_.cp = plan.shape.cp;
  state_.zero = static_cast<int>(s.parallel.zero);
  state_.schedule = std::string(config::word_of(s.parallel.schedule));
  state_.precision = std::string(config::word_of(plan.precision()));
  state_.device = s.train.device;
  state_.steps = plan.steps;
  state_.tokens_per_step = planner::positions_of_step(plan);
  state_.flops_per_step = planner::model_flops_of_step(plan);
  state_.lengths = plan::lengths_of(plan);
  for (records::RankPlace& rank : state_.ranks) {
    const mesh::Coordinate at = mesh::coordinate_of(plan.shape, rank.rank);
    rank.dp = at.dp;
    rank.pp = at.pp;
    rank.tp = at.tp;
    rank.cp = at.cp;
  }
  write_state(Life::preparing);
}

void RunRecords::begins(std::int64_t first_step, std::int64_t steps, double predicted_seconds) {
  state_.predicted_seconds = predicted_seconds;
  state_.first_step = first_step;
  state_.steps = steps;
  write_state(Life::training);
  event(EventKind::start, first_step,
        first_step < state_.steps ? base::say("step {} of {} is next", first_step + 1, state_.steps)
                                  : all_steps_are_done(state_.steps),
        {{"steps", static_cast<double>(state_.steps)}, {"ranks", static_cast<double>(state_.ranks.size())}});
}

void RunRecords::ends(Life life, const std::string& text, int exit_code) {
  state_.text = text;
  state_.exit_code = exit_code;
  write_state(life);
}

}  // namespace troika::train
