#include "train/run.h"

#include <fmt/format.h>
#include <unistd.h>

#include "base/error.h"
#include "base/file.h"
#include "base/host_name.h"
#include "base/run_files.h"
#include "base/say.h"
#include "base/descriptor.h"
#include "base/text.h"
#include "config/config.h"
#include "exporters/event_command.h"
#include "exporters/tensorboard.h"
#include "plan/plan.h"
#include "train/rank_device.h"
#include "train/run_records.h"
#include "train/run_start.h"
#include "train/warm_up.h"

namespace troika::train {
namespace {

// NAME.yaml for the first attempt, NAME-2.yaml for the second that differs, and so on.
void write_of_attempt(const std::string& folder, const std::string& name, const std::string& ending,
                      const std::string& text) {
  std::string file = name + ending;
  for (int attempt = 2; base::file_exists(folder + "/" + file); ++attempt) {
    const auto there = base::RunFile::open(folder, file);
    const auto bytes = static_cast<std::int64_t>(text.size());
    if (there && there->facts().bytes == bytes && there->text(0, bytes) == text) return;
    file = fmt::format("{}-{}{}", name, attempt, ending);
  }
  base::write_file_atomic(folder + "/" + file, text);
}

void write_plan(const plan::Plan& plan) {
  const config::Settings& s = plan.resolved.settings;
  write_of_attempt(s.train.out, "config", ".yaml", config::to_yaml(s));
  write_of_attempt(s.train.out, "program", ".txt", schedule::to_text(plan.program));
}

// Until the result ends a stop request tells the other ranks before it ends this one, and a second one the records, unless a
// launcher of ours does. `records` may be null.
auto say_last_words(const Session& session, const RunRequest& request, RunRecords* records) {
  const StopRequests& stop = request.stop;
  if (stop.before_leaving)
    stop.before_leaving([&session] { session.leave(base::say("it was stopped before the first step")); });
  const bool watched = request.identity.source == rendezvous::Identity::Source::troika_launch;
  if (stop.before_ending_at_once && records != nullptr && !watched)
    stop.before_ending_at_once([records] { records->ended_at_once(); });
  return base::ScopeExit([&stop] {
    if (stop.before_leaving) stop.before_leaving({});
    if (stop.before_ending_at_once) stop.before_ending_at_once({});
  });
}

// Collective. `records` may be null.
void record_ranks(Session& session, const rendezvous::Identity& me, RunRecords* records) {
  const std::vector<records::RankPlace> ranks = places_of_ranks(session);
  if (records == nullptr) return;
  records->prepares(ranks);
  if (me.hosts_store) records->gather(me);
}

RunData prepare_data(Session& session, const RunRequest& request) {
  check_rank_device(request);
  session.at(0, records::Activity::preparing_data);
  const Trial* const trial = request.trial;
  return trial == nullptr ? open_run_data(request)
                          : data_of(trial->samples, trial->vocab, request.resolved.settings);
}

// To people, to the run's folder and to its records, which may be null.
void show_plan(const RunRequest& request, const plan::Plan& plan, const Saving& saving, const Machine& machine,
               RunRecords* records) {
  const int rank = request.identity.world_rank;
  std::vector<base::Text> lines = plan::describe(plan, place_of(machine.device));
  const base::Text note = attention_note(plan, mesh::coordinate_of(plan.shape, rank), machine.device);
  if (!note.empty()) lines.push_back(note);
  lines.insert(lines.end(), saving.remarks.begin(), saving.remarks.end());
  for (const base::Text& line : lines) {
    say(request, line);
    if (records != nullptr) records->told(line.english);
  }
  if (rank == 0 && !plan.settings().train.out.empty()) write_plan(plan);
  if (records != nullptr) records->planned(plan, thread_use(machine));
}

// Null without train.out.
std::unique_ptr<metrics::RunLog> begin_log(const RunRequest& request, const Machine& machine) {
  auto log = open_log(request);
  if (log == nullptr) return log;
  log->info(fmt::format("rank {} of {} on {}, process {}", request.identity.world_rank, request.identity.world_size,
                        base::host_name(), ::getpid()));
  log->info(describe(thread_use(machine)));
  if (!machine.device.is_cpu()) log->info(describe_backend(machine.backend, request.device_variables));
  return log;
}

// Null where none is wanted.
std::unique_ptr<metrics::RowSink> tensorboard_of(const RunRequest& request, const plan::Plan& plan) {
  const config::Settings& s = plan.resolved.settings;
  const std::string folder = exporters::tensorboard_folder(s);
  if (request.identity.world_rank != 0 || request.trial != nullptr || folder.empty()) return nullptr;
  const std::string config = config::to_yaml(s);
  return exporters::make_tensorboard_sink({folder, config, exporters::hyper_parameters_of(config)});
}

// Collective.
Checkpoints checkpoints_of(Session& session, const RunRequest& request, const RunData& data, const Saving& saving,
                           RunLock* lock) {
  Checkpoints checkpoints;
  checkpoints.attempt.restarted = request.identity.restarted;
  checkpoints.attempt.launch = session.collectives().broadcast_text("launch", [&] { return request.identity.launch; });
  checkpoints.tokenizer = data.read.tokenizer;
  checkpoints.chat_template = data.read.chat_template;
  checkpoints.saving = saving;
  checkpoints.look_at_folder = [lock] { return lock == nullptr ? base::Text() : lock->look(); };
  return checkpoints;
}

Hooks hooks_of(const RunRequest& request, metrics::RunLog* log) {
  Hooks hooks;
  hooks.stop_requested = request.stop.requested;
  hooks.on_begin = [&request, log] {
    if (request.stop.begin_polling) request.stop.begin_polling();
    if (log != nullptr) log->info("the steps begin");
  };
  if (request.trial == nullptr) return hooks;
  hooks.on_wait = request.trial->on_wait;
  hooks.on_step = request.trial->on_step;
  return hooks;
}

void record_end(RunRecords& records, const Outcome& outcome) {
  const bool stopped = outcome.ending == Ending::interrupted;
  const base::Text text = stopped ? base::say("stopped after step {} of {}", outcome.step, outcome.steps)
                          : outcome.early.empty() ? all_steps_are_done(outcome.steps)
                                                  : outcome.early;
  records.event(stopped ? records::EventKind::stop : records::EventKind::finish, outcome.step, text);
  records.ends(stopped ? records::Life::stopped : records::Life::finished, "", stopped ? base::exit_interrupted : 0);
}

// The stages of a run, each from what the ones before it give. `records` may be null.
Outcome run_in(Session& session, const RunRequest& request, RunRecords* records) {
  const auto last_words = say_last_words(session, request, records);
  session.join();
  const std::unique_ptr<RunLock> lock = lock_folder(session, request);
  if (request.trial == nullptr) record_ranks(session, request.identity, records);
  const RunData data = prepare_data(session, request);
  const Hardware hardware = find_hardware(request);
  const Machine& machine = hardware.machine;
  const config::Resolved resolved = agree_on_settings(session, request, request.open_layout, data, hardware);
  plan::Plan plan = make_run_plan(session, request, resolved, data, machine);
  warm_device(session, request, plan, machine);
  const Saving saving =
      connect_run(session, request, &plan, machine, request.trial == nullptr ? Saves::yes : Saves::no);
  show_plan(request, plan, saving, machine, records);

  const std::unique_ptr<metrics::RunLog> log = begin_log(request, machine);
  const std::unique_ptr<metrics::RowSink> rows = tensorboard_of(request, plan);
  Surroundings surroundings;
  surroundings.streams = machine.streams;
  surroundings.listeners = {request.screen, log.get(), records, rows.get(), &session.rank_activity(), request.language};
  surroundings.hooks = hooks_of(request, log.get());
  surroundings.checkpoints.reset();
  if (request.trial == nullptr) surroundings.checkpoints = checkpoints_of(session, request, data, saving, lock.get());
  surroundings.valid = {data.valid.get(), data.valid_sources};
  surroundings.machine = hardware.here;
  const Outcome outcome = Trainer(plan, *data.samples, session.channels(), std::move(surroundings)).run();

  if (rows != nullptr) rows->finish();
  if (log != nullptr) log->info(format_summary(outcome.summary));
  if (records != nullptr) records->told(format_summary(outcome.summary));
  if (request.trial != nullptr && request.trial->at_end) request.trial->at_end(plan, *session.channels().world);
  session.finish();
  if (records != nullptr) record_end(*records, outcome);
  return outcome;
}

bool keeps_records(const RunRequest& request) {
  return request.trial == nullptr && !request.resolved.settings.train.out.empty();
}

RunRecords::Place place_of_records(const RunRequest& request) {
  const rendezvous::Identity& me = request.identity;
  std::int64_t attempt = 0;
  base::parse_int(me.generation, &attempt);
  const config::Settings& s = request.resolved.settings;
  RunRecords::Place place;
  place.folder = s.train.out;
  place.rank = me.world_rank;
  place.local_rank = me.local_rank;
  place.attempt = static_cast<int>(attempt);
  place.launch = me.launch;
  place.slurm_job = me.slurm_job;
  place.sample_seconds = s.log.sample_seconds;
  return place;
}

// The command of rank 0. Where a launcher of ours watches the ranks, failures are its to tell.
exporters::EventCommand event_command(const RunRequest& request) {
  const config::Settings& s = request.resolved.settings;
  return {request.identity.world_rank == 0 ? s.log.on_event : "", s.train.out, request.environment};
}

records::Event as_told(records::Event event, const rendezvous::Identity& me) {
  const bool watched = me.source == rendezvous::Identity::Source::troika_launch;
  if (event.kind == records::EventKind::rank_failed && !watched) event.kind = records::EventKind::failure;
  return event;
}

// An exception ends the run, and its records tell it.
Outcome run_recorded(Session& session, const RunRequest& request) {
  if (!keeps_records(request)) return run_in(session, request, nullptr);
  exporters::EventCommands commands(event_command(request), [&](const base::Text& note) { say(request, note); });
  RunRecords records(place_of_records(request), session.rank_activity(), session.traffic(),
                     [&session](const std::string& name, const std::string& text) { session.publish(name, text); });
  records.also_tell([&](const records::Event& event) { commands.tell(as_told(event, request.identity)); });
  session.also_tell([&records](const records::Incident& notice) { records.notice(notice); });
  const base::ScopeExit listening([&session] { session.also_tell({}); });
  try {
    return run_in(session, request, &records);
  } catch (const base::Error& error) {
    records.failed(error.exit_code(), base::text_of(error), cause_of(error));
    throw;
  } catch (const std::exception& error) {
    records.failed(base::BugError("").exit_code(), text_of(error), cause_of(error));
    throw;
  }
}

}  // namespace

RunResult run(const RunRequest& request) {
  RunResult result;
  bool interrupted = false;
  result.exit_code = in_session(request, [&](Session& session) {
    const Outcome outcome = run_recorded(session, request);
    result.summary = outcome.summary;
    interrupted = outcome.ending == Ending::interrupted;
  });
  if (interrupted) result.exit_code = base::exit_interrupted;
  return result;
}

}  // namespace troika::train
