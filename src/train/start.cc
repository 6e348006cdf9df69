#include "train/start.h"

#include <fmt/format.h>
#include <unistd.h>

#include <optional>
#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/units.h"
#include "config/config.h"
#include "metrics/cores.h"
#include "metrics/job_progress.h"
#include "metrics/memory.h"
#include "tensor/device.h"
#include "train/equal_bits.h"

namespace troika::train {

void say(const Start& start, const std::string& text) {
  if (start.identity.world_rank == 0 && start.screen != nullptr) std::fprintf(start.screen, "%s\n", text.c_str());
}

namespace {

// Of data that are tokenized here or, while this rank waits, by another process of the host.
class TokenizingProgress {
 public:
  explicit TokenizingProgress(const Start& start)
      : start_(start), shown_(screen_of(start), style_of(start), seconds_between_lines) {}

  void show(const data::Progress& p) {
    const double now = base::monotonic_seconds();
    const std::string what = p.maker.empty() ? "tokenizing" : p.maker + " tokenizes";
    const metrics::JobState state{what, p.done_bytes, p.total_bytes, p.tokens, p.parts_taken_up};
    shown_.show(state, now);
    if (now - logged_seconds_ < seconds_between_log_lines) return;
    logged_seconds_ = now;
    if (log_ == nullptr) log_ = open_log(start_);
    if (log_ != nullptr) log_->info(metrics::format_job_line(state));
  }

 private:
  static constexpr double seconds_between_lines = 1, seconds_between_log_lines = 10;

  static std::FILE* screen_of(const Start& start) { return start.identity.world_rank == 0 ? start.screen : nullptr; }
  static metrics::ProgressStyle style_of(const Start& start) {
    if (screen_of(start) == nullptr) return metrics::ProgressStyle::none;
    return metrics::progress_style(start.resolved.settings.log.progress, start.screen);
  }

  const Start& start_;
  metrics::JobProgress shown_;
  std::unique_ptr<metrics::RunLog> log_;  // opened where there is something to say
  double logged_seconds_ = base::monotonic_seconds() - seconds_between_log_lines + 1;  // short work is not worth a line
};

}  // namespace

datasets::OpenedSamples open_data(const Start& start, const std::string& stated, const std::string& cache,
                                  datasets::Reading reading, const data::Tokenizer& tokenizer) {
  const config::Settings& s = start.resolved.settings;
  std::optional<TokenizingProgress> progress(start);
  std::optional<metrics::CoresOfLauncher> all_cores;  // the others of this host wait
  if (start.identity.source == rendezvous::Identity::Source::troika_launch) all_cores.emplace();
  datasets::OpenedSamples opened =
      datasets::open_samples({stated, cache, s.batch.seq_len, s.model.vocab, reading, s.train.seed}, s.data, tokenizer,
                             [&](const data::Progress& p) { progress->show(p); });
  progress.reset();
  for (const std::string& line : opened.report) say(start, line);
  return opened;
}

std::unique_ptr<metrics::RunLog> open_log(const Start& start) {
  const config::Settings& s = start.resolved.settings;
  if (s.train.out.empty()) return nullptr;
  return std::make_unique<metrics::RunLog>(s.train.out + "/logs", start.identity.world_rank,
                                           metrics::log_level(s.log.level));
}

static int threads_for(const config::TrainSettings& settings, int ranks_on_host) {
  if (settings.threads > 0) return static_cast<int>(settings.threads);
  return metrics::usable_cores_of_rank(ranks_on_host);
}

Machine prepare_machine(const Start& start) {
  const config::Settings& s = start.resolved.settings;
  Machine machine;
  machine.threads = threads_for(s.train, start.identity.local_size);
  tensor::set_threads(machine.threads);
  tensor::reserve_workspace();
  machine.device = tensor::pick_device(s.train.device, start.identity.local_rank);
  check_device(s, machine.device);
  return machine;
}

std::string describe_threads(const Machine& machine) {
  const int online = static_cast<int>(std::thread::hardware_concurrency());
  const std::vector<int> cores = metrics::allowed_cores();
  const bool bound = !cores.empty() && static_cast<int>(cores.size()) < online;
  return fmt::format("threads: {}, on {} of {} cores ({})", machine.threads, metrics::usable_cores(), online,
                     bound ? "bound to " + metrics::format_cores(cores) : "not bound");
}

rendezvous::Facts settings_facts(const config::Settings& settings, const std::string& data) {
  rendezvous::Facts facts;
  facts.values = {{"build", fmt::format("troika 0.1.0, libtorch {}", tensor::libtorch_version())},
                  {"settings hash", config::agreement_hash(settings)},
                  {"settings", config::to_yaml(settings)},
                  {"data", data}};
  return facts;
}

rendezvous::Facts program_facts(const Plan& plan) {
  rendezvous::Facts facts;
  facts.values = {{"step program", base::hash_bytes(schedule::to_text(plan.program))}};
  return facts;
}

void check_free_memory(const Start& start, const Plan& plan, const Machine& machine) {
  const std::int64_t available = metrics::available_bytes();
  if (machine.device.is_cpu() && available >= 0)
    check_memory(plan, mesh::lane_of(plan.shape, start.identity.world_rank), available, start.identity.local_size);
}

void connect(Session& session, const Start& start, const mesh::Shape& shape, const Machine& machine) {
  session.at(0, "connecting");
  session.connect(shape);
  if (start.identity.world_size == 1) return;
  const std::string unlike =
      unlike_ranks(*session.channels().world, traits_of_this_rank(machine.threads, machine.device));
  const std::string remarked = remark(start.resolved.settings, unlike);
  if (!remarked.empty()) say(start, "note: " + remarked);
}

// Tells the others, and leaves in this rank's log what is too long for a screen.
static Session::Cause end_badly(Session& session, const Start& start, int exit_code, const std::string& text) {
  const Session::Cause cause = session.fail(exit_code, text);
  try {
    const auto log = open_log(start);
    if (log == nullptr) return cause;
    const bool elsewhere = !cause.verdict.empty() && text.find(cause.verdict) == std::string::npos;
    log->info(fmt::format("failed: {}{}{}\n{}", cause.verdict, elsewhere ? "\n  seen here as: " : "",
                          elsewhere || cause.verdict.empty() ? text : "", session.last_operations()));
  } catch (const base::Error&) {  // the cause matters more than a log that cannot be written
  }
  return cause;
}

int in_session(const Start& start, const std::function<void(Session&)>& body) {
  for (const std::string& note : start.notes) say(start, "note: " + note);
  for (const std::string& note : start.resolved.notes) say(start, "note: " + note);
  if (!start.resolved.settings.train.out.empty()) base::make_directories(start.resolved.settings.train.out);
  Session session(start.identity, start.resolved.settings.comm);
  try {
    body(session);
    return 0;
  } catch (const base::PeerError& error) {
    const Session::Cause cause = end_badly(session, start, error.exit_code(), error.what());
    if (cause.launcher_tells) return error.exit_code();
    throw base::PeerError(cause.verdict.empty() ? error.what() : cause.verdict);
  } catch (const base::Error& error) {
    if (end_badly(session, start, error.exit_code(), error.what()).launcher_tells) return error.exit_code();
    throw;
  } catch (const std::exception& error) {
    end_badly(session, start, base::BugError("").exit_code(), error.what());
    throw;
  }
}

}  // namespace troika::train
