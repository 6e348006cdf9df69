#include "train/trainer.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "base/units.h"
#include "checkpoint/checkpoint.h"
#include "config/config.h"
#include "config/profile.h"
#include "model/decoder.h"
#include "optimizer/learning_rate.h"
#include "schedule/summary.h"
#include "train/snapshot.h"
#include "train/timeline.h"

namespace troika::train {

Outcome Trainer::run() {
  restore();
  if (step_ >= plan_.steps) note(fmt::format("all {} steps are done; a larger --steps goes on from here", plan_.steps));
  start_loader();
  if (step_ < plan_.steps) {
    if (surroundings_.at) surroundings_.at(step_, "measuring the link");
    for (const std::string& line : advisor_.before_training()) note(line);
  }
  begin_seconds_ = base::monotonic_seconds();
  if (first_rank() && surroundings_.screen != nullptr) {
    const auto style = metrics::progress_style(settings_.log.progress, surroundings_.screen);
    progress_ = std::make_unique<metrics::Progress>(surroundings_.screen, style, step_, plan_.steps, begin_seconds_);
  }
  while (step_ < plan_.steps && !stop_) {
    train_step();
    if (save_due()) save();
  }
  if (saved_step_ != step_) save();
  if (progress_ != nullptr) progress_->finish();
  for (const std::string& line : advisor_.after_training()) note(line);
  return {stop_ && step_ < plan_.steps ? Ending::interrupted : Ending::finished, summary(), loss_};
}

void Trainer::train_step() {
  const double begin = base::monotonic_seconds();
  executor::StepSettings step;
  step.step = step_ + 1;
  step.lr = optimizer::learning_rate(settings_.optimizer, step.step, plan_.steps);
  step.clip_norm = settings_.optimizer.clip_norm;
  step.wish = surroundings_.stop_wished && surroundings_.stop_wished() ? 1 : 0;
  const bool recorded = config::is_profiled(settings_.train.profile, step.step);
  if (recorded) recorder_.keep_events();

  const executor::StepResult result = executor_->run(step);

  ++step_;
  samples_seen_ += plan_.resolved.batch.global;
  tokens_seen_ += result.tokens;
  attempt_tokens_ += result.tokens;
  loss_ = result.loss;
  loss_sum_ += result.loss;
  stop_ = result.wishes > 0;
  const double seconds = base::monotonic_seconds() - begin;
  advisor_.step_done(seconds, recorder_.phase_seconds());
  report(result, seconds);
  if (recorded) record_timeline();
}

void Trainer::report(const executor::StepResult& result, double seconds) {
  if (!first_rank()) return;
  metrics::StepMetrics m;
  m.step = step_;
  m.loss = result.loss;
  m.loss_bits = metrics::bits_of(static_cast<float>(result.loss));
  m.grad_norm = result.gradient_norm;
  m.lr = optimizer::learning_rate(settings_.optimizer, step_, plan_.steps);
  m.tokens = result.tokens;
  m.tokens_total = tokens_seen_;
  m.step_seconds = seconds;
  m.tokens_per_second = static_cast<double>(result.tokens) / seconds;
  m.memory_bytes = result.memory_bytes;
  metrics_.append(m);
  if (progress_ != nullptr) progress_->step_done(step_, m.loss, m.tokens_per_second, base::monotonic_seconds());
}

Trainer::Trainer(const Plan& plan, const data::TokenDataset& dataset, RankChannels& channels, Surroundings surroundings)
    : Trainer(plan, dataset, channels, surroundings, [&plan, device = surroundings.device] {
        return model::make_segments(plan.model(), plan.resolved.batch.seq_len, device);
      }) {}

Trainer::Trainer(const Plan& plan, const data::TokenDataset& dataset, RankChannels& channels, Surroundings surroundings,
                 const SegmentMaker& make_segments)
    : plan_(plan),
      settings_(plan.resolved.settings),
      dataset_(dataset),
      channels_(channels),
      surroundings_(std::move(surroundings)),
      recorder_(surroundings_.at),
      advisor_(plan, *channels.world, surroundings_.device),
      metrics_(settings_.train.out + "/metrics.jsonl") {
  const mesh::Coordinate here = mesh::coordinate_of(plan.shape, channels.world->rank());
  place_ = {channels.world->rank(), here.pp, here.dp};
  build_units(make_segments);
  const config::Batch& batch = plan.resolved.batch;
  executor_ = std::make_unique<executor::Executor>(
      plan.program, place_, executor::Channels{*channels.world, *channels.pp, *channels.dp}, units_,
      executor::Border{batch.micro, batch.seq_len, plan.model().hidden},
      [this](std::int64_t step, int microbatch) { return load_tokens(step, microbatch); }, plan.parameter_names(),
      ledger_, recorder_);
}

Trainer::~Trainer() {
  for (const auto& [stage, unit] : units_) {
    ledger_.release(tensor::Use::parameters, static_cast<std::int64_t>(unit->stage.parameters().nbytes()));
  }
}

void Trainer::build_units(const SegmentMaker& make_segments) {
  auto segments = make_segments();
  for (int stage = 0; stage < plan_.program.stages(); ++stage) {
    if (plan_.program.pp_rank_of_stage[static_cast<std::size_t>(stage)] != place_.pp_rank) continue;
    const auto [first, end] = plan_.stages[static_cast<std::size_t>(stage)];
    std::vector<std::unique_ptr<model::Segment>> mine;
    for (int s = first; s < end; ++s) mine.push_back(std::move(segments[static_cast<std::size_t>(s)]));
    model::Stage built(model::stage_layout(plan_.model(), first, end), std::move(mine), surroundings_.device);
    model::initialise(built, settings_.train.seed, plan_.model().init_std);
    ledger_.hold(tensor::Use::parameters, static_cast<std::int64_t>(built.parameters().nbytes()));
    units_[stage] =
        std::make_unique<executor::StageUnit>(std::move(built), settings_.optimizer, plan_.resolved.batch.microbatches,
                                              place_.dp_rank, plan_.shape.dp, ledger_);
  }
}

void Trainer::restore() {
  const std::string& resume = settings_.train.resume;
  if (resume == "never") {
    if (first_rank()) metrics_.cut_after(0);
    return;
  }
  const std::string root = settings_.train.out + "/checkpoints";
  std::vector<std::string> rejected;
  auto found = resume == "auto" ? checkpoint::find_newest(root, *channels_.world, &rejected)
                                : std::optional<checkpoint::Found>(checkpoint::open_at(resume, *channels_.world));
  if (!found && !rejected.empty()) {
    throw base::DataError(
        fmt::format("no checkpoint in '{}' can be used, so nothing was touched; repair one, or start "
                    "anew with --resume never (or another --out)\n  {}",
                    root, base::join(rejected, "\n  ")));
  }
  if (found) rejected = found->rejected;
  for (const std::string& reason : rejected) note("passed over " + reason);
  if (first_rank()) metrics_.cut_after(found ? found->facts.step : 0);
  if (!found) return;

  const Slices slices = slices_of(units_, Copies::all);
  std::vector<checkpoint::Slice> wanted = slices.weights;
  wanted.insert(wanted.end(), slices.state.begin(), slices.state.end());
  checkpoint::load(*found, wanted, *channels_.world);
  step_ = saved_step_ = first_step_ = found->facts.step;
  const auto number = [&](const char* name) {
    std::int64_t value = 0;
    const auto text = found->facts.extra.find(name);
    if (text == found->facts.extra.end() || !base::parse_int(text->second, &value)) {
      throw base::DataError(fmt::format("the checkpoint '{}' does not say its {}", found->path, name));
    }
    return value;
  };
  samples_seen_ = number("samples_seen");
  tokens_seen_ = number("tokens_seen");
  const std::string& data = found->facts.extra["data_fingerprint"];
  if (data != plan_.data.fingerprint)
    note("the data differ from those this checkpoint was trained on; going on at the same position");
  note(fmt::format("resumed from step {} ({})", step_, found->path));
}

void Trainer::start_loader() {
  const config::Batch& batch = plan_.resolved.batch;
  data::LoaderPlan plan;
  plan.global_batch = batch.global;
  plan.micro = batch.micro;
  const int lane = plan_.program.lane(place_.pp_rank, place_.dp_rank);
  for (const auto& i : plan_.program.lanes[static_cast<std::size_t>(lane)]) {
    if (i.kind == schedule::Kind::load) plan.microbatches.push_back(i.microbatch);
  }
  if (plan.microbatches.empty()) return;  // a stage in the middle reads no tokens
  plan.start_step = step_;
  plan.start_sample = static_cast<std::uint64_t>(samples_seen_);
  plan.prefetch = settings_.data.prefetch;
  loader_ = std::make_unique<data::Loader>(dataset_, data::Sampler(dataset_.samples(), settings_.train.seed), plan);
}

// The loader counts steps from 0, the executor from 1.
model::Tokens Trainer::load_tokens(std::int64_t step, int microbatch) {
  const data::TokenBatch batch = loader_->next(step - 1, microbatch);
  const auto to_device = [&](const std::vector<std::int32_t>& ids) {
    const at::Tensor host =
        at::from_blob(const_cast<std::int32_t*>(ids.data()), {static_cast<std::int64_t>(ids.size())}, at::kInt);
    return host.to(at::kLong).to(surroundings_.device);
  };
  model::Tokens tokens;
  tokens.ids_M = to_device(batch.inputs);
  tokens.targets_M = to_device(batch.targets);
  tokens.targets_M.masked_fill_(tokens.targets_M == data::no_target, -100);
  tokens.B = batch.rows;
  tokens.T = batch.length;
  return tokens;
}

void Trainer::record_timeline() {
  const TimelinePlace place{settings_.train.out + "/timeline", surroundings_.host, place_.world_rank,
                            mesh::lane_of(plan_.shape, place_.world_rank)};
  write_timeline(place, step_, recorder_.take_events(), *channels_.world);
}

bool Trainer::save_due() const {
  const std::int64_t every = settings_.checkpoint.every;
  return stop_ || (every > 0 && step_ % every == 0);
}

void Trainer::save() {
  if (surroundings_.at) surroundings_.at(step_, "saving a checkpoint");
  checkpoint::SaveRequest request;
  request.root = settings_.train.out + "/checkpoints";
  request.facts.step = step_;
  request.facts.settings_yaml = config::to_yaml(settings_);
  request.facts.model_config_json = model::hugging_face_config(plan_.model());
  request.facts.extra = {{"samples_seen", std::to_string(samples_seen_)},
                         {"tokens_seen", std::to_string(tokens_seen_)},
                         {"data_fingerprint", plan_.data.fingerprint},
                         {"tokenizer", settings_.data.tokenizer}};
  request.keep = settings_.checkpoint.keep;
  if (place_.dp_rank == 0) {  // the other data-parallel ranks hold the same values
    Slices slices = slices_of(units_, Copies::owned);
    request.weights = std::move(slices.weights);
    request.state = std::move(slices.state);
  }
  checkpoint::save(request, *channels_.world);
  saved_step_ = step_;
}

void Trainer::note(const std::string& text) {
  if (surroundings_.log != nullptr) surroundings_.log->info(text);
  if (!first_rank() || surroundings_.screen == nullptr) return;
  if (progress_ != nullptr) {
    progress_->note(text);
  } else {
    std::fprintf(surroundings_.screen, "%s\n", text.c_str());
  }
}

metrics::RunSummary Trainer::summary() const {
  metrics::RunSummary s;
  s.rank = place_.world_rank;
  s.world_size = plan_.shape.world();
  s.steps = step_ - first_step_;
  s.tokens_seen = attempt_tokens_;
  s.loss_sum = loss_sum_;
  s.total_seconds = base::monotonic_seconds() - begin_seconds_;
  s.peak_memory_bytes = ledger_.peak();
  for (const auto& [phase, seconds] : recorder_.phase_seconds()) s.phase_seconds.emplace_back(phase, seconds);
  return s;
}

}  // namespace troika::train
