#include "train/trainer.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/units.h"
#include "checkpoint/checkpoint.h"
#include "config/config.h"
#include "config/profile.h"
#include "metrics/memory.h"
#include "model/decoder.h"
#include "optimizer/learning_rate.h"
#include "schedule/summary.h"
#include "train/checkpoint_facts.h"
#include "train/equal_bits.h"
#include "train/published_config.h"
#include "train/snapshot.h"
#include "train/timeline.h"
#include "train/tokens.h"
#include "train/units.h"

namespace troika::train {

Outcome Trainer::run() {
  set_parameters();
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
  step.first_sample = at_.samples;
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
  if (!result.finite || result.tokens == 0) ++steps_without_loss_;
  stop_ = result.wishes > 0;
  const double seconds = base::monotonic_seconds() - begin;
  advisor_.step_done(seconds, recorder_.phase_seconds());
  valid_.reset();
  if (evaluation_due()) evaluate();
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
  if (valid_) {
    m.extra["valid_loss"] = valid_->loss;
    m.extra["valid_tokens"] = static_cast<double>(valid_->tokens);
  }
  if (writes()) metrics_.append(m);
  if (progress_ != nullptr) progress_->step_done(at_.step, m.loss, m.tokens_per_second, base::monotonic_seconds());
  if (valid_) report_evaluation();
}

Trainer::Trainer(const Plan& plan, const data::Samples& dataset, RankChannels& channels, Surroundings surroundings)
    : Trainer(plan, dataset, channels, surroundings,
              [&plan, device = surroundings.device](const model::Parallelism& parallel) {
                return model::make_segments(plan.model(), plan.resolved.batch.seq_len, device, parallel, {},
                                            plan.trained);
              }) {}

Trainer::Trainer(const Plan& plan, const data::Samples& dataset, RankChannels& channels, Surroundings surroundings,
                 const SegmentMaker& make_segments)
    : plan_(plan),
      settings_(plan.resolved.settings),
      dataset_(dataset),
      channels_(channels),
      surroundings_(std::move(surroundings)),
      place_{channels.world->rank(), plan.shape, mesh::coordinate_of(plan.shape, channels.world->rank())},
      origin_(surroundings_.trial ? Origin{} : find_origin(plan, surroundings_.attempt, *channels.world)),
      recorder_(surroundings_.at),
      evaluation_recorder_(surroundings_.at),
      advisor_(plan, *channels.world, surroundings_.device),
      metrics_(settings_.train.out + "/metrics.jsonl"),
      loss_scale_(settings_.precision) {
  if (plan.shape.tp > 1) tensor_group_ = sharding::TensorGroup(*channels.tp, plan.sequence_parallel());
  if (plan.shape.cp > 1) context_group_ = sharding::ContextGroup(*channels.cp);
  const auto exchanged = [this](double begin, double end) { running_->exchanged_inside(begin, end); };
  tensor_group_.set_on_wait(exchanged);
  context_group_.set_on_wait(exchanged);
  units_ = make_units(plan, place_.at, make_segments({&tensor_group_, &context_group_}), surroundings_.device, ledger_);
  const executor::Channels exchanges{*channels.world, *channels.pp, *channels.replicas};
  executor_ = std::make_unique<executor::Executor>(plan.program, setup(), exchanges, units_, ledger_, recorder_);
  running_ = executor_.get();
  if (surroundings_.valid == nullptr || plan.evaluation.lanes.empty()) return;
  evaluator_ = std::make_unique<Evaluator>(
      plan, plan.evaluation, *surroundings_.valid,
      Computing{place_, exchanges, units_, context_group_, surroundings_.device, ledger_, evaluation_recorder_});
}

Trainer::~Trainer() = default;

executor::Setup Trainer::setup() {
  executor::Setup setup = setup_of(plan_, place_);
  setup.keep = plan_.keep();
  setup.source = [this](std::int64_t step, int microbatch) { return load_tokens(step, microbatch); };
  for (const auto& info : plan_.trained_parameters()) setup.parameter_names.push_back(info.name);
  return setup;
}

void Trainer::set_parameters() {
  for (const std::string& reason : origin_.rejected) note("passed over " + reason);
  Position position;
  if (origin_.found) position = position_of(*origin_.found);  // these two may refuse, so before anything is touched
  if (origin_.found) remark_on(*origin_.found);
  if (first_rank() && writes()) metrics_.cut_after(position.step);
  if (origin_.found) {
    take_over(*origin_.found, position);
  } else {
    begin_anew();
  }
  origin_.source.reset();
  origin_.adapter.reset();
}

void Trainer::begin_anew() {
  if (origin_.source == nullptr || has_adapters()) initialise_trained(units_, settings_.train.seed, init_std());
  if (origin_.adapter != nullptr) take_adapters();
  if (origin_.source != nullptr) return take_weights(*origin_.source);
  initialise_frozen(units_, settings_.train.seed, init_std(), ledger_);
  if (plan_.freezes()) note("what is frozen has random weights: --model.path PATH begins from those of a model");
}

void Trainer::take_adapters() {
  origin_.adapter->load(slices_of(units_, Wanted::all, place_).weights, *channels_.world);
  settle_units(units_, Access::written);
  note(fmt::format("adapters from {}", settings_.lora.path));
}

// What is frozen comes in calls of its own, because it may be filled by way of fp32 memory.
void Trainer::take_weights(ModelSource& source) {
  if (surroundings_.at) surroundings_.at(0, "reading the weights");
  const FillWeights fill = [&](const auto& wanted) { source.load(plan_.model(), wanted, *channels_.world); };
  if (!has_adapters()) {
    fill(slices_of(units_, Wanted::all, place_).weights);
    settle_units(units_, Access::written);
  }
  if (plan_.freezes()) load_frozen(plan_, units_, fill, ledger_);
  note(fmt::format("weights: {} parameters ({}) from {}; this rank read {} of {}",
                   base::format_count(model::parameter_count(plan_.model())), source.dtype(), plan_.model().path,
                   base::format_bytes(source.bytes_read()), base::format_bytes(source.bytes())));
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
  const FillWeights fill = [&](const auto& slices_wanted) { checkpoint::load(found, slices_wanted, *channels_.world); };
  fill(wanted);
  settle_units(units_, Access::written);
  if (has_adapters()) {
    take_weights(*origin_.source);
  } else if (plan_.freezes()) {
    load_frozen(plan_, units_, fill, ledger_);
  }
  at_ = position;
  first_step_ = at_.step;
  if (origin_.goes_on) saved_step_ = at_.step;  // else it may be another run's
  restore_scale(found, &loss_scale_);
  const bool of_other_samples = evaluator_ != nullptr && at_.best.on != surroundings_.valid->fingerprint();
  if (of_other_samples || !origin_.goes_on) at_.best = {};  // likewise
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
  const auto order = settings_.data.shuffle ? data::SampleOrder::shuffled : data::SampleOrder::natural;
  loader_ =
      std::make_unique<data::Loader>(dataset_, data::Sampler(dataset_.samples(), settings_.train.seed, order), plan);
}

// The loader counts steps from 0, the executor from 1.
model::Tokens Trainer::load_tokens(std::int64_t step, int microbatch) {
  return tokens_of(loader_->next(step - 1, microbatch), context_group_, surroundings_.device);
}

void Trainer::record_timeline() {
  const TimelinePlace place{settings_.train.out + "/timeline", surroundings_.host, place_.world_rank,
                            mesh::lane_of(plan_.shape, place_.world_rank)};
  write_timeline(place, at_.step, recorder_.take_events(), *channels_.world);
}

bool Trainer::save_due() const {
  if (surroundings_.trial) return false;
  const std::int64_t every = settings_.checkpoint.every;
  const bool best = valid_ && at_.best.step == at_.step && settings_.checkpoint.keep_best;
  return stop_ || best || (every > 0 && at_.step % every == 0);
}

void Trainer::save() {
  if (surroundings_.at) surroundings_.at(at_.step, "saving a checkpoint");
  checkpoint::SaveRequest request;
  request.root = settings_.train.out + "/checkpoints";
  request.facts.step = at_.step;
  request.facts.settings_yaml = config::to_yaml(settings_);
  request.facts.model_config_json = published_config(plan_.model(), "fp32", origin_.config_json);
  request.facts.extra = facts_of(at_, loss_scale_);
  request.facts.extra["data_fingerprint"] = plan_.data.fingerprint;
  request.facts.extra["tokenizer"] = settings_.data.tokenizer;
  if (!surroundings_.attempt.launch.empty()) request.facts.extra[launch_fact] = surroundings_.attempt.launch;
  request.facts.extra.insert(origin_.facts.begin(), origin_.facts.end());
  request.keep = settings_.checkpoint.keep;
  if (settings_.checkpoint.keep_best && at_.best.step > 0) request.protect = {at_.best.step};
  Slices slices = slices_of(units_, Wanted::owned, place_);
  request.weights = std::move(slices.weights);
  if (!has_adapters()) {
    const std::vector<checkpoint::Slice> frozen = frozen_slices_of(units_, place_);
    request.weights.insert(request.weights.end(), frozen.begin(), frozen.end());
  }
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
  s.steps_with_loss = at_.step - first_step_ - steps_without_loss_;
  s.total_seconds = base::monotonic_seconds() - begin_seconds_;
  s.evaluation_seconds = evaluation_seconds_;
  if (valid_step_ > 0) s.valid = {valid_step_, valid_loss_, at_.best.step, at_.best.loss};
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
  if (evaluation_seconds_ > 0) s.phase_seconds.emplace_back("evaluation", evaluation_seconds_);
  return s;
}

}  // namespace troika::train
