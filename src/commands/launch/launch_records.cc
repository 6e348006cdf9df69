#include "commands/launch/launch_records.h"

#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/host_name.h"
#include "base/text.h"
#include "host/process.h"
#include "records/line_file.h"
#include "records/run_in_use.h"
#include "records/run_log.h"
#include "records/run_reader.h"

namespace troika::commands {
using records::EventKind;

namespace {

constexpr int log_lines = 20;
constexpr std::size_t most_log_bytes = 8192;

// What of a host's counters rose between two looks; nothing where the system does not count.
void add_risen(records::Event& event, const char* name, double before, double now) {
  if (before >= 0 && now >= 0) event.numbers[name] = std::max(0.0, now - before);
}

// The process that launched last in the folder is on this host, is not this one, and lives.
bool another_launches(const std::string& folder) {
  constexpr std::int64_t tail_bytes = 64 << 10;
  const std::vector<std::string> lines = records::LineReader(records::events_path(folder), tail_bytes).read().lines;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    const std::optional<records::Event> event = records::parse_event(*line);
    if (!event || event->kind != EventKind::launch) continue;
    const auto pid = static_cast<std::int64_t>(event->number("pid"));
    const double start = event->number("process_start");
    return event->host == base::host_name() && pid != ::getpid() && start > 0 &&
           static_cast<double>(host::process_start(pid)) == start;
  }
  return false;
}

}  // namespace

struct LaunchRecords::Lines {
  explicit Lines(const std::string& run)
      : folder(run), events(records::events_path(run)), log(records::run_log_path(run)) {}

  bool is_of_another(const std::string& launch) const {
    const std::optional<records::RunState> state = records::read_run_state(folder);
    if (state && !launch.empty() && state->launch == launch) return false;
    return records::in_use(folder) || another_launches(folder);
  }

  void write_waiting(const std::string& launch) {
    if (waiting.empty() || is_of_another(launch)) return;
    for (const auto& [event, told] : waiting) {
      events.append(event);
      log.append(told);
    }
    waiting.clear();
  }

  const std::string folder;
  records::LineWriter events, log;
  std::vector<std::pair<std::string, std::string>> waiting;  // lines of events and of the log
};

LaunchRecords::LaunchRecords(std::string folder, int node_rank, Also also)
    : folder_(folder.empty() || records::in_use(folder) ? "" : std::move(folder)),
      host_(base::host_name()),
      node_rank_(node_rank),
      also_(std::move(also)),
      before_(host::read_vitals("")),
      lines_(std::make_shared<Lines>(folder_)) {}

LaunchRecords::~LaunchRecords() { settle(); }

records::Event LaunchRecords::event_of(EventKind kind, const std::string& text) const {
  records::Event event;
  event.time = base::wall_seconds();
  event.kind = kind;
  event.host = host_;
  event.attempt = attempt_;
  event.text = text;
  return event;
}

void LaunchRecords::write(const records::Event& event) {
  if (also_) also_(event);
  if (folder_.empty()) return;
  disk_.post([lines = lines_, launch = launch_, line = to_json(event),
              told = records::log_line(event.time, "launcher: " + event.text)] {
    lines->waiting.emplace_back(line, told);
    lines->write_waiting(launch);
  });
}

void LaunchRecords::settle() {
  if (!folder_.empty()) disk_.post([lines = lines_, launch = launch_] { lines->write_waiting(launch); });
}

void LaunchRecords::flush() {
  settle();
  disk_.flush();
}

void LaunchRecords::attempt_begins(int attempt, const std::string& launch, const std::string& text) {
  attempt_ = attempt;
  launch_ = launch;
  before_ = host::read_vitals("");
  if (node_rank_ != 0) return;
  records::Event event = event_of(EventKind::launch, text);
  event.numbers = {{"pid", ::getpid()}, {"process_start", static_cast<double>(host::process_start(::getpid()))}};
  write(event);
}

void LaunchRecords::said(EventKind kind, const std::string& text) { write(event_of(kind, text)); }

std::string LaunchRecords::rank_ended(const Worker& worker, const std::string& text, std::int64_t memory_kills) {
  if (folder_.empty()) return "";
  records::Event event = event_of(EventKind::rank_ended, text);
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
        base::printable(last_lines(worker.plan.log_path, worker.log_start, log_lines), most_log_bytes);
  }
  write(event);
  return to_json(event);
}

void LaunchRecords::failed(const rendezvous::FailureReport& report) {
  records::Event event = event_of(EventKind::failure, report.text);
  event.numbers["exit_code"] = report.exit_code;
  write(event);
  end_state(records::Life::failed, report.text, report.exit_code);
}

void LaunchRecords::ended_at_once(const std::string& text) {
  write(event_of(EventKind::stop, text));
  stopped();
}

void LaunchRecords::stopped() { end_state(records::Life::stopped, "", base::exit_interrupted); }

// A state of another launch is not this one's to end.
void LaunchRecords::end_state(records::Life life, const std::string& text, int exit_code) {
  if (folder_.empty() || launch_.empty()) return;
  disk_.post([folder = folder_, launch = launch_, life, text, exit_code, now = base::wall_seconds()] {
    std::optional<records::RunState> state = records::read_run_state(folder);
    if (!state || state->launch != launch) return;
    const bool lives = state->life == records::Life::preparing || state->life == records::Life::training;
    if (life == records::Life::stopped && !lives) return;  // a rank has said so
    state->life = life;
    state->since = now;
    state->text = text;
    state->exit_code = exit_code;
    records::write_run_state(folder, *state);
  });
}

}  // namespace troika::commands
