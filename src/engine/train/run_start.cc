#include "train/run_start.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/host_name.h"
#include "base/text.h"
#include "data/batches.h"
#include "tensor/accelerator.h"
#include "train/open_settings.h"
#include "train/tokenizer_copies.h"
#include "train/warm_up.h"

namespace troika::train {

Hardware find_hardware(const RankContext& context) {
  const config::Settings& s = context.resolved.settings;
  const rendezvous::Identity& me = context.identity;
  Machine machine = prepare_machine(context);
  const auto stated_device = config::word_or(s.train.device, config::DeviceKind::numbered);
  if (s.parallel.offload == config::Offload::host && machine.device.is_cpu() &&
      stated_device == config::DeviceKind::automatic)
    say(context,
        base::say("note: parallel.offload host has no effect on a CPU; 'file' moves the state out of memory"));
  MachineHere here = find_machine(context.machine_file, me.local_rank, me.local_size, machine.device);
  return {std::move(machine), std::move(here)};
}

// parallel.stage_balance measured: rank 0 measures, and all cut the stages alike.
static config::Resolved with_measured_costs(Session& session, config::Resolved resolved, const plan::DataFacts& facts,
                                     const tensor::Device& device) {
  auto& parallel = resolved.settings.parallel;
  if (parallel.stage_balance != config::StageBalance::measured || resolved.settings.parallel.pp == 1) return resolved;
  session.at(0, records::Activity::measuring_segments);
  const std::string costs = session.collectives().broadcast_text("segment costs", [&] {
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

config::Resolved agree_on_settings(Session& session, const RankContext& context,
                                   const std::optional<planner::Fixed>& open_layout, const RunData& data,
                                   const Hardware& hardware) {
  const Machine& machine = hardware.machine;
  const config::Resolved chosen =
      open_layout ? with_chosen_layout(session, context, *open_layout, hardware.here, data.facts) : context.resolved;
  session.at(0, records::Activity::agreeing);
  session.agree("settings", settings_facts(chosen.settings, data.fingerprint(), machine));
  config::Resolved resolved = decided(chosen, machine);
  if (machine.backend == config::Backend::nccl)
    resolved.ranks_per_host = ranks_of_each_host(session, context.identity);
  if (!machine.device.is_cpu())
    machine.device.accelerator().set_repeatable(config::repeatable(resolved.settings.parallel.reproducible));
  return resolved;
}

plan::Plan make_run_plan(Session& session, const RankContext& context, config::Resolved resolved, const RunData& data,
                         const Machine& machine) {
  resolved = with_measured_costs(session, std::move(resolved), data.facts, machine.device);
  resolved = with_fitting_batch(session, context, std::move(resolved), data.facts, machine);
  plan::Plan plan = plan::make_plan(std::move(resolved), data.facts);
  check_free_memory(context, plan, machine);
  check_messages(plan, machine);
  check_gpu_bits(context, plan, machine);
  session.agree("program", program_facts(plan));
  return plan;
}

void warm_device(Session& session, const RankContext& context, const plan::Plan& plan, const Machine& machine) {
  const auto pass_once = [&] {
    warm_up(plan, mesh::coordinate_of(plan.shape, context.identity.world_rank), machine.device);
  };
  if (context.resolved.settings.train.products == config::Products::measured) {
    session.at(0, records::Activity::measuring_products);
    choose_products(session, context, machine.device, pass_once);
  } else if (machine.backend == config::Backend::nccl && context.identity.world_size > 1) {
    session.at(0, records::Activity::warming_device);
    pass_once();
  }
}

Saving connect_run(Session& session, const RankContext& context, plan::Plan* plan, const Machine& machine,
                   Saves saves) {
  connect(session, context, plan->shape, machine);
  if (saves == Saves::no) return {};
  session.connect_savers();
  Saving saving = decide_saving(*plan, machine.device, free_host_bytes(context), *session.channels().saving);
  if (!saving.snapshot_bytes.empty()) plan::count_snapshots(plan, saving.snapshot_bytes);
  return saving;
}

static std::unique_ptr<RunLock> lock_of(const RankContext& context, const std::string& run) {
  const config::Settings& s = context.resolved.settings;
  check_own_folder(s);
  auto lock = std::make_unique<RunLock>(s.train.out, run, context.identity.launch);
  if (const base::Text note = lock->note_of_missing_locks(); !note.empty()) say(context, base::say("note: {}", note));
  return lock;
}

// Rank 0 comes first, so that others of its run find it there.
std::unique_ptr<RunLock> lock_folder(Session& session, const RankContext& context) {
  const std::string& out = context.resolved.settings.train.out;
  std::unique_ptr<RunLock> lock;
  const std::string run = session.collectives().broadcast_text("run", [&] {
    const std::string name =
        base::hash_bytes(fmt::format("{} {} {:.9f}", base::host_name(), ::getpid(), base::wall_seconds()));
    if (!out.empty()) lock = lock_of(context, name);
    return name;
  });
  if (!out.empty() && lock == nullptr && context.identity.local_rank == 0) lock = lock_of(context, run);
  return lock;
}

std::vector<records::RankPlace> places_of_ranks(Session& session) {
  std::vector<records::RankPlace> places;
  for (const std::string& text :
       session.collectives().all_gather_text("places", fmt::format("{} {}", ::getpid(), base::host_name()))) {
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

int ranks_of_each_host(Session& session, const rendezvous::Identity& me) {
  const std::string here = std::to_string(me.local_size);
  const std::vector<std::string> all = session.collectives().all_gather_text("ranks of hosts", here);
  return std::count(all.begin(), all.end(), here) == me.world_size ? me.local_size : 0;
}

static std::string data_cache(const config::Settings& s) {
  return s.data.cache.empty() ? s.train.out + "/data" : s.data.cache;
}

static base::Text no_data(const config::Settings& s) {
  const std::string settings_of_run = s.model.path + "/config.yaml";
  if (!s.model.path.empty() && base::file_exists(settings_of_run))
    return base::say(
        "data.train is not set: '{}' is a run folder, whose weights a new training starts from if --data.train PATH names its data; to continue that run give its settings: troika train {}",
        s.model.path, settings_of_run);
  return base::say("data.train is not set; name a text file, a folder or token shards with --data.train PATH");
}

plan::SizesOf sizes_of_evaluation(const data::Samples& samples) {
  if (samples.are_full()) return nullptr;
  return [&samples](const config::Batch& batch, int cp, std::int64_t) {
    data::BatchRules rules = data::rules_of(batch);
    rules.global = samples.samples();
    return data::sizes_of({samples, {samples.samples(), 0, data::SampleOrder::natural}, rules}, cp, 1);
  };
}

plan::SizesOf sizes_of_run(std::shared_ptr<const data::Samples> samples, std::shared_ptr<const data::Samples> valid,
                           const config::Settings& settings) {
  if (samples->are_full() && (valid == nullptr || valid->are_full())) return nullptr;
  return [=](const config::Batch& batch, int cp, std::int64_t steps) {
    shape::MicrobatchSizes sizes = plan::full_sizes(batch, cp);
    if (!samples->are_full())
      sizes = data::sizes_of({*samples, data::sampler_of(*samples, settings), data::rules_of(batch)}, cp, steps);
    if (valid == nullptr) return sizes;
    const plan::SizesOf of_valid = sizes_of_evaluation(*valid);
    const shape::MicrobatchSizes evaluated = of_valid ? of_valid(batch, cp, 0) : plan::full_sizes(batch, cp);
    for (std::size_t rank = 0; rank < sizes.most_rows.size(); ++rank)
      sizes.most_rows[rank] = std::max(sizes.most_rows[rank], evaluated.most_rows[rank]);
    sizes.longest = std::max(sizes.longest, evaluated.longest);
    sizes.most_with_loss = std::max(sizes.most_with_loss, evaluated.most_with_loss);
    sizes.even_evaluated = evaluated.even;
    return sizes;
  };
}

static plan::LengthsOf lengths_of_run(std::shared_ptr<const data::Samples> samples, const config::Settings& settings) {
  if (samples->are_full()) return nullptr;
  return [=](const config::Batch& batch, const plan::PositionCosts& costs) {
    return data::lengths_of(*samples, data::sampler_of(*samples, settings), data::rules_of(batch), costs);
  };
}

// Samples of both kinds, and what a plan must know of them.
static RunData run_data(std::shared_ptr<const data::Samples> samples, std::shared_ptr<const data::Samples> valid,
                        plan::DataFacts facts, const config::Settings& settings, config::DataSettings read) {
  facts.samples = samples->samples();
  facts.fingerprint = samples->fingerprint();
  if (valid != nullptr) facts.valid_samples = valid->samples();
  facts.sizes = sizes_of_run(samples, valid, settings);
  facts.lengths = lengths_of_run(samples, settings);
  return {std::move(samples), std::move(valid), {}, std::move(facts), std::move(read)};
}

RunData data_of(std::shared_ptr<const data::Samples> samples, std::int64_t vocab, const config::Settings& settings) {
  plan::DataFacts facts;
  facts.vocab = vocab;
  return run_data(std::move(samples), nullptr, facts, settings, settings.data);
}

RunData open_run_data(const RankContext& context) {
  const config::Settings& s = context.resolved.settings;
  if (s.data.train.empty()) throw base::ConfigError(no_data(s));
  const config::DataSettings read = with_copies_of_run(s);
  if (const base::Text text = replaced_tokenizer(s.data, read); !text.empty())
    say(context, base::say("note: {}", text));
  const auto tokenizer = tokenizer::open_tokenizer(read.tokenizer);
  data::OpenedSamples train =
      open_data(context, {s.data.train, data_cache(s), data::Reading::training, read}, *tokenizer);
  plan::DataFacts facts;
  facts.vocab = train.vocab;
  facts.tokens = train.tokens;
  std::shared_ptr<const data::Samples> valid = train.validation;
  std::vector<data::SourcePart> valid_sources = train.parts;
  if (!s.data.valid.empty()) {
    const data::OpenedSamples opened =
        open_data(context, {s.data.valid, data_cache(s), data::Reading::evaluation, read}, *tokenizer);
    valid = opened.samples;
    valid_sources = opened.parts;
    facts.vocab = std::max(facts.vocab, opened.vocab);
  }
  RunData data = run_data(train.samples, valid, facts, s, read);
  data.valid_sources = valid_sources;
  return data;
}

std::string RunData::fingerprint() const {
  return facts.fingerprint + (valid == nullptr ? "" : " " + valid->fingerprint());
}

}  // namespace troika::train
