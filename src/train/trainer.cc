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
#include "metrics/memory.h"
#include "model/decoder.h"
#include "optimizer/learning_rate.h"
#include "schedule/summary.h"
#include "train/equal_bits.h"
#include "train/snapshot.h"
#include "train/timeline.h"
#include "train/units.h"

namespace troika::train {

Outcome Trainer::run() {
  initialise_units(units_, settings_.train.seed, plan_.model().init_std);
  restore();
  executor_->publish_parameters();
  if (at_.step >= plan_.steps)
    note(fmt::format("all {} steps are done; a larger --steps goes on from here", plan_.steps));
  start_loader();
  if (at_.step < plan_.steps) {
    if (surroundings_.at) surroundings_.at(at_.step, "measuring the link");
    for (const std::string& line : advisor_.before_training()) note(line);
  }
  begin_seconds_ = base::monotonic_seconds();
  if (first_rank() && surroundings_.screen != nullptr) {
    const auto style = metrics::progress_style(settings_.log.progress, surroundings_.screen);
    progress_ = std::make_unique<metrics::Progress>(surroundings_.screen, style, at_.step, plan_.steps, begin_seconds_);
  }
  while (at_.step < plan_.steps && !stop_) {
    train_step();
    if (save_due()) save();
  }
  if (saved_step_ != at_.step && !surroundings_.trial) save();
  if (progress_ != nullptr) progress_->finish();
  for (const std::string& line : advisor_.after_training()) note(line);
  return {stop_ && at_.step < plan_.steps ? Ending::interrupted : Ending::finished, summary(), last_result_};
}

void Trainer::train_step() {
  const double begin = base::monotonic_seconds();
  executor::StepSettings step;
  step.step = at_.step + 1;
  step.update = step.step - at_.skipped;
  step.loss_scale = loss_scale_.scale();
  step.lr = optimizer::learning_rate(settings_.optimizer, step.step, plan_.steps);
  step.clip_norm = settings_.optimizer.clip_norm;
  step.wish = surroundings_.stop_wished && surroundings_.stop_wished() ? 1 : 0;
  const bool recorded = writes() && config::is_profiled(settings_.train.profile, step.step);
  if (recorded) recorder_.keep_events();

  const executor::StepResult result = executor_->run(step);

  settle_scale(result);
  ++at_.step;
  at_.samples += plan_.resolved.batch.global;
  at_.tokens += result.tokens;
  attempt_tokens_ += result.tokens;
  last_result_ = result;
  if (result.finite) loss_sum_ += result.loss;
  if (!result.finite) ++overflowed_;
  stop_ = result.wishes > 0;
  const double seconds = base::monotonic_seconds() - begin;
  advisor_.step_done(seconds, recorder_.phase_seconds());
  report(result, step.loss_scale, seconds);
  if (recorded) record_timeline();
  if (surroundings_.on_step) surroundings_.on_step(at_.step, seconds);
}

// An overflow skips the step; without fp16 there is no scale to blame.
void Trainer::settle_scale(const executor::StepResult& result) {
  if (!result.finite && !loss_scale_.dynamic()) {
    throw base::ConfigError(fmt::format(
        "after step {} the loss ({}) or the gradient norm ({}) is not a finite number; lower --lr, lengthen "
        "--warmup-steps or clip harder (--max-grad-norm), and look at the data of this step",
        at_.step + 1, result.loss, result.gradient_norm));
  }
  using Step = optimizer::LossScale::Step;
  loss_scale_.update(result.finite ? Step::good : Step::overflowed);
  if (result.finite) return;
  ++at_.skipped;
  note(fmt::format("step {} overflows fp16 and is skipped; the loss scale is now {:g}", at_.step + 1,
                   loss_scale_.scale()));
}

void Trainer::report(const executor::StepResult& result, double loss_scale, double seconds) {
  if (!first_rank()) return;
  metrics::StepMetrics m;
  m.step = at_.step;
  m.loss = result.loss;
  m.loss_bits = metrics::bits_of(static_cast<float>(result.loss));
  m.grad_norm = result.gradient_norm;
  m.lr = optimizer::learning_rate(settings_.optimizer, at_.step, plan_.steps);
  m.tokens = result.tokens;
  m.tokens_total = at_.tokens;
  m.step_seconds = seconds;
  m.tokens_per_second = static_cast<double>(result.tokens) / seconds;
  m.memory_bytes = result.memory_bytes;
  if (loss_scale_.dynamic()) {
    m.extra["loss_scale"] = loss_scale;
    m.extra["skipped_steps"] = static_cast<double>(at_.skipped);
  }
  if (writes()) metrics_.append(m);
  if (progress_ != nullptr) progress_->step_done(at_.step, m.loss, m.tokens_per_second, base::monotonic_seconds());
}

Trainer::Trainer(const Plan& plan, const data::Samples& dataset, RankChannels& channels, Surroundings surroundings)
    : Trainer(plan, dataset, channels, surroundings,
              [&plan, device = surroundings.device](const model::Parallelism& parallel) {
                return model::make_segments(plan.model(), plan.resolved.batch.seq_len, device, parallel);
              }) {}

Trainer::Trainer(const Plan& plan, const data::Samples& dataset, RankChannels& channels, Surroundings surroundings,
                 const SegmentMaker& make_segments)
    : plan_(plan),
      settings_(plan.resolved.settings),
      dataset_(dataset),
      channels_(channels),
      surroundings_(std::move(surroundings)),
      place_{channels.world->rank(), plan.shape, mesh::coordinate_of(plan.shape, channels.world->rank())},
      recorder_(surroundings_.at),
      advisor_(plan, *channels.world, surroundings_.device),
      metrics_(settings_.train.out + "/metrics.jsonl"),
      loss_scale_(settings_.precision) {
  if (plan.shape.tp > 1) tensor_group_ = sharding::TensorGroup(*channels.tp, plan.sequence_parallel());
  if (plan.shape.cp > 1) context_group_ = sharding::ContextGroup(*channels.cp);
  const auto exchanged = [this](double begin, double end) { executor_->exchanged_inside(begin, end); };
  tensor_group_.set_on_wait(exchanged);
  context_group_.set_on_wait(exchanged);
  units_ = make_units(plan, place_.at, make_segments({&tensor_group_, &context_group_}), surroundings_.device, ledger_);
  executor_ = std::make_unique<executor::Executor>(
      plan.program, setup(), executor::Channels{*channels.world, *channels.pp, *channels.replicas}, units_, ledger_,
      recorder_);
}

Trainer::~Trainer() = default;

executor::Setup Trainer::setup() {
  const config::Batch& batch = plan_.resolved.batch;
  executor::Setup setup;
  setup.place = place_;
  setup.border.B = batch.micro;
  setup.border.T = plan_.positions(place_.at);
  setup.border.T_whole = batch.seq_len;
  setup.border.rows = plan_.rows(place_.at);
  setup.border.D = plan_.model().hidden;
  setup.border.dtype = plan_.dtype();
  setup.keep = plan_.keep();
  setup.source = [this](std::int64_t step, int microbatch) { return load_tokens(step, microbatch); };
  setup.parameter_names = plan_.parameter_names();
  return setup;
}

void Trainer::restore() {
  const std::string& resume = settings_.train.resume;
  if (resume == "never" || surroundings_.trial) {
    if (first_rank() && writes()) metrics_.cut_after(0);
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
  Position position;
  if (found) position = position_of(*found);  // these two may refuse, so before anything is touched
  if (found) remark_on(*found);
  if (first_rank()) metrics_.cut_after(position.step);
  if (found) take_over(*found, position);
}

void Trainer::remark_on(const checkpoint::Found& found) {
  std::string unlike;
  try {
    unlike =
        unlike_sums(config::settings_from_yaml(found.facts.settings_yaml, found.path + "/manifest.json"), settings_);
  } catch (const base::ConfigError& error) {  // settings of another version
    unlike = fmt::format("the checkpoint's settings cannot be compared with this run's ({})", error.what());
  }
  if (unlike = remark(settings_, unlike); !unlike.empty()) note(unlike);
}

void Trainer::take_over(const checkpoint::Found& found, const Position& position) {
  const Slices slices = slices_of(units_, Wanted::all, place_);
  std::vector<checkpoint::Slice> wanted = slices.weights;
  wanted.insert(wanted.end(), slices.state.begin(), slices.state.end());
  checkpoint::load(found, wanted, *channels_.world);
  settle_units(units_, Access::written);
  at_ = position;
  first_step_ = at_.step;
  if (settings_.train.resume == "auto") saved_step_ = at_.step;  // else it may be another run's
  restore_scale(found, &loss_scale_);
  const auto data = found.facts.extra.find("data_fingerprint");
  if (data != found.facts.extra.end() && data->second != plan_.data.fingerprint)
    note("the data differ from those this checkpoint was trained on; going on at the same position");
  note(fmt::format("resumed from step {} ({})", at_.step, found.path));
}

void Trainer::start_loader() {
  const config::Batch& batch = plan_.resolved.batch;
  data::LoaderPlan plan;
  plan.global_batch = batch.global;
  plan.micro = batch.micro;
  const int lane = plan_.program.lane(place_.at.pp, place_.at.dp);
  for (const auto& i : plan_.program.lanes[static_cast<std::size_t>(lane)]) {
    if (i.kind == schedule::Kind::load) plan.microbatches.push_back(i.microbatch);
  }
  if (plan.microbatches.empty()) return;  // a stage in the middle reads no tokens
  plan.start_step = at_.step;
  plan.start_sample = static_cast<std::uint64_t>(at_.samples);
  plan.prefetch = settings_.data.prefetch;
  loader_ = std::make_unique<data::Loader>(dataset_, data::Sampler(dataset_.samples(), settings_.train.seed), plan);
}

// The loader counts steps from 0, the executor from 1. With context parallelism this rank's positions only.
model::Tokens Trainer::load_tokens(std::int64_t step, int microbatch) {
  const data::TokenBatch batch = loader_->next(step - 1, microbatch);
  const std::vector<std::int64_t> positions = context_group_.positions(batch.length);
  const auto to_device = [&](const std::vector<std::int32_t>& ids) {
    at::Tensor all = at::from_blob(const_cast<std::int32_t*>(ids.data()), {batch.rows, batch.length}, at::kInt);
    if (context_group_.size() > 1) all = all.index_select(1, at::tensor(positions, at::kLong));
    return all.to(at::kLong).flatten().to(surroundings_.device);
  };
  model::Tokens tokens;
  tokens.ids_M = to_device(batch.inputs);
  tokens.targets_M = to_device(batch.targets);
  tokens.targets_M.masked_fill_(tokens.targets_M == data::no_target, -100);
  tokens.B = batch.rows;
  tokens.T = static_cast<std::int64_t>(positions.size());
  tokens.T_whole = batch.length;
  return tokens;
}

void Trainer::record_timeline() {
  const TimelinePlace place{settings_.train.out + "/timeline", surroundings_.host, place_.world_rank,
                            mesh::lane_of(plan_.shape, place_.world_rank)};
  write_timeline(place, at_.step, recorder_.take_events(), *channels_.world);
}

bool Trainer::save_due() const {
  if (surroundings_.trial) return false;
  const std::int64_t every = settings_.checkpoint.every;
  return stop_ || (every > 0 && at_.step % every == 0);
}

void Trainer::save() {
  if (surroundings_.at) surroundings_.at(at_.step, "saving a checkpoint");
  checkpoint::SaveRequest request;
  request.root = settings_.train.out + "/checkpoints";
  request.facts.step = at_.step;
  request.facts.settings_yaml = config::to_yaml(settings_);
  request.facts.model_config_json = model::hugging_face_config(plan_.model());
  request.facts.extra = facts_of(at_, loss_scale_);
  request.facts.extra["data_fingerprint"] = plan_.data.fingerprint;
  request.facts.extra["tokenizer"] = settings_.data.tokenizer;
  request.keep = settings_.checkpoint.keep;
  Slices slices = slices_of(units_, Wanted::owned, place_);
  request.weights = std::move(slices.weights);
  request.state = std::move(slices.state);
  checkpoint::save(request, *channels_.world);
  settle_units(units_, Access::read);
  saved_step_ = at_.step;
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
  s.steps = at_.step - first_step_;
  s.tokens_seen = attempt_tokens_;
  s.loss_sum = loss_sum_;
  s.steps_with_loss = at_.step - first_step_ - overflowed_;
  s.total_seconds = base::monotonic_seconds() - begin_seconds_;
  s.peak_memory_bytes = ledger_.peak();
  using tensor::Use;
  for (const auto& [name, use] : {std::pair{"parameters", Use::parameters},
                                  {"gradients", Use::gradients},
                                  {"state", Use::state},
                                  {"activations", Use::activations}}) {
    s.peak_bytes_by_use.emplace_back(name, ledger_.peak(use));
  }
  s.peak_resident_bytes = metrics::process_memory().peak_resident_bytes;
  for (const auto& [phase, seconds] : recorder_.phase_seconds()) s.phase_seconds.emplace_back(phase, seconds);
  return s;
}

}  // namespace troika::train
