#include "train/run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <thread>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "base/units.h"
#include "config/config.h"
#include "data/dataset.h"
#include "data/prepare.h"
#include "data/tokenizer.h"
#include "metrics/cores.h"
#include "metrics/memory.h"
#include "tensor/device.h"
#include "train/equal_bits.h"
#include "train/segment_times.h"
#include "train/session.h"

namespace troika::train {
namespace {

std::string host_name() {
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  return name;
}

void say(const RunRequest& request, const std::string& text) {
  if (request.identity.world_rank == 0 && request.screen != nullptr) std::fprintf(request.screen, "%s\n", text.c_str());
}

// Reports tokenizing at most once a second.
data::OnProgress tokenizing_progress(const RunRequest& request) {
  return [&request, last = base::monotonic_seconds()](const data::Progress& p) mutable {
    if (base::monotonic_seconds() - last < 1) return;
    last = base::monotonic_seconds();
    say(request,
        fmt::format("tokenizing {} of {}", base::format_bytes(p.done_bytes), base::format_bytes(p.total_bytes)));
  };
}

std::shared_ptr<const data::TokenStream> open_data(const RunRequest& request, const data::Tokenizer& tokenizer) {
  const config::Settings& s = request.resolved.settings;
  if (s.data.train.empty())
    throw base::ConfigError("data.train is not set; name a text file, a folder or token shards with --data.train PATH");
  const std::string cache = s.data.cache.empty() ? s.train.out + "/data" : s.data.cache;
  return data::open_or_prepare(s.data, s.data.train, cache, tokenizer, tokenizing_progress(request));
}

// NAME.yaml for the first attempt, NAME-2.yaml for the second that differs, and so on.
void write_of_attempt(const std::string& folder, const std::string& name, const std::string& ending,
                      const std::string& text) {
  std::string path = fmt::format("{}/{}{}", folder, name, ending);
  for (int attempt = 2; base::file_exists(path); ++attempt) {
    if (base::read_file(path) == text) return;
    path = fmt::format("{}/{}-{}{}", folder, name, attempt, ending);
  }
  base::write_file_atomic(path, text);
}

void write_plan(const Plan& plan) {
  const config::Settings& s = plan.resolved.settings;
  write_of_attempt(s.train.out, "config", ".yaml", config::to_yaml(s));
  write_of_attempt(s.train.out, "program", ".txt", schedule::to_text(plan.program));
}

rendezvous::Facts agreement_facts(const config::Settings& settings, const DataFacts& data) {
  rendezvous::Facts facts;
  facts.values = {{"build", fmt::format("troika 0.1.0, libtorch {}", tensor::libtorch_version())},
                  {"settings hash", config::agreement_hash(settings)},
                  {"settings", config::to_yaml(settings)},
                  {"data", data.fingerprint}};
  return facts;
}

rendezvous::Facts program_facts(const Plan& plan) {
  rendezvous::Facts facts;
  facts.values = {{"step program", base::hash_bytes(schedule::to_text(plan.program))}};
  return facts;
}

int threads_for(const config::TrainSettings& settings, int ranks_on_host) {
  if (settings.threads > 0) return static_cast<int>(settings.threads);
  return metrics::usable_cores_of_rank(ranks_on_host);
}

// How this rank uses the processor, for its log.
std::string describe_threads(int threads) {
  const int online = static_cast<int>(std::thread::hardware_concurrency());
  const std::vector<int> cores = metrics::allowed_cores();
  const bool bound = !cores.empty() && static_cast<int>(cores.size()) < online;
  return fmt::format("threads: {}, on {} of {} cores ({})", threads, metrics::usable_cores(), online,
                     bound ? "bound to " + metrics::format_cores(cores) : "not bound");
}

// parallel.stage_balance measured: rank 0 measures, and all cut the stages alike.
config::Resolved with_measured_costs(Session& session, config::Resolved resolved, const DataFacts& facts,
                                     const c10::Device& device) {
  auto& parallel = resolved.settings.parallel;
  if (parallel.stage_balance != "measured" || resolved.layout.pp == 1) return resolved;
  session.at(0, "measuring the segments");
  const std::string costs = session.told_by_first_rank("segment costs", [&] {
    return fmt::format("{:.6g}", fmt::join(measure_segments(resolved, facts, device), " "));
  });
  for (const std::string& word : base::split(costs, ' ')) {
    double seconds = 0;
    if (!base::parse_double(word, &seconds)) throw base::BugError("measured costs '" + costs + "' are no numbers");
    parallel.stage_costs.push_back(seconds);
  }
  parallel.stage_balance = config::ParallelSettings{}.stage_balance;
  return resolved;
}

// What a run trains on.
struct Source {
  std::shared_ptr<const data::Samples> samples;
  DataFacts facts;
};

Source source_of(const RunRequest& request) {
  const config::Settings& s = request.resolved.settings;
  if (const Trial* trial = request.trial; trial != nullptr) {
    const data::Samples& samples = *trial->samples;
    return {trial->samples, {trial->vocab, samples.samples(), 0, samples.fingerprint()}};
  }
  const auto tokenizer = data::open_tokenizer(s.data.tokenizer);
  const auto stream = open_data(request, *tokenizer);
  const auto dataset = std::make_shared<const data::TokenDataset>(stream, request.resolved.batch.seq_len);
  return {dataset, {tokenizer->vocab_size(), dataset->samples(), stream->tokens(), dataset->fingerprint()}};
}

std::unique_ptr<metrics::RunLog> open_log(const RunRequest& request) {
  const config::Settings& s = request.resolved.settings;
  if (s.train.out.empty()) return nullptr;
  return std::make_unique<metrics::RunLog>(s.train.out + "/logs", request.identity.world_rank,
                                           metrics::log_level(s.log.level));
}

void compare_ranks(comm::Channel& world, const RunRequest& request, int threads, const c10::Device& device) {
  const std::string unlike = unlike_ranks(world, traits_of_this_rank(threads, device));
  const std::string remarked = remark(request.resolved.settings, unlike);
  if (!remarked.empty()) say(request, "note: " + remarked);
}

Outcome run_in(Session& session, const RunRequest& request) {
  const rendezvous::Identity& me = request.identity;
  const config::Settings& s = request.resolved.settings;
  session.join();
  session.at(0, "preparing the data");
  const auto [samples, facts] = source_of(request);
  const int threads = threads_for(s.train, me.local_size);
  tensor::set_threads(threads);
  tensor::reserve_workspace();
  Surroundings surroundings;
  surroundings.device = tensor::pick_device(s.train.device, me.local_rank);
  check_device(s, surroundings.device);
  if (s.parallel.offload == "host" && surroundings.device.is_cpu() && s.train.device == "auto")
    say(request, "note: parallel.offload host changes nothing on a CPU; 'file' takes the state out of memory");
  session.at(0, "agreeing on settings");
  session.agree("settings", agreement_facts(s, facts));
  const Plan plan = make_plan(with_measured_costs(session, request.resolved, facts, surroundings.device), facts);
  const std::int64_t available = metrics::available_bytes();
  if (surroundings.device.is_cpu() && available >= 0)
    check_memory(plan, mesh::lane_of(plan.shape, me.world_rank), available, me.local_size);

  session.agree("program", program_facts(plan));
  session.at(0, "connecting");
  session.connect(plan.shape);
  if (me.world_size > 1) compare_ranks(*session.channels().world, request, threads, surroundings.device);
  for (const std::string& line : describe(plan)) say(request, line);
  if (me.world_rank == 0 && !s.train.out.empty()) write_plan(plan);

  const auto log = open_log(request);
  if (log != nullptr) {
    log->info(fmt::format("rank {} of {} on {}, process {}", me.world_rank, me.world_size, host_name(), ::getpid()));
    log->info(describe_threads(threads));
  }
  surroundings.host = host_name();
  surroundings.screen = request.screen;
  surroundings.stop_wished = request.stop_wished;
  surroundings.at = [&session](std::int64_t step, const std::string& what) { session.at(step, what); };
  surroundings.log = log.get();
  surroundings.trial = request.trial != nullptr;
  if (surroundings.trial) surroundings.on_step = request.trial->on_step;
  const Outcome outcome = Trainer(plan, *samples, session.channels(), surroundings).run();
  if (log != nullptr) log->info(metrics::format_summary(outcome.summary));
  if (surroundings.trial && request.trial->at_end) request.trial->at_end(plan, *session.channels().world);
  session.finish();
  return outcome;
}

// Tells the others, and leaves in this rank's log what is too long for a screen.
Session::Cause end_badly(Session& session, const RunRequest& request, int exit_code, const std::string& text) {
  const Session::Cause cause = session.fail(exit_code, text);
  try {
    const auto log = open_log(request);
    if (log == nullptr) return cause;
    const bool elsewhere = !cause.verdict.empty() && text.find(cause.verdict) == std::string::npos;
    log->info(fmt::format("failed: {}{}{}\n{}", cause.verdict, elsewhere ? "\n  seen here as: " : "",
                          elsewhere || cause.verdict.empty() ? text : "", session.last_operations()));
  } catch (const base::Error&) {  // the cause matters more than a log that cannot be written
  }
  return cause;
}

}  // namespace

RunResult run(const RunRequest& request) {
  for (const std::string& note : request.notes) say(request, "note: " + note);
  for (const std::string& note : request.resolved.notes) say(request, "note: " + note);
  if (!request.resolved.settings.train.out.empty()) base::make_directories(request.resolved.settings.train.out);
  Session session(request.identity, request.resolved.settings.comm);
  try {
    const Outcome outcome = run_in(session, request);
    return {outcome.ending == Ending::interrupted ? base::exit_interrupted : 0, outcome.summary};
  } catch (const base::PeerError& error) {
    const Session::Cause cause = end_badly(session, request, error.exit_code(), error.what());
    if (cause.launcher_tells) return {error.exit_code(), {}};
    throw base::PeerError(cause.verdict.empty() ? error.what() : cause.verdict);
  } catch (const base::Error& error) {
    if (end_badly(session, request, error.exit_code(), error.what()).launcher_tells) return {error.exit_code(), {}};
    throw;
  } catch (const std::exception& error) {
    end_badly(session, request, base::BugError("").exit_code(), error.what());
    throw;
  }
}

}  // namespace troika::train
