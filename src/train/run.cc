#include "train/run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/host_name.h"
#include "base/run_files.h"
#include "base/text.h"
#include "config/config.h"
#include "exporters/event_command.h"
#include "exporters/tensorboard.h"
#include "plan/describe.h"
#include "plan/saved_bytes.h"
#include "tensor/accelerator.h"
#include "tensor/tensor.h"
#include "train/attention_note.h"
#include "train/backend.h"
#include "train/choose_layout.h"
#include "train/fit_batch.h"
#include "train/measure_segments.h"
#include "train/own_folder.h"
#include "train/product_choices.h"
#include "train/run_lock.h"
#include "train/run_records.h"
#include "train/saving.h"
#include "train/tokenizer_copies.h"
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

// parallel.stage_balance measured: rank 0 measures, and all cut the stages alike.
config::Resolved with_measured_costs(Session& session, config::Resolved resolved, const plan::DataFacts& facts,
                                     const tensor::Device& device) {
  auto& parallel = resolved.settings.parallel;
  if (parallel.stage_balance != config::StageBalance::measured || resolved.layout.pp == 1) return resolved;
  session.at(0, records::Activity::measuring_segments);
  const std::string costs = session.broadcast_text("segment costs", [&] {
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
  std::shared_ptr<const data::Samples> samples, valid;  // valid: null without data.valid and data.valid_share
  std::vector<data::SourcePart> valid_sources;
  plan::DataFacts facts;
  config::DataSettings read;  // as the settings say, with the run's own tokenizer and chat template
};

std::string data_cache(const config::Settings& s) {
  return s.data.cache.empty() ? s.train.out + "/data" : s.data.cache;
}

std::string no_data(const config::Settings& s) {
  const std::string settings_of_run = s.model.path + "/config.yaml";
  if (!s.model.path.empty() && base::file_exists(settings_of_run))
    return fmt::format(
        "data.train is not set: '{}' is the folder of a run, with whose weights a training begins where --data.train "
        "PATH "
        "names its data; to continue that run give its settings: troika train {}",
        s.model.path, settings_of_run);
  return "data.train is not set; name a text file, a folder or token shards with --data.train PATH";
}

Source source_of(const RunRequest& request) {
  const config::Settings& s = request.resolved.settings;
  if (const Trial* trial = request.trial; trial != nullptr) {
    const data::Samples& samples = *trial->samples;
    return {trial->samples, nullptr, {}, {trial->vocab, samples.samples(), 0, samples.fingerprint(), 0}, s.data};
  }
  if (s.data.train.empty()) throw base::ConfigError(no_data(s));
  const config::DataSettings read = with_copies_of_run(s);
  if (const std::string text = replaced_tokenizer(s.data, read); !text.empty()) say(request, "note: " + text);
  const auto tokenizer = tokenizer::open_tokenizer(read.tokenizer);
  const data::OpenedSamples opened =
      open_data(request, {s.data.train, data_cache(s), data::Reading::training, read}, *tokenizer);
  const data::Samples& samples = *opened.samples;
  Source source{
      opened.samples, nullptr, {}, {opened.vocab, samples.samples(), opened.tokens, samples.fingerprint(), 0}, read};
  source.valid = opened.validation;
  source.valid_sources = opened.parts;
  if (!s.data.valid.empty()) {
    const data::OpenedSamples valid =
        open_data(request, {s.data.valid, data_cache(s), data::Reading::evaluation, read}, *tokenizer);
    source.valid = valid.samples;
    source.valid_sources = valid.parts;
    source.facts.vocab = std::max(source.facts.vocab, valid.vocab);
  }
  if (source.valid != nullptr) source.facts.valid_samples = source.valid->samples();
  return source;
}

std::string data_fingerprint(const Source& source) {
  return source.facts.fingerprint + (source.valid == nullptr ? "" : " " + source.valid->fingerprint());
}

Surroundings surroundings_of(Session& session, const RunRequest& request, const Machine& machine) {
  Surroundings surroundings;
  surroundings.streams = machine.streams;
  surroundings.host = base::host_name();
  surroundings.screen = request.screen;
  surroundings.stop_requested = request.stop.requested;
  surroundings.whereabouts = &session.whereabouts();
  surroundings.trial = request.trial != nullptr;
  surroundings.attempt.restarted = request.identity.restarted;
  surroundings.attempt.launch = session.broadcast_text("launch", [&] { return request.identity.launch; });
  if (surroundings.trial) {
    surroundings.on_wait = request.trial->on_wait;
    surroundings.on_step = request.trial->on_step;
  }
  return surroundings;
}

std::unique_ptr<RunLock> lock_of(const RunRequest& request, const std::string& run) {
  const config::Settings& s = request.resolved.settings;
  check_own_folder(s);
  auto lock = std::make_unique<RunLock>(s.train.out, run, request.identity.launch);
  if (const std::string note = lock->note_of_missing_locks(); !note.empty()) say(request, "note: " + note);
  return lock;
}

// Of the first rank of every host; rank 0 comes first, so that others of its run find it there.
std::unique_ptr<RunLock> lock_folder(Session& session, const RunRequest& request) {
  const std::string& out = request.resolved.settings.train.out;
  std::unique_ptr<RunLock> lock;
  const std::string run = session.broadcast_text("run", [&] {
    const std::string name =
        base::hash_bytes(fmt::format("{} {} {:.9f}", base::host_name(), ::getpid(), base::wall_seconds()));
    if (!out.empty()) lock = lock_of(request, name);
    return name;
  });
  if (!out.empty() && lock == nullptr && request.identity.local_rank == 0) lock = lock_of(request, run);
  return lock;
}

void record_end(RunRecords& records, const Outcome& outcome) {
  const bool stopped = outcome.ending == Ending::interrupted;
  const std::string text = stopped ? fmt::format("stopped after step {} of {}", outcome.step, outcome.steps)
                           : outcome.early.empty() ? all_steps_are_done(outcome.steps)
                                                   : outcome.early;
  records.event(stopped ? records::EventKind::stop : records::EventKind::finish, outcome.step, text);
  records.ends(stopped ? records::Life::stopped : records::Life::finished, "", stopped ? base::exit_interrupted : 0);
}

// While it is there, a stop request tells the other ranks before it ends this one, and a second one the records, unless a launcher of
// ours does. `records` may be null.
class LastWords {
 public:
  LastWords(const Session& session, const RunRequest& request, RunRecords* records) : stop_(request.stop) {
    if (stop_.before_leaving)
      stop_.before_leaving([&session] { session.leave("it was asked to stop before the first step"); });
    const bool watched = request.identity.source == rendezvous::Identity::Source::troika_launch;
    if (stop_.before_ending_at_once && records != nullptr && !watched)
      stop_.before_ending_at_once([records] { records->ended_at_once(); });
  }
  ~LastWords() {
    if (stop_.before_leaving) stop_.before_leaving({});
    if (stop_.before_ending_at_once) stop_.before_ending_at_once({});
  }
  LastWords(const LastWords&) = delete;
  LastWords& operator=(const LastWords&) = delete;

 private:
  const StopRequests& stop_;
};

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

// Collective.
std::vector<records::RankPlace> places_of_ranks(Session& session) {
  std::vector<records::RankPlace> places;
  for (const std::string& text :
       session.all_gather_text("places", fmt::format("{} {}", ::getpid(), base::host_name()))) {
    const std::size_t space = text.find(' ');
    std::int64_t pid = 0;
    base::parse_int(text.substr(0, space), &pid);
    records::RankPlace place;
    place.rank = static_cast<int>(places.size());
    place.host = text.substr(space + 1);
    place.pid = static_cast<int>(pid);
    places.push_back(place);
  }
  return places;
}

// Collective. 0 where hosts have unlike numbers.
int ranks_of_each_host(Session& session, const rendezvous::Identity& me) {
  const std::string here = std::to_string(me.local_size);
  const std::vector<std::string> all = session.all_gather_text("ranks of hosts", here);
  return std::count(all.begin(), all.end(), here) == me.world_size ? me.local_size : 0;
}

// Null where none is wanted.
std::unique_ptr<metrics::RowSink> tensorboard_of(const RunRequest& request, const plan::Plan& plan) {
  const config::Settings& s = plan.resolved.settings;
  const std::string folder = exporters::tensorboard_folder(s);
  if (request.identity.world_rank != 0 || request.trial != nullptr || folder.empty()) return nullptr;
  const std::string config = config::to_yaml(s);
  return exporters::make_tensorboard_sink({folder, config, exporters::hyper_parameters_of(config)});
}

// `records` may be null.
Outcome run_in(Session& session, const RunRequest& request, RunRecords* records) {
  const rendezvous::Identity& me = request.identity;
  const config::Settings& s = request.resolved.settings;
  const LastWords last_words(session, request, records);
  session.join();
  const std::unique_ptr<RunLock> lock = lock_folder(session, request);
  if (request.trial == nullptr) {
    const std::vector<records::RankPlace> ranks = places_of_ranks(session);
    if (records != nullptr) records->prepares(ranks);
    if (records != nullptr && me.hosts_store) records->gather(me);
  }
  check_rank_device(request);
  session.at(0, records::Activity::preparing_data);
  const Source source = source_of(request);
  plan::DataFacts facts = source.facts;
  facts.documents = plan::documents_of(*source.samples, source.valid.get());
  const Machine machine = prepare_machine(request);
  const auto stated_device = config::word_or(s.train.device, config::DeviceKind::numbered);
  if (s.parallel.offload == config::Offload::host && machine.device.is_cpu() &&
      stated_device == config::DeviceKind::automatic)
    say(request, "note: parallel.offload host changes nothing on a CPU; 'file' takes the state out of memory");
  const MachineHere here = find_machine(request.machine_file, me.local_rank, me.local_size, machine.device);
  const config::Resolved chosen = with_chosen_layout(session, request, here, facts);
  session.at(0, records::Activity::agreeing);
  session.agree("settings", settings_facts(chosen.settings, data_fingerprint(source), machine));
  config::Resolved resolved = decided(chosen, machine);
  if (machine.backend == config::Backend::nccl) resolved.ranks_per_host = ranks_of_each_host(session, me);
  if (!machine.device.is_cpu())
    machine.device.accelerator().set_repeatable(config::repeatable(resolved.settings.parallel.reproducible));
  resolved = with_measured_costs(session, std::move(resolved), facts, machine.device);
  plan::Plan plan = plan::make_plan(with_fitting_batch(session, request, std::move(resolved), facts, machine), facts);
  check_free_memory(request, plan, machine);
  check_messages(plan, machine);
  check_gpu_bits(request, plan, machine);
  session.agree("program", program_facts(plan));
  const mesh::Coordinate at = mesh::coordinate_of(plan.shape, me.world_rank);
  const auto pass_once = [&] { warm_up(plan, at, machine.device); };
  if (s.train.products == config::Products::measured) {
    session.at(0, records::Activity::measuring_products);
    choose_products(session, request, machine.device, pass_once);
  } else if (machine.backend == config::Backend::nccl && me.world_size > 1) {
    session.at(0, records::Activity::warming_device);
    pass_once();
  }
  connect(session, request, plan.shape, machine);
  Saving saving;
  if (request.trial == nullptr) {
    session.connect_savers();
    saving = decide_saving(plan, machine.device, free_host_bytes(request), *session.channels().saving);
  }
  if (!saving.snapshot_bytes.empty()) plan::count_snapshots(&plan, saving.snapshot_bytes);
  std::vector<std::string> lines = plan::describe(plan, place_of(machine.device));
  if (const std::string note = attention_note(plan, at, machine.device).english; !note.empty()) lines.push_back(note);
  lines.insert(lines.end(), saving.remarks.begin(), saving.remarks.end());
  for (const std::string& line : lines) {
    say(request, line);
    if (records != nullptr) records->told(line);
  }
  if (me.world_rank == 0 && !s.train.out.empty()) write_plan(plan);
  if (records != nullptr) records->planned(plan);

  const auto log = open_log(request);
  if (log != nullptr) {
    log->info(
        fmt::format("rank {} of {} on {}, process {}", me.world_rank, me.world_size, base::host_name(), ::getpid()));
    log->info(describe_threads(machine));
    if (!machine.device.is_cpu()) log->info(describe_backend(machine.backend, request.device_variables));
  }
  Surroundings surroundings = surroundings_of(session, request, machine);
  surroundings.log = log.get();
  surroundings.records = records;
  const std::unique_ptr<metrics::RowSink> rows = tensorboard_of(request, plan);
  surroundings.rows = rows.get();
  surroundings.saving = saving;
  surroundings.look_at_folder = [&lock] { return lock == nullptr ? std::string() : lock->look(); };
  surroundings.machine = here;
  surroundings.on_begin = [&request, &log] {
    if (request.stop.begin_polling) request.stop.begin_polling();
    if (log != nullptr) log->info("the steps begin");
  };
  surroundings.valid = source.valid.get();
  surroundings.valid_sources = source.valid_sources;
  surroundings.tokenizer = source.read.tokenizer;
  surroundings.chat_template = source.read.chat_template;
  const Outcome outcome = Trainer(plan, *source.samples, session.channels(), surroundings).run();
  if (rows != nullptr) rows->finish();
  if (log != nullptr) log->info(metrics::format_summary(outcome.summary));
  if (records != nullptr) records->told(metrics::format_summary(outcome.summary));
  if (surroundings.trial && request.trial->at_end) request.trial->at_end(plan, *session.channels().world);
  session.finish();
  if (records != nullptr) record_end(*records, outcome);
  return outcome;
}

// While it is there, the records have what the watch over ranks says.
class Listening {
 public:
  Listening(Session& session, RunRecords& records) : session_(session) {
    session_.also_tell([&records](const records::Incident& notice) { records.notice(notice); });
  }
  ~Listening() { session_.also_tell({}); }
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

 private:
  Session& session_;
};

// Of rank 0. Where a launcher of ours watches the ranks, failures are its to tell.
exporters::EventCommand event_command(const RunRequest& request) {
  const config::Settings& s = request.resolved.settings;
  return {request.identity.world_rank == 0 ? s.log.on_event : "", s.train.out, request.environment};
}

records::Event as_told(records::Event event, const rendezvous::Identity& me) {
  const bool watched = me.source == rendezvous::Identity::Source::troika_launch;
  if (event.kind == records::EventKind::rank_failed && !watched) event.kind = records::EventKind::failure;
  return event;
}

// What is thrown ends the run, and says so in its records.
Outcome run_recorded(Session& session, const RunRequest& request) {
  if (!keeps_records(request)) return run_in(session, request, nullptr);
  exporters::EventCommands commands(event_command(request), [&](const std::string& note) { say(request, note); });
  RunRecords records(place_of_records(request), session.whereabouts(), session.traffic(),
                     [&session](const std::string& name, const std::string& text) { session.publish(name, text); });
  records.also_tell([&](const records::Event& event) { commands.tell(as_told(event, request.identity)); });
  const Listening listening(session, records);
  try {
    return run_in(session, request, &records);
  } catch (const base::Error& error) {
    records.failed(error.exit_code(), error.what(), cause_of(error));
    throw;
  } catch (const std::exception& error) {
    records.failed(base::BugError("").exit_code(), error.what(), cause_of(error));
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
