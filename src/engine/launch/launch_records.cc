#include "launch/launch_records.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/host_name.h"
#include "base/text.h"
#include "host/process.h"
#include "records/folder_lock.h"
#include "records/run_reader.h"

namespace troika::launch {
using records::EventKind;

records::Party party_of(const host::Worker& worker) {
  return {worker.plan.world_rank, -1, base::host_name(), worker.process.pid()};
}

records::Incident end_of(const host::Worker& worker, std::int64_t memory_kills) {
  records::Incident end;
  end.kind = worker.signal == 0 ? records::IncidentKind::rank_exited : records::IncidentKind::rank_killed;
  end.who = party_of(worker);
  end.exit_code = worker.exit_code;
  end.signal = worker.signal;
  end.count = memory_kills;
  return end;
}

namespace {

constexpr int log_lines = 20;
constexpr std::size_t most_log_bytes = 8192;

// Adds the rise of a host's counter between two looks; nothing where the system does not count.
void add_risen(records::Event& event, const char* name, double before, double now) {
  if (before >= 0 && now >= 0) event.numbers[name] = std::max(0.0, now - before);
}

}  // namespace

// Used by the disk's thread alone, but for `claimed`.
struct LaunchRecords::Lines {
  explicit Lines(const std::string& run)
      : folder(run), lock(records::launch_lock_path(run)), events(run, "events.jsonl"), log(run, "run.log") {}

  // The first look decides, but where another launch was refused meanwhile and this one's ranks have the folder.
  void claim(const std::string& launch) {
    const std::string of_launch = records::launch_lock_path(folder), of_ranks = records::run_lock_path(folder);
    const bool first = !std::exchange(decided, true);
    if (claimed) {
      if (owns && launch != owner) owns = lock.take(records::this_process("", owner = launch));
      claimed = owns || !records::held_by_another(of_launch, launch);
      return;
    }
    if (!first && !is_of_our_ranks(of_ranks, launch)) return;
    owns = lock.take(records::this_process("", owner = launch));
    claimed = (owns || !records::held_by_another(of_launch, launch)) && !records::held_by_another(of_ranks, launch);
    if (claimed) return;
    lock.release();
    owns = false;
  }

  // They have taken the folder, or had: the state is theirs.
  bool is_of_our_ranks(const std::string& lock_of_ranks, const std::string& launch) const {
    if (const auto run = records::lock_holder(lock_of_ranks)) return run->is_of(launch);
    const std::optional<records::RunState> state = records::read_run_state(folder);
    return state && !launch.empty() && state->launch == launch;
  }

  void work(const std::string& launch) {
    if (!waiting.empty()) claim(launch);
    for (; claimed && !waiting.empty(); waiting.pop_front()) waiting.front()(*this);
  }

  const std::string folder;
  bool decided = false, owns = false;  // owns: holds the lock itself
  std::string owner;                   // the launch that it is held for
  std::atomic<bool> claimed{false};
  records::FolderLock lock;
  records::LineWriter events, log;
  std::deque<std::function<void(Lines&)>> waiting;  // until the record is this launch's
};

LaunchRecords::LaunchRecords(std::string folder, int node_rank, Also also)
    : folder_(folder.empty() || records::in_use(folder) ? "" : std::move(folder)),
      host_(base::host_name()),
      node_rank_(node_rank),
      also_(std::move(also)),
      before_(host::read_vitals("")),
      lines_(std::make_shared<Lines>(folder_)) {}

records::Event LaunchRecords::event_of(EventKind kind, const records::Incident& incident) const {
  records::Event event;
  event.time = base::wall_seconds();
  event.kind = kind;
  event.host = host_;
  event.attempt = attempt_;
  event.text = english(incident);
  event.incident = incident;
  return event;
}

void LaunchRecords::post(std::function<void(Lines&)> job) {
  if (folder_.empty()) return;
  disk_.post([lines = lines_, launch = launch_, job = std::move(job)] {
    lines->waiting.push_back(job);
    lines->work(launch);
  });
}

void LaunchRecords::write(const records::Event& event) {
  if (also_) also_(event);
  post([line = to_json(event), told = records::log_line(event.time, "launcher: " + event.text)](Lines& lines) {
    lines.events.append(line);
    lines.log.append(told);
  });
}

std::function<bool()> LaunchRecords::claimed() const {
  return [lines = lines_] { return lines->claimed.load(); };
}

void LaunchRecords::flush() {
  if (!folder_.empty()) disk_.post([lines = lines_, launch = launch_] { lines->work(launch); });
  disk_.flush();
}

void LaunchRecords::attempt_begins(int attempt, const std::string& launch, const base::Text& text) {
  attempt_ = attempt;
  launch_ = launch;
  before_ = host::read_vitals("");
  if (node_rank_ != 0) return post([](Lines&) {});
  records::Event event = event_of(EventKind::launch, records::told(text));
  event.numbers = {{"pid", ::getpid()}, {"process_start", static_cast<double>(host::process_start(::getpid()))}};
  write(event);
}

void LaunchRecords::said(EventKind kind, const base::Text& text, const std::map<std::string, double>& numbers) {
  records::Event event = event_of(kind, records::told(text));
  event.numbers = numbers;
  write(event);
}

std::string LaunchRecords::rank_ended(const host::Worker& worker, std::int64_t memory_kills) {
  if (folder_.empty()) return "";
  records::Event event = event_of(EventKind::rank_ended, end_of(worker, memory_kills));
  event.rank = worker.plan.world_rank;
  event.numbers[worker.signal != 0 ? "signal" : "exit_code"] = worker.signal != 0 ? worker.signal : worker.exit_code;
  event.numbers["pid"] = worker.process.pid();
  const host::Vitals now = host::read_vitals("");
  if (memory_kills >= 0) event.numbers["memory_kills"] = static_cast<double>(memory_kills);
  add_risen(event, "swap_in_pages", before_.swap_in_pages, now.swap_in_pages);
  add_risen(event, "throttles", before_.throttles, now.throttles);
  if (!worker.plan.log_path.empty()) {
    event.words["log"] = worker.plan.log_path;
    event.words["last_lines"] =
        base::printable(host::last_lines(worker.plan.log_path, worker.log_start, log_lines), most_log_bytes);
  }
  write(event);
  return to_json(event);
}

void LaunchRecords::failed(const rendezvous::FailureReport& report) {
  records::Event event = event_of(EventKind::failure, report.incident);
  event.numbers["exit_code"] = report.exit_code;
  write(event);
  has_failed(report);
}

void LaunchRecords::has_failed(const rendezvous::FailureReport& report) { end_state(records::Life::failed, report); }

void LaunchRecords::ended_at_once(const base::Text& text) {
  write(event_of(EventKind::stop, records::told(text)));
  stopped();
}

void LaunchRecords::stopped() { end_state(records::Life::stopped, {base::exit_interrupted, base::Text{}}); }

// A state of another launch is not this one's to end, nor is that of an attempt by another.
void LaunchRecords::end_state(records::Life life, const rendezvous::FailureReport& report) {
  if (launch_.empty()) return;
  post([launch = launch_, attempt = attempt_, life, report, now = base::wall_seconds()](Lines& lines) {
    std::optional<records::RunState> state = records::read_run_state(lines.folder);
    if (!state || state->launch != launch || state->attempt != attempt) return;
    const bool lives = state->life == records::Life::preparing || state->life == records::Life::training;
    if (life == records::Life::stopped && !lives) return;  // a rank has said so
    state->life = life;
    state->since = now;
    state->text = report.text();
    state->incident.reset();
    if (life == records::Life::failed) state->incident = report.incident;
    state->exit_code = report.exit_code;
    records::write_run_state(lines.folder, *state);
  });
}

}  // namespace troika::launch
