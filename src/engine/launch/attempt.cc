#include "launch/launcher.h"

#include <fmt/format.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "host/memory.h"
#include "host/signals.h"
#include "rendezvous/failure_listener.h"
#include "rendezvous/gatherer.h"
#include "rendezvous/launcher_peer.h"

namespace troika::launch {
using base::monotonic_seconds;
using rendezvous::FailureReport;
using rendezvous::StoppedRank;

namespace {

constexpr double consequence_seconds = 1;  // a rank that lost its peer waits for the failure that caused it
constexpr double count_pause_seconds = 1;  // between two looks at the out-of-memory killer's counter
constexpr double stop_seconds = 1;         // a rank that was stopped for longer is named
constexpr double after_kill_seconds = 10;  // then a rank is left to the kernel
constexpr double same_signal_seconds =
    0.3;  // `timeout` and some terminals send one signal twice, to the process and to its group

class Attempt {
 public:
  Attempt(const rendezvous::Identity& identity, double patience_seconds, host::Signals& signals, LaunchRecords& records,
          Speaker speaker, const Grace& grace)
      : identity_(identity),
        grace_(grace),
        patience_seconds_(patience_seconds),
        listener_(identity, patience_seconds),
        signals_(signals),
        records_(records),
        speaker_(std::move(speaker)) {
    count_memory_kills(monotonic_seconds());
    signals_.around_pauses({[this] { pause(); }, [this] { go_on(); }});
  }
  ~Attempt() {
    signals_.around_pauses({});
    kill_all();
    for (host::Worker& worker : workers_)
      if (!worker.ended) worker.process.leave();
  }

  void start(const std::vector<host::WorkerPlan>& plans) {
    for (const host::WorkerPlan& plan : plans) workers_.push_back(host::start_worker(plan));
  }
  Outcome run();

 private:
  bool all_ended() const {
    return std::all_of(workers_.begin(), workers_.end(), [](const host::Worker& worker) { return worker.ended; });
  }
  void hear(int signal);
  void pause();
  void go_on();
  void judge(const host::Worker& worker);
  void record_end(const host::Worker& worker);
  void count_memory_kills(double now);
  void suspect(const host::Worker& worker, double now);
  void watch_stops(host::Worker& worker, double now);
  void settle(const FailureReport& report);
  void listen();
  void end_the_others();
  void send_all(int signal);
  void kill_all();
  bool gives_up() const;
  base::Text about_left() const;
  base::Text log_of_first_failed() const;

  const rendezvous::Identity identity_;
  const Grace grace_;
  const double patience_seconds_;
  double paused_at_ = 0;
  rendezvous::FailureListener listener_;
  host::Signals& signals_;
  LaunchRecords& records_;
  const Speaker speaker_;
  RecentKills memory_kills_;
  double memory_kills_at_ = 0;  // when they were counted
  std::vector<host::Worker> workers_;
  std::map<int, double> stopped_;               // world ranks that were said to be stopped, since when
  const host::Worker* first_failed_ = nullptr;  // the first local one that failed
  double suspected_at_ = 0;                     // when a rank ended because it lost its peer; 0: none
  bool has_report_ = false;
  FailureReport report_;
  double ending_since_ = 0;
  double killed_at_ = 0;  // when all were sent SIGKILL; 0: not yet
  int stop_signals_ = 0;
  double first_stop_ = 0;
  int last_sent_ = 0;
  bool interrupted_ = false;
};

void Attempt::send_all(int signal) {
  last_sent_ = signal;
  if (signal == SIGKILL && killed_at_ == 0) killed_at_ = monotonic_seconds();
  for (const host::Worker& worker : workers_) host::signal_worker(worker, signal);
}

void Attempt::hear(int signal) {
  if (signal == SIGUSR1)
    for (const host::Worker& worker : workers_) host::signal_worker(worker, signal);
  if (!host::asks_to_stop(signal)) return;
  const double now = monotonic_seconds();
  if (stop_signals_ > 0 && now - first_stop_ < same_signal_seconds) return;
  if (++stop_signals_ == 1) {
    first_stop_ = now;
    speaker_.say(base::say("stopping after this step (immediately if none has begun); repeat to stop immediately"));
    records_.said(records::EventKind::stop_requested,
                  base::say("the launcher got signal {} (SIG{})", signal, host::signal_name(signal)),
                  {{"signal", signal}});
    send_all(signal == SIGINT ? SIGINT : SIGTERM);
  } else {
    interrupted_ = true;
    send_all(SIGKILL);
  }
}

// Ranks lead groups of their own, which Ctrl-Z does not reach. They stop first, so that none misses its launcher.
void Attempt::pause() {
  const bool alone = static_cast<int>(workers_.size()) == identity_.world_size;
  speaker_.say(
      alone ? base::say(
                  "paused, with its ranks: `fg`, `bg` or kill -CONT {} resumes it, and the pause does not count",
                  ::getpid())
            : base::say("paused, with the ranks of this host: the other hosts wait {:g} s for them (comm.heartbeat_seconds), then the run ends; `fg`, `bg` or kill -CONT {} resumes it",
                        patience_seconds_, ::getpid()));
  paused_at_ = monotonic_seconds();
  for (host::Worker& worker : workers_) {
    host::see_stop(worker);
    worker.paused = !worker.ended && worker.stop == 0;
    if (worker.paused) host::signal_worker(worker, SIGSTOP);
  }
}

void Attempt::go_on() {
  for (host::Worker& worker : workers_)
    if (std::exchange(worker.paused, false)) host::signal_worker(worker, SIGCONT);
  const double seconds = monotonic_seconds() - paused_at_;
  for (double* since : {&ending_since_, &killed_at_, &suspected_at_})
    if (*since > 0) *since += seconds;
  speaker_.say(base::say("continuing after {:.0f} s", seconds));
}

void Attempt::settle(const FailureReport& report) {
  if (has_report_) return;
  has_report_ = true;
  report_ = report;
  ending_since_ = monotonic_seconds();
  speaker_.say(report.said());
  records_.failed(report);
}

// Reports a worker that failed, once; listen() hears the report that counts then.
void Attempt::judge(const host::Worker& worker) {
  listener_.tell({worker.signal != 0 ? base::exit_peer_lost : worker.exit_code, end_of(worker, memory_kills_.risen())});
}

void Attempt::record_end(const host::Worker& worker) {
  const std::int64_t kills = memory_kills_.risen();
  const std::string event = records_.rank_ended(worker, kills);
  if (!event.empty())
    listener_.write(fmt::format("{}/{:06}-ended", rendezvous::event_key, worker.plan.world_rank), event);
}

void Attempt::count_memory_kills(double now) {
  memory_kills_at_ = now;
  memory_kills_.note(now, host::memory_kills());
}

void Attempt::suspect(const host::Worker& worker, double now) {
  const bool asked_to_stop = stop_signals_ > 0 && worker.signal != 0 && worker.signal == last_sent_;
  if (worker.exit_code == base::exit_interrupted || asked_to_stop) interrupted_ = true;
  const bool ended_by_us = has_report_ && worker.signal != 0 && worker.signal == last_sent_;
  const bool well = worker.signal == 0 && worker.exit_code == 0;
  if (well || ended_by_us || asked_to_stop || worker.exit_code == base::exit_interrupted) return;
  count_memory_kills(now);
  record_end(worker);
  const bool consequence = worker.exit_code == base::exit_peer_lost;
  const bool better = first_failed_ == nullptr || (first_failed_->exit_code == base::exit_peer_lost && !consequence);
  if (better && !(has_report_ && consequence)) first_failed_ = &worker;
  if (has_report_) return;
  if (!consequence)
    judge(worker);
  else if (suspected_at_ == 0)
    suspected_at_ = now;
}

// A stop that is over before anybody could look is nobody's matter.
void Attempt::watch_stops(host::Worker& worker, double now) {
  host::see_stop(worker);
  const int rank = worker.plan.world_rank;
  const auto said = stopped_.find(rank);
  const bool stands = !worker.ended && worker.stop != 0;
  const auto tell = [&](StoppedRank::State state, records::IncidentKind kind, double seconds) {
    records::Incident notice;
    notice.kind = kind;
    notice.who = party_of(worker);
    notice.signal = worker.stop;
    notice.seconds = seconds;
    speaker_.say(records::said(notice));
    listener_.write(rendezvous::stopped_key(rank), to_text(StoppedRank{state, identity_.node_rank, notice}));
  };
  if (stands && said == stopped_.end() && now - worker.stopped_since > stop_seconds) {
    stopped_[rank] = worker.stopped_since;
    tell(StoppedRank::State::stopped, records::IncidentKind::rank_stopped, 0);
  } else if (!stands && said != stopped_.end()) {
    if (!worker.ended) tell(StoppedRank::State::runs, records::IncidentKind::rank_continues, now - said->second);
    stopped_.erase(said);
  }
}

void Attempt::listen() {
  if (has_report_) return;
  if (const auto report = listener_.heard()) settle(*report);
  if (suspected_at_ > 0 && monotonic_seconds() - suspected_at_ > consequence_seconds) judge(*first_failed_);
}

void Attempt::end_the_others() {
  if (!has_report_ || all_ended()) return;
  const double passed = monotonic_seconds() - ending_since_;
  const int signal = passed > grace_.kill_seconds ? SIGKILL : passed > grace_.terminate_seconds ? SIGTERM : 0;
  if (signal != 0 && signal != last_sent_) send_all(signal);
}

bool Attempt::gives_up() const { return killed_at_ > 0 && monotonic_seconds() - killed_at_ > after_kill_seconds; }

void Attempt::kill_all() {
  if (all_ended() || gives_up()) return;
  send_all(SIGKILL);
  while (!all_ended() && !gives_up()) {
    for (host::Worker& worker : workers_) host::reap(worker);
    if (!all_ended()) signals_.wait(20);
  }
}

base::Text Attempt::about_left() const {
  std::vector<base::Text> names;
  for (const host::Worker& worker : workers_)
    if (!worker.ended) names.push_back(base::say("rank {} (pid {})", worker.plan.world_rank, worker.process.pid()));
  if (names.empty()) return {};
  return base::say("{} did not exit {:g} s after SIGKILL: the kernel waits for a disk or a driver; giving up on it\n",
                   base::join(names, ", ", "、"), after_kill_seconds);
}

base::Text Attempt::log_of_first_failed() const {
  if (first_failed_ == nullptr || first_failed_->plan.log_path.empty()) return {};
  if (!(report_.incident.who == party_of(*first_failed_))) return {};  // another host's rank failed before
  const std::string& path = first_failed_->plan.log_path;
  if (report_.incident.kind == records::IncidentKind::rank_failed) return base::say("its log {} has more\n", path);
  const std::string lines = host::last_lines(path, first_failed_->log_start, 20);
  return lines.empty() ? base::say("its log {} is empty\n", path) : base::say("last lines of {}:\n{}\n", path, lines);
}

Outcome Attempt::run() {
  while (!all_ended() && !gives_up()) {
    hear(signals_.wait(50));
    const double now = monotonic_seconds();
    if (now - memory_kills_at_ > count_pause_seconds) count_memory_kills(now);
    for (host::Worker& worker : workers_) {
      if (host::reap(worker)) suspect(worker, now);
      watch_stops(worker, now);
    }
    listen();
    end_the_others();
  }
  if (!has_report_ && first_failed_ != nullptr && !interrupted_) {
    judge(*first_failed_);
    while (!has_report_ && !interrupted_) {  // the listener's patience bounds it
      hear(signals_.wait(50));
      listen();
    }
  }
  Outcome outcome;
  outcome.stop_requested = stop_signals_ > 0 || interrupted_;
  outcome.store_is_lost = listener_.store_is_lost();
  if (has_report_) {
    records_.has_failed(report_);
    outcome.exit_code = report_.exit_code;
    outcome.failure = report_.incident;
    outcome.details = base::join({log_of_first_failed(), about_left()}, "", "");
  } else if (interrupted_) {
    outcome.exit_code = base::exit_interrupted;
    // After the first signal rank 0 says that it has stopped; what a second one kills says nothing.
    if (stop_signals_ > 1)
      records_.ended_at_once(base::say("stopped immediately after a second stop request"));
    else
      records_.stopped();
  }
  return outcome;
}

}  // namespace

Outcome run_attempt(const std::vector<host::WorkerPlan>& plans, const rendezvous::Identity& identity,
                    double patience_seconds, host::Signals& signals, LaunchRecords& records, const Speaker& speaker,
                    const Grace& grace) {
  Attempt attempt(identity, patience_seconds, signals, records, speaker, grace);
  attempt.start(plans);
  return attempt.run();
}

}  // namespace troika::launch
