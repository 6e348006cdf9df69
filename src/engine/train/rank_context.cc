#include "train/rank_context.h"

#include <fmt/format.h>

#include <thread>

#include "base/cause.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/descriptor.h"
#include "base/units.h"
#include "base/version.h"
#include "config/config.h"
#include "host/cores.h"
#include "host/memory.h"
#include "host/thread_limit.h"
#include "metrics/progress.h"
#include "model/segment.h"
#include "plan/device.h"
#include "records/old_sentences.h"
#include "schedule/check/checker.h"
#include "tensor/device.h"
#include "train/rank_device.h"
#include "train/run_reporter.h"
#include "train/reproducibility.h"

namespace troika::train {

void say(const RankContext& context, const base::Text& text) {
  if (context.identity.world_rank == 0 && context.screen != nullptr)
    std::fprintf(context.screen, "%s\n", text.in(context.language).c_str());
}

namespace {

// Reports on data that are tokenized here or, while this rank waits, by another process of the host.
class TokenizingProgress {
 public:
  explicit TokenizingProgress(const RankContext& context)
      : context_(context), shown_(screen_of(context), style_of(context), seconds_between_lines, context.language) {}

  void show(const data::Progress& p) {
    const double now = base::monotonic_seconds();
    const base::Text what = p.maker.empty() ? base::say("tokenizing") : base::say("{} is tokenizing", p.maker);
    const metrics::JobState state{what, p.done_bytes, p.total_bytes, p.tokens, p.parts_reused};
    shown_.show(state, now);
    if (now - logged_seconds_ < seconds_between_log_lines) return;
    logged_seconds_ = now;
    if (log_ == nullptr) log_ = open_log(context_);
    if (log_ != nullptr) log_->info(metrics::format_job_line(state));
  }

 private:
  static constexpr double seconds_between_lines = 1, seconds_between_log_lines = 10;

  static std::FILE* screen_of(const RankContext& context) {
    return context.identity.world_rank == 0 ? context.screen : nullptr;
  }
  static metrics::ProgressStyle style_of(const RankContext& context) {
    if (screen_of(context) == nullptr) return metrics::ProgressStyle::none;
    return metrics::progress_style(context.resolved.settings.log.progress, context.screen);
  }

  const RankContext& context_;
  metrics::JobProgress shown_;
  std::unique_ptr<metrics::RunLog> log_;  // opened where there is something to say
  double logged_seconds_ = base::monotonic_seconds() - seconds_between_log_lines + 1;  // short work is not worth a line
};

}  // namespace

data::OpenedSamples open_data(const RankContext& context, const DataRequest& request,
                              const tokenizer::Tokenizer& tokenizer) {
  const config::Settings& s = context.resolved.settings;
  std::optional<TokenizingProgress> progress(context);
  std::optional<host::CoresOfLauncher> all_cores;  // the others of this host wait
  if (context.identity.source == rendezvous::Identity::Source::troika_launch) all_cores.emplace();
  data::OpenedSamples opened =
      data::open_samples({request.stated, request.cache, s.batch.seq_len, s.model.vocab, request.reading, s.train.seed},
                         request.settings, tokenizer, [&](const data::Progress& p) { progress->show(p); });
  progress.reset();
  for (const base::Text& line : opened.report) say(context, line);
  return opened;
}

std::unique_ptr<metrics::RunLog> open_log(const RankContext& context) {
  const config::Settings& s = context.resolved.settings;
  if (s.train.out.empty()) return nullptr;
  return std::make_unique<metrics::RunLog>(s.train.out + "/logs", context.identity.world_rank, s.log.level);
}

static int threads_for(const config::TrainSettings& settings, int ranks_on_host) {
  if (settings.threads > 0) return static_cast<int>(settings.threads);
  return host::usable_cores_of_rank(ranks_on_host);
}

static tensor::Device device_of(const RankContext& context) {
  const config::Settings& s = context.resolved.settings;
  return rank_device(s.train.device, context.identity.local_rank, {context.identity.local_size, s.comm.backend});
}

void check_rank_device(const RankContext& context) { device_of(context); }

Machine prepare_machine(const RankContext& context) {
  const config::Settings& s = context.resolved.settings;
  Machine machine;
  machine.threads = threads_for(s.train, context.identity.local_size);
  tensor::set_threads(machine.threads);
  host::require_threads(machine.threads - 1);  // OpenMP, which starts them, would end the process
  machine.device = device_of(context);
  if (const base::Text why = why_on_processor(s.train.device); !why.empty())
    say(context, base::say("note: computing on the CPU: {}", why));
  machine.streams = tensor::make_streams(machine.device);
  const BackendChoice choice = choose_backend(s.comm.backend, machine.device, context.identity.world_size);
  machine.backend = choice.backend;
  if (!choice.note.empty()) say(context, base::say("note: {}", choice.note));
  return machine;
}

records::ThreadUse thread_use(const Machine& machine) {
  records::ThreadUse use{machine.threads, host::usable_cores(), static_cast<int>(std::thread::hardware_concurrency()), {}};
  const std::vector<int> cores = host::allowed_cores();
  if (static_cast<int>(cores.size()) < use.online) use.bound_to = cores;
  return use;
}

std::string describe(const records::ThreadUse& use) {
  return fmt::format("threads: {}, on {} of {} cores ({})", use.threads, use.usable, use.online,
                     use.bound_to.empty() ? "not bound" : "bound to " + host::format_cores(use.bound_to));
}

config::Resolved decided(config::Resolved resolved, const Machine& machine) {
  if (machine.backend == config::Backend::nccl) resolved.settings.comm.backend = machine.backend;
  resolved.row_unit = model::row_unit(machine.device);
  return resolved;
}

rendezvous::Facts settings_facts(const config::Settings& settings, const std::string& data, const Machine& machine) {
  const auto name = [](base::Phrase phrase) { return std::string(phrase.english()); };
  rendezvous::Facts facts;
  facts.values = {
      {name(base::Phrase("build")), fmt::format("troika {}", base::version)},
      {name(base::Phrase("settings hash")), config::agreement_hash(settings)},
      {"settings", config::agreement_yaml(settings)},
      {name(base::Phrase("what carries tensors between devices (comm.backend)")), std::string(config::word_of(machine.backend))},
      {"data", data}};
  return facts;
}

rendezvous::Facts program_facts(const plan::Plan& plan) {
  rendezvous::Facts facts;
  facts.values = {{std::string(base::Phrase("step program").english()), base::hash_bytes(schedule::to_text(plan.program))}};
  return facts;
}

void check_free_memory(const RankContext& context, const plan::Plan& plan, const Machine& machine) {
  const int grid_rank = mesh::grid_rank_of(plan.shape, context.identity.world_rank), local = context.identity.local_size;
  if (const auto room = room_of_rank(context, machine)) plan::check_memory(plan, grid_rank, *room);
  const std::int64_t free = free_host_bytes(context);
  if (!machine.device.is_cpu() && free >= 0)
    plan::check_memory(plan, grid_rank, {plan::Room::Where::host_of_gpu, free * local, local});
}

std::int64_t free_host_bytes(const RankContext& context) {
  const std::int64_t available = host::available_bytes();
  return available < 0 ? -1 : available / context.identity.local_size;
}

plan::Room::Where place_of(const tensor::Device& device) {
  return device.is_cpu() ? plan::Room::Where::host : plan::Room::Where::gpu;
}

std::optional<plan::Room> room_of_rank(const RankContext& context, const Machine& machine) {
  const int local = context.identity.local_size;
  if (!machine.device.is_cpu())
    return plan::Room{plan::Room::Where::gpu, tensor::free_bytes(machine.device),
                      ranks_of_device(context.resolved.settings.train.device, local)};
  const std::int64_t free = free_host_bytes(context);
  if (free < 0) return std::nullopt;
  return plan::Room{plan::Room::Where::host, (free + host::process_memory().anonymous_bytes) * local, local};
}

void check_gpu_bits(const RankContext& context, const plan::Plan& plan, const Machine& machine) {
  if (machine.device.is_cpu()) return;
  const base::Text operation = plan::unequal_operation(plan.settings());
  const base::Text text = note_or_refuse(plan.settings(), operation);
  if (!text.empty()) say(context, base::say("note: {}", text));
}

void check_messages(const plan::Plan& plan, const Machine& machine) {
  if (machine.backend != config::Backend::nccl) return;
  const base::Text found = schedule::receive_out_of_order(plan.program);
  if (found.empty()) return;
  throw base::ConfigError(
      base::say("NCCL matches messages by their order, and in this schedule {}; change the schedule file, or set --comm.backend gloo",
                  found));
}

void connect(Session& session, const RankContext& context, const mesh::Shape& shape, const Machine& machine) {
  session.at(0, records::Activity::connecting);
  session.connect(shape, machine.backend == config::Backend::nccl ? machine.streams : nullptr);
  if (context.identity.world_size == 1) return;
  const base::Text difference = different_ranks(*session.channels().world, traits_of_this_rank(machine.device));
  const base::Text text = note_or_refuse(context.resolved.settings, difference);
  if (!text.empty()) say(context, base::say("note: {}", text));
}

base::Cause cause_of(const std::exception& error) {
  const auto* ours = dynamic_cast<const base::Error*>(&error);
  if (ours == nullptr) return records::cause_in(error.what());  // a library has said it
  const bool lost = ours->exit_code() == base::exit_peer_lost && ours->cause() == base::Cause::not_told;
  return lost ? base::Cause::connection_broke : ours->cause();
}

base::Text text_of(const std::exception& error) {
  const auto* ours = dynamic_cast<const base::Error*>(&error);
  return ours == nullptr ? base::verbatim(error.what()) : base::text_of(*ours);
}

// Tells the others, and leaves in this rank's log what is too long for a screen.
static FailureCause end_badly(Session& session, RankReporter& reporter, int exit_code, const std::exception& error) {
  const std::string text = error.what();
  const FailureCause cause = session.fail({exit_code, text_of(error), cause_of(error)});
  const bool elsewhere = !cause.failure.empty() && text.find(cause.failure.english) == std::string::npos;
  reporter.log(fmt::format("failed: {}{}{}\n{}", cause.failure.english, elsewhere ? "\n  seen here as: " : "",
                        elsewhere || cause.failure.empty() ? text : "", session.last_operations().english));
  return cause;
}

int in_session(const RankContext& context, const std::function<void(Session&)>& body) {
  for (const base::Text& note : context.notes) say(context, base::say("note: {}", note));
  for (const auto& note : context.resolved.notes) say(context, base::say("note: {}", note));
  if (!context.resolved.settings.train.out.empty()) base::make_directories(context.resolved.settings.train.out);
  RankReporter reporter(context);
  Session session(context.identity, context.resolved.settings.comm,
                  [&reporter](const records::Incident& notice) { reporter.notice(said(notice)); });
  if (context.answer_status) context.answer_status([&] { reporter.answer(session.status()); });
  const base::ScopeExit answers([&context] {
    if (context.answer_status) context.answer_status({});
  });
  try {
    body(session);
    return 0;
  } catch (const base::PeerError& error) {
    const FailureCause cause = end_badly(session, reporter, error.exit_code(), error);
    if (cause.launcher_tells) return error.exit_code();
    throw base::PeerError(cause.failure.empty() ? base::text_of(error) : cause.failure);
  } catch (const base::Error& error) {
    if (end_badly(session, reporter, error.exit_code(), error).launcher_tells) return error.exit_code();
    throw;
  } catch (const std::exception& error) {
    if (host::is_thread_limit(error)) {  // of a library's thread
      const base::ConfigError named(host::no_more_threads());
      if (end_badly(session, reporter, named.exit_code(), named).launcher_tells) return named.exit_code();
      throw named;
    }
    end_badly(session, reporter, base::BugError("").exit_code(), error);
    throw;
  }
}

}  // namespace troika::train
