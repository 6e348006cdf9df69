#include "train/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/cause.h"
#include "base/clock.h"
#include "base/counted.h"
#include "base/error.h"
#include "checkpoint/gather.h"
#include "checkpoint/manifest.h"
#include "config/profile.h"
#include "inference/batch_tokens.h"
#include "optimizer/learning_rate.h"
#include "plan/rank_work.h"
#include "tensor/tensor.h"
#include "train/restore.h"
#include "train/resumed_settings.h"
#include "train/run_records.h"
#include "weights/checkpoint_metadata.h"
#include "weights/rank_units.h"

namespace troika::train {

static std::vector<std::string> names_of(const std::vector<shape::ParameterInfo>& parameters) {
  std::vector<std::string> names;
  for (const auto& info : parameters) names.push_back(info.name);
  return names;
}

Outcome Trainer::run() {
  restore();
  executor_->publish_parameters();
  say_where_it_stands();
  start_loader();
  if (!over()) {
    tell(state_.step, records::Activity::measuring_link);
    for (const std::string& line : forecaster_.before_training()) note(line);
  }
  begin_seconds_ = last_save_ = base::monotonic_seconds();
  start_progress();
  if (surroundings_.on_begin) surroundings_.on_begin();
  if (surroundings_.records != nullptr) surroundings_.records->begins(state_.step, steps_);
  while (!over()) {
    train_step();
    if (save_due()) begin_save(Saver::Until::copied);
    if (saver_ != nullptr && saver_->complete()) settle_save(next_try());
  }
  if (state_.step > first_step_ && !early_end().empty()) note(early_end());
  if (saver_ != nullptr) save_the_end();
  if (progress_ != nullptr) progress_->finish();
  if (audits_ > 0)
    note(fmt::format("{} step{} computed twice, with equal bits (train.recompute-audit-every)", audits_,
                     audits_ == 1 ? " was" : "s were"));
  const std::int64_t copied = ledger_.peak(tensor::MemoryUse::snapshot);
  recorder_.await_device([this] { check_channels(); });
  for (const std::string& line : forecaster_.after_training(program_resident_bytes_, copied)) note(line);
  const bool interrupted = stop_ && state_.step < steps_ && !out_of_patience();
  const Ending ending = interrupted ? Ending::interrupted : Ending::finished;
  return {ending, summary(), last_result_, state_.step, steps_, early_end()};
}

void Trainer::check_channels() {
  for (const auto* channel : {&channels_.world, &channels_.pp, &channels_.tp, &channels_.cp, &channels_.replicas})
    (*channel)->check();
}

bool Trainer::over() const { return state_.step >= steps_ || stop_ || out_of_patience(); }

bool Trainer::out_of_patience() const {
  const std::int64_t patience = settings_.train.early_stopping_patience;
  return patience > 0 && evaluator_ != nullptr && state_.best.stale >= patience;
}

std::string Trainer::early_end() const {
  if (!out_of_patience() || state_.step >= steps_) return "";
  const Best& best = state_.best;
  return fmt::format("the run ended early after step {} of {}: the validation loss was not lower in {} in a row{}",
                     state_.step, steps_, base::counted(best.stale, "evaluation"),
                     best.step == 0 ? "" : fmt::format(" (lowest {:.6f}, step {})", best.loss, best.step));
}

void Trainer::say_where_it_stands() {
  if (const std::string early = early_end(); !early.empty()) {
    note(early + "; a larger --train.early-stopping-patience resumes from here");
  } else if (state_.step >= steps_) {
    note(all_steps_are_done(steps_) + "; a larger --steps resumes from here");
  } else if (optimizer::changes_nothing(settings_.optimizer, state_.step + 1, steps_, steps_)) {
    note(fmt::format("note: the learning rate is 0 in {}, so no weight changes: set --lr, --optimizer.min-lr or "
                     "--optimizer.lr-at start",
                     steps_ - state_.step == 1 ? fmt::format("step {}, the only one to do", steps_)
                                               : fmt::format("all steps from {} to {}", state_.step + 1, steps_)));
  }
}

void Trainer::train_step() {
  const double begin = base::monotonic_seconds();
  executor::StepSettings step;
  step.step = state_.step + 1;
  step.update = step.step - state_.skipped;
  step.first_sample = state_.samples;
  step.loss_scale = loss_scale_.scale();
  step.lr = optimizer::learning_rate(settings_.optimizer, step.step, steps_);
  step.clip_norm = settings_.optimizer.clip_norm;
  step.requests = requests();
  if (saver_ != nullptr) step.saved = saver_->copied();
  const bool recorded = writes() && config::is_profiled(settings_.train.profile, step.step);
  if (recorded) recorder_.keep_events();

  const executor::StepResult result = run_step(step);
  if (!std::exchange(order_is_proved_, true)) {
    comm::prove_order(channels_);
    compare_device_memory();
  }

  const bool rolls_back = settings_.train.on_nonfinite == config::OnNonfinite::rollback;
  if (!result.finite && !loss_scale_.dynamic() && rolls_back) return roll_back(result);
  judge(result);
  count(result);
  requests_ = result.requests;
  stop_ = requests_.stop > 0;
  const double seconds = base::monotonic_seconds() - begin;
  forecaster_.step_done(seconds);
  valid_.reset();
  if (evaluation_due()) evaluate();
  tell(state_.step, records::Activity::reporting);
  report(result, step.loss_scale, seconds);
  if (surroundings_.records != nullptr) surroundings_.records->hold(ledger_);
  if (recorded) record_timeline();
  if (surroundings_.on_wait) surroundings_.on_wait(result.awaited_seconds);
  if (surroundings_.on_step) surroundings_.on_step(state_.step, seconds);
}

bool Trainer::audit_due(std::int64_t step) const {
  const std::int64_t every = settings_.train.recompute_audit_every;
  return every > 0 && step % every == 0;
}

// The audit comes first, so that what it finds is known before the update.
executor::StepResult Trainer::run_step(executor::StepSettings step) {
  if (audit_due(step.step)) {
    reads_again_ = true;
    step.pass = executor::Pass::audit;
    run_in_range(step);
    reads_again_ = false;
    step.pass = executor::Pass::audited;
    ++audits_;
  }
  const executor::StepResult result = run_in_range(step);
  if (result.finite) exponents_.follow(result.gradient_exponents, step.step);
  return result;
}

// A step whose gradients are larger than their exponents say updates nothing, and is run again with exponents that suffice.
executor::StepResult Trainer::run_in_range(executor::StepSettings step) {
  step.exponents = exponents_.values();
  executor::StepResult result = executor_->run(step);
  if (result.finite && !result.in_range) {
    exponents_.raise(result.gradient_exponents);
    ++state_.repeated;
    record(records::EventKind::repeated_step,
           fmt::format("step {} runs again: a gradient is larger than its exponent allows", step.step));
    step.exponents = exponents_.values();
    const bool read_again = std::exchange(reads_again_, true);
    result = executor_->run(step);
    reads_again_ = read_again;
    if (!result.finite || !result.in_range)
      throw base::BugError(fmt::format("step {}, run again, has other gradients than before", step.step));
  }
  return result;
}

void Trainer::count(const executor::StepResult& result) {
  ++state_.step;
  state_.samples += plan_.resolved.batch.global;
  state_.tokens += result.tokens;
  attempt_tokens_ += result.tokens;
  last_result_ = result;
  if (result.finite) loss_sum_ += result.loss;
  if (!result.finite || result.tokens == 0) ++steps_without_loss_;
}

// What is not finite has updated nothing. With fp16 the loss scale is to blame; without, nothing is.
void Trainer::judge(const executor::StepResult& result) {
  if (!result.finite && !loss_scale_.dynamic()) return skip_nonfinite(result);
  nonfinite_in_row_ = 0;
  using Step = optimizer::LossScale::Step;
  loss_scale_.update(result.finite ? Step::good : Step::overflowed);
  if (result.finite) return;
  ++state_.skipped;
  const std::string text = fmt::format("step {} overflows fp16 and is skipped; the loss scale is now {}",
                                       state_.step + 1, loss_scale_.scale());
  note(text);
  record(records::EventKind::skipped_step, text, {{"loss_scale", loss_scale_.scale()}});
}

void Trainer::skip_nonfinite(const executor::StepResult& result) {
  constexpr std::int64_t most_in_row = 100;
  if (settings_.train.on_nonfinite == config::OnNonfinite::stop || ++nonfinite_in_row_ > most_in_row)
    stop_at_nonfinite(result);
  ++state_.skipped;
  const std::string text = fmt::format("step {} is skipped: its loss ({}) or gradient norm ({}) is not a finite number",
                                       state_.step + 1, result.loss, result.gradient_norm);
  note(text);
  record(records::EventKind::skipped_step, text);
}

// Back to the last checkpoint, and on with the data behind this step's.
void Trainer::roll_back(const executor::StepResult& result) {
  constexpr std::int64_t most = 10;
  settle_save(NextTry::later);
  if (saved_step_ < 0 || state_.rolled_back == most) stop_at_nonfinite(result);
  const std::string path =
      fmt::format("{}/checkpoints/{}", settings_.train.out, checkpoint::step_folder_name(saved_step_));
  const checkpoint::Found found = checkpoint::open_at(path, *channels_.world);
  TrainerState state = trainer_state_of(found);
  state.samples = state_.samples + plan_.resolved.batch.global;
  state.rolled_back = state_.rolled_back + 1;
  const std::string sentence = fmt::format(
      "step {} has a loss ({}) or gradient norm ({}) that is not a finite number: back to step {}, and {} samples "
      "since then are left out (the {}. time of at most {})",
      state_.step + 1, result.loss, result.gradient_norm, state.step, state.samples - trainer_state_of(found).samples,
      state.rolled_back, most);
  note(sentence);
  record(records::EventKind::rolled_back, sentence);
  tell(state.step, records::Activity::restoring);
  restore_trained(found,
                  {plan_, place_, units_, ledger_, *channels_.world, [this](const std::string& text) { note(text); }});
  executor_->publish_parameters();
  restore_exponents(found, &exponents_);
  state_ = state;
  if (first_rank() && writes()) metrics_.cut_after(state_.step);
  if (surroundings_.rows != nullptr) surroundings_.rows->begin_after(state_.step);
  start_loader();
}

// The state is still that of the step before.
void Trainer::stop_at_nonfinite(const executor::StepResult& result) {
  const bool saved = saver_ != nullptr && state_.step > 0 && save_now();
  throw base::ConfigError(fmt::format(
      "after step {} the loss ({}) or the gradient norm ({}) is not a finite number{}; lower --lr, lengthen "
      "--warmup-steps or clip harder (--max-grad-norm), and look at the data of this step, or --train.on-nonfinite "
      "skip",
      state_.step + 1, result.loss, result.gradient_norm,
      saved ? fmt::format(" (step {} is saved)", state_.step) : ""), base::Cause::not_finite);
}

Trainer::Trainer(const plan::Plan& plan, const data::Samples& dataset, comm::RankChannels& channels,
                 Surroundings surroundings)
    : Trainer(plan, dataset, channels, surroundings,
              [&plan, device = surroundings.streams->device()](const model::Parallelism& parallel) {
                return model::make_segments(plan.model(), plan.resolved.batch.seq_len, device, parallel, {},
                                            plan.trained);
              }) {}

Trainer::Trainer(const plan::Plan& plan, const data::Samples& dataset, comm::RankChannels& channels,
                 Surroundings surroundings, const SegmentMaker& make_segments)
    : plan_(plan),
      settings_(plan.resolved.settings),
      dataset_(dataset),
      channels_(channels),
      surroundings_(std::move(surroundings)),
      place_{channels.world->rank(), plan.shape, mesh::coordinate_of(plan.shape, channels.world->rank())},
      initial_(surroundings_.trial ? InitialState{} : find_initial_state(plan, surroundings_.attempt, *channels.world)),
      recorder_(Recorder::Of::training, surroundings_.whereabouts, surroundings_.streams.get()),
      evaluation_recorder_(Recorder::Of::evaluation, surroundings_.whereabouts, surroundings_.streams.get()),
      forecaster_(plan, channels, *surroundings_.streams, recorder_.phase_seconds(), surroundings_.machine),
      metrics_(settings_.train.out + "/metrics.jsonl"),
      loss_scale_(settings_.precision),
      exponents_(names_of(plan.trained_parameters())),
      steps_(plan.steps) {
  if (plan.shape.tp > 1) tensor_group_ = sharding::TensorGroup(*channels.tp, plan.sequence_parallel());
  if (plan.shape.cp > 1) context_group_ = sharding::ContextGroup(*channels.cp);
  units_ = weights::make_units(plan, place_.at, make_segments({&tensor_group_, &context_group_}),
                               *surroundings_.streams, ledger_);
  const executor::Channels exchanges{*channels.world, *channels.pp, *channels.replicas};
  executor_ = std::make_unique<executor::Executor>(plan.program, setup(), exchanges, units_, ledger_, recorder_);
  make_evaluator(exchanges);
  if (surroundings_.whereabouts != nullptr)
    surroundings_.whereabouts->planned(plan::computing_of_step(plan, mesh::grid_rank_of(plan.shape, place_.world_rank)),
                                       place_.at.pp);
}

Trainer::~Trainer() = default;

void Trainer::make_evaluator(const executor::Channels& exchanges) {
  if (surroundings_.valid == nullptr || plan_.evaluation.ranks.empty()) return;
  evaluator_ = std::make_unique<inference::Evaluator>(
      plan_, plan_.evaluation, *surroundings_.valid, surroundings_.valid_sources,
      inference::Computing{place_, exchanges, units_, tensor_group_, context_group_, *surroundings_.streams, ledger_,
                           evaluation_recorder_});
}

executor::Setup Trainer::setup() {
  executor::Setup setup = inference::setup_of(plan_, place_, tensor_group_, context_group_, *surroundings_.streams);
  setup.activations = plan_.saved_activations();
  setup.source = [this](std::int64_t step, int microbatch) { return load_tokens(step, microbatch); };
  setup.parameter_names = names_of(plan_.trained_parameters());
  setup.checksums = executor::checksums_for(settings_.train.checksums, surroundings_.streams->device());
  return setup;
}

void Trainer::restore() {
  for (const std::string& reason : initial_.rejected) note("passed over " + reason);
  for (const std::string& text : initial_.notes) note("note: " + text);
  TrainerState state;
  if (initial_.found) {  // these two may refuse, so before anything is touched
    state = trainer_state_of(*initial_.found);
    if (const std::string text = differences_from(*initial_.found, settings_); !text.empty()) note(text);
    check_changes(*initial_.found, state);
  }
  if (first_rank() && writes()) metrics_.cut_after(state.step);
  if (surroundings_.rows != nullptr) surroundings_.rows->begin_after(state.step);
  if (initial_.source != nullptr) tell(0, records::Activity::reading_weights);
  restore_parameters(
      initial_, {plan_, place_, units_, ledger_, *channels_.world, [this](const std::string& text) { note(text); }});
  if (initial_.found) resume_from(*initial_.found, state);
  if (!surroundings_.trial) {
    const SavedRun run{surroundings_.attempt.launch, surroundings_.tokenizer, surroundings_.chat_template};
    saver_ = std::make_unique<Saver>(plan_, initial_, run, surroundings_.saving, *channels_.saving, ledger_,
                                     *surroundings_.streams, surroundings_.whereabouts);
  }
  initial_.source.reset();
  initial_.adapter.reset();
}

// How many steps there are, and what is not as the checkpoint's run had it.
void Trainer::check_changes(const checkpoint::Found& found, const TrainerState& state) {
  const std::int64_t global = plan_.resolved.batch.global;
  const DataPosition at{state.samples, plan_.data.samples};
  const bool other_batches = state.samples != state.step * global && state.rolled_back == 0;
  if (plan_.epochs_decide && initial_.same_run && other_batches)
    steps_ = steps_of_epochs(settings_.train.epochs, at, state.step, global);
  config::Settings saved;
  try {
    saved = weights::settings_of(found);
  } catch (const base::ConfigError&) {  // of another version, which differences_from has said
    return;
  }
  if (initial_.same_run && weights::fact_of(found, "data_fingerprint") == plan_.data.fingerprint)
    refuse_other_order(saved, settings_, at);
  for (const std::string& text :
       {changed_batch(saved, settings_, state.step, steps_), changed_settings(saved, settings_)})
    if (!text.empty()) note(text);
}

void Trainer::resume_from(const checkpoint::Found& found, const TrainerState& state) {
  state_ = state;
  first_step_ = state_.step;
  if (initial_.same_run) saved_step_ = state_.step;
  restore_scale(found, &loss_scale_);
  restore_exponents(found, &exponents_);
  const bool of_other_samples = evaluator_ != nullptr && state_.best.on != surroundings_.valid->fingerprint();
  if (of_other_samples || !initial_.same_run) state_.best = {};
  const auto data = found.facts.extra.find("data_fingerprint");
  const bool data_differ = data != found.facts.extra.end() && data->second != plan_.data.fingerprint;
  if (data_differ)
    note("the data differ from those this checkpoint was trained on; the run resumes at the same position");
  const std::string text = fmt::format("resumed from step {} ({})", state_.step, found.path);
  note(text);
  record(records::EventKind::resume, text, {{"data_differ", data_differ ? 1 : 0}});
}

void Trainer::start_loader() {
  const config::Batch& batch = plan_.resolved.batch;
  data::LoaderPlan plan;
  plan.global_batch = batch.global;
  plan.micro = batch.micro;
  const int grid_rank = plan_.program.grid_rank(place_.at.pp, place_.at.dp);
  for (const auto& i : plan_.program.ranks[static_cast<std::size_t>(grid_rank)]) {
    if (i.kind == schedule::Kind::load) plan.microbatches.push_back(i.microbatch);
  }
  if (plan.microbatches.empty()) return;  // a stage in the middle reads no tokens
  plan.start_step = state_.step;
  plan.start_sample = static_cast<std::uint64_t>(state_.samples);
  plan.prefetch = settings_.data.prefetch;
  const auto order = settings_.data.shuffle ? data::SampleOrder::shuffled : data::SampleOrder::natural;
  loader_ =
      std::make_unique<data::Loader>(dataset_, data::Sampler(dataset_.samples(), settings_.train.seed, order), plan);
}

// The loader counts steps from 0, the executor from 1.
model::Tokens Trainer::load_tokens(std::int64_t step, int microbatch) {
  const data::TokenBatch batch =
      reads_again_ ? loader_->again(step - 1, microbatch) : loader_->next(step - 1, microbatch);
  return inference::tokens_of(batch, context_group_, surroundings_.streams->device());
}

// Who is asked to stop before the last step saves and ends; an evaluation may take long.
bool Trainer::evaluation_due() const {
  const std::int64_t every = settings_.train.eval_every;
  const bool last = state_.step == steps_;
  return evaluator_ != nullptr && (last || (!stop_ && every > 0 && state_.step % every == 0));
}

void Trainer::evaluate() {
  tell(state_.step, records::Activity::evaluating);
  valid_ = evaluator_->run(state_.step);
  evaluation_seconds_ += valid_->seconds;
  valid_step_ = state_.step;
  valid_loss_ = valid_->loss;
  Best& best = state_.best;
  const bool lower = best.step == 0 ? best.beaten_by(valid_->loss)
                                    : best.loss - valid_->loss > settings_.train.early_stopping_threshold;
  best.stale = lower ? 0 : best.stale + 1;
  if (best.beaten_by(valid_->loss))
    best = {state_.step, valid_->loss, surroundings_.valid->fingerprint(), best.stale};
}

bool Trainer::save_due() const {
  if (saver_ == nullptr) return false;
  const std::int64_t every = settings_.checkpoint.every;
  const bool best = valid_ && state_.best.step == state_.step && settings_.checkpoint.keep_best;
  return best || requests_.save > 0 || (every > 0 && state_.step % every == 0);
}

// Rank 0's clock says when a checkpoint is due by time; all ranks hear of it with the sums of the step.
executor::Requests Trainer::requests() const {
  constexpr double retry_seconds = 60, most_share = 0.02;
  executor::Requests requests;
  requests.stop = surroundings_.stop_requested && surroundings_.stop_requested() ? 1 : 0;
  const double interval = settings_.checkpoint.every_minutes * 60;
  const double pause = save_failed_ ? retry_seconds : std::max(interval, waited_for_save_ / most_share);
  const bool by_time = saver_ != nullptr && !saver_->writing() && (interval > 0 || save_failed_);
  if (first_rank() && by_time && base::monotonic_seconds() - last_save_ >= pause) requests.save = 1;
  return requests;
}

// What belongs to another run now is told nothing more of this one.
void Trainer::look_at_folder() {
  if (!surroundings_.look_at_folder) return;
  try {
    for (const std::string& text : checkpoint::gather(*channels_.world, surroundings_.look_at_folder))
      if (!text.empty()) note(text);
  } catch (const base::ConfigError&) {
    if (surroundings_.records != nullptr) surroundings_.records->leave_folder();
    throw;
  }
}

// One checkpoint is written at a time: a second one waits for the first.
void Trainer::begin_save(Saver::Until until) {
  settle_save(NextTry::now);
  tell_saving(records::Activity::saving);
  look_at_folder();
  last_save_ = base::monotonic_seconds();
  executor_->check_state();
  saver_->begin({state_, loss_scale_, exponents_, units_, place_}, until);
  waited_for_save_ = base::monotonic_seconds() - last_save_;
  saving_seconds_ += waited_for_save_;
}

// Waits for the checkpoint that was begun.
void Trainer::finish_save() {
  const double begin = base::monotonic_seconds();
  tell_saving(records::Activity::finishing_save);
  const Saver::Outcome outcome = saver_->finish();
  saving_seconds_ += base::monotonic_seconds() - begin;
  saved_step_ = outcome.step;
  save_failed_ = false;
  for (const std::string& text : outcome.remarks) note(fmt::format("step {} is saved; {}", outcome.step, text));
  record(records::EventKind::save, fmt::format("step {} is saved", outcome.step),
         {{"saved_step", static_cast<double>(outcome.step)}, {"seconds", outcome.seconds}});
}

Trainer::NextTry Trainer::next_try() const {
  if (!over()) return NextTry::later;
  return settings_.checkpoint.at_end ? NextTry::now : NextTry::never;
}

// What of the run is safe now, and what becomes of the rest.
std::string Trainer::failed_save(const std::string& cause, NextTry next) const {
  const std::string newest = saved_step_ < 0 ? "nothing of the run is saved so far"
                                             : fmt::format("the newest checkpoint is that of step {}", saved_step_);
  std::string then;
  if (next == NextTry::later) {
    const std::int64_t every = settings_.checkpoint.every;
    const std::int64_t due = every > 0 ? (state_.step / every + 1) * every : steps_;
    const std::int64_t at = settings_.checkpoint.at_end ? std::min(due, steps_) : due;
    const bool by_step = every > 0 ? at <= steps_ : settings_.checkpoint.at_end;
    then = fmt::format("the run continues and tries again in a minute{}",
                       by_step ? fmt::format(", or after step {} if that comes first", at) : "");
  } else if (next == NextTry::now) {
    then = fmt::format("the run tries again now, with step {}", state_.step);
  } else {
    then = fmt::format(
        "the run ends without it: free room on that disk, or mend it, and start the same command again, which {}",
        saved_step_ < 0 ? "starts over" : fmt::format("resumes from step {}", saved_step_));
  }
  return fmt::format("step {} could not be saved: {}; {}; {}", saver_->step(), cause, newest, then);
}

// A disk that is full or fails costs this checkpoint and not the run. All ranks hear of it alike; false then.
bool Trainer::settle_save(NextTry next) {
  if (!saver_->writing()) return true;
  try {
    finish_save();
    return true;
  } catch (const base::DataError& error) {
    save_failed_ = true;
    last_save_ = base::monotonic_seconds();
    const std::string text = failed_save(error.what(), next);
    note(text);
    record(records::EventKind::save_failed, text, {}, error.cause());
    return false;
  }
}

bool Trainer::save_now() {
  settle_save(NextTry::now);
  if (saved_step_ == state_.step) return true;
  begin_save(Saver::Until::complete);
  return settle_save(NextTry::never);
}

// What cannot be saved at the end is an error: there is no later try.
void Trainer::save_the_end() {
  settle_save(next_try());
  if (saved_step_ == state_.step || !settings_.checkpoint.at_end) return;
  begin_save(Saver::Until::complete);
  try {
    finish_save();
  } catch (const base::DataError& error) {
    throw base::DataError(failed_save(error.what(), NextTry::never), error.cause());
  }
}

}  // namespace troika::train
