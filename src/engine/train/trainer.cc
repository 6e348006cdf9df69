#include "train/trainer.h"

#include <fmt/format.h>

#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/say.h"
#include "checkpoint/gather.h"
#include "checkpoint/manifest.h"
#include "config/resolve.h"
#include "optimizer/optimizer.h"

namespace troika::train {

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
      channels_(channels),
      surroundings_(std::move(surroundings)),
      initial_(surroundings_.checkpoints
                   ? find_initial_state(plan, surroundings_.checkpoints->attempt, *channels.world)
                   : InitialState{}),
      state_(plan.settings().precision, names_of(plan.trained_parameters())),
      reporter_(plan.settings(), channels.world->rank(), state_, surroundings_.listeners),
      nonfinite_(plan.settings().train.on_nonfinite),
      steps_(plan.steps),
      engine_(plan, dataset, surroundings_.valid, channels, surroundings_.streams, surroundings_.listeners.rank_activity,
              make_segments),
      forecaster_(plan, channels, *surroundings_.streams, engine_.recorder().phase_seconds(), surroundings_.machine) {}

Trainer::~Trainer() = default;

// Training is the program that `executor_->run(step)` plays (Engine::run): a step is one pass over this rank's list of
// instructions in the plan. All else here happens between two steps.
Outcome Trainer::run() {
  restore();
  begin();
  while (!over()) {
    train_step();
    if (save_due()) saving_->begin(position(), SavePolicy::Until::copied);
    if (saving_ != nullptr) saving_->settle_if_complete(position());
  }
  return finish();
}

void Trainer::begin() {
  engine_.publish_parameters();
  say_where_it_stands();
  engine_.read_from(state_.progress);
  if (!over()) {
    reporter_.tell(state_.progress.step, records::Activity::measuring_link);
    for (const base::Text& line : forecaster_.before_training()) reporter_.note(line);
  }
  totals_.begin_seconds = base::monotonic_seconds();
  if (saving_ != nullptr) saving_->begins(totals_.begin_seconds);
  reporter_.begins(steps_, totals_.begin_seconds);
  if (surroundings_.hooks.on_begin) surroundings_.hooks.on_begin();
  RunRecords* const records = surroundings_.listeners.records;
  if (records != nullptr) records->begins(state_.progress.step, steps_, forecaster_.predicted_seconds());
}

void Trainer::train_step() {
  const double begin = base::monotonic_seconds();
  const config::Settings& settings = plan_.settings();
  executor::StepSettings step;
  step.step = state_.progress.step + 1;
  step.update = step.step - state_.progress.skipped;
  step.loss_scale = state_.loss_scale.scale();
  step.lr = optimizer::learning_rate(settings.optimizer, step.step, steps_);
  step.clip_norm = settings.optimizer.clip_norm;
  step.requests = requests();
  if (saver_ != nullptr) step.saved = saver_->copied();
  const bool recorded = reporter_.writes() && config::is_profiled(settings.train.profile, step.step);
  if (recorded) engine_.recorder().keep_events();

  const executor::StepResult result = run_step(step);
  if (!std::exchange(order_is_proved_, true)) {
    comm::prove_order(channels_);
    report_device_memory();
  }

  using Action = NonfinitePolicy::Action;
  const NonfinitePolicy::Verdict verdict = nonfinite_.judge(result, &state_);
  if (verdict.action == Action::roll_back) return roll_back(result);
  if (verdict.action == Action::stop) stop_at_nonfinite(result);
  if (verdict.action == Action::skip) {
    reporter_.note(verdict.text);
    reporter_.record(records::EventKind::skipped_step, verdict.text, verdict.numbers);
  }
  state_.progress.count(result, plan_.resolved.batch.global);
  totals_.count(result);
  requests_ = result.requests;
  const double seconds = base::monotonic_seconds() - begin;
  forecaster_.step_done(seconds);
  valid_.reset();
  if (evaluation_due()) evaluate();
  reporter_.tell(state_.progress.step, records::Activity::reporting);
  report(result, step.loss_scale, seconds);
  if (recorded) record_timeline();
  if (surroundings_.hooks.on_wait) surroundings_.hooks.on_wait(result.awaited_seconds);
  if (surroundings_.hooks.on_step) surroundings_.hooks.on_step(state_.progress.step, seconds);
}

// The audit comes first, so that what it finds is known before the update.
executor::StepResult Trainer::run_step(executor::StepSettings step) {
  const std::int64_t audit_every = plan_.settings().train.recompute_audit_every;
  if (audit_every > 0 && step.step % audit_every == 0) {
    step.pass = executor::Pass::audit;
    run_in_range(step, Engine::Reading::again);
    step.pass = executor::Pass::audited;
    ++totals_.audits;
  }
  const executor::StepResult result = run_in_range(step, Engine::Reading::ahead);
  if (result.finite) state_.exponents.follow(result.gradient_exponents, step.step);
  return result;
}

// A step whose gradients are larger than their exponents say updates nothing, and is run again with exponents that suffice.
executor::StepResult Trainer::run_in_range(executor::StepSettings step, Engine::Reading reading) {
  step.exponents = state_.exponents.values();
  executor::StepResult result = engine_.run(step, reading);
  if (result.finite && !result.in_range) {
    state_.exponents.raise(result.gradient_exponents);
    ++state_.progress.repeated;
    reporter_.record(records::EventKind::repeated_step,
                     base::say("step {} is repeated: a gradient is larger than its exponent allows", step.step));
    step.exponents = state_.exponents.values();
    result = engine_.run(step, Engine::Reading::again);
    if (!result.finite || !result.in_range)
      throw base::BugError(fmt::format("step {}, run again, has other gradients than before", step.step));
  }
  return result;
}

// Rank 0's clock says when a checkpoint is due by time; all ranks hear of it with the sums of the step.
executor::Requests Trainer::requests() const {
  executor::Requests requests;
  requests.stop = surroundings_.hooks.stop_requested && surroundings_.hooks.stop_requested() ? 1 : 0;
  const bool by_time = reporter_.first_rank() && saving_ != nullptr && saving_->due_by_time(base::monotonic_seconds());
  requests.save = by_time ? 1 : 0;
  return requests;
}

bool Trainer::out_of_patience() const {
  const std::int64_t patience = plan_.settings().train.early_stopping_patience;
  return patience > 0 && engine_.evaluates() && state_.progress.best.stale >= patience;
}

base::Text Trainer::early_end() const {
  if (!out_of_patience() || state_.progress.step >= steps_) return {};
  const Best& best = state_.progress.best;
  const base::Text ended =
      base::say("the run stopped early after step {} of {}: the validation loss did not improve in {} in a row",
                state_.progress.step, steps_, base::counted_text(best.stale, "evaluation"));
  return best.step == 0 ? ended : base::say("{} (lowest {:.6f}, step {})", ended, best.loss, best.step);
}

// Back to the last checkpoint, and on with the data behind this step's.
void Trainer::roll_back(const executor::StepResult& result) {
  if (saving_ != nullptr) saving_->settle(position());
  if (saving_ == nullptr || saving_->saved_step() < 0) stop_at_nonfinite(result);
  const std::string path = fmt::format("{}/checkpoints/{}", plan_.settings().train.out,
                                       checkpoint::step_folder_name(saving_->saved_step()));
  const checkpoint::Found found = checkpoint::open_at(path, *channels_.world);
  const RunProgress saved = progress_of(found);
  const RunProgress to = rolled_back(saved, state_.progress, plan_.resolved.batch.global);
  const base::Text sentence = rolled_back_text(result, saved, state_.progress, to);
  reporter_.note(sentence);
  reporter_.record(records::EventKind::rolled_back, sentence);
  reporter_.tell(to.step, records::Activity::restoring);
  restore_trained(found, restore_target());
  engine_.publish_parameters();
  restore_exponents(found, &state_.exponents);
  state_.progress = to;
  reporter_.begin_rows_after(to.step);
  engine_.read_from(to);
}

// The state is still that of the step before.
void Trainer::stop_at_nonfinite(const executor::StepResult& result) {
  const std::int64_t step = state_.progress.step;
  const bool saved = saving_ != nullptr && step > 0 && saving_->save_now(position());
  throw base::ConfigError(stopped_text(result, step, saved ? StateSaved::yes : StateSaved::no), base::Cause::not_finite);
}

// A run asked to stop before the last step saves and ends; an evaluation may take long.
bool Trainer::evaluation_due() const {
  const std::int64_t every = plan_.settings().train.eval_every, step = state_.progress.step;
  return engine_.evaluates() && (step == steps_ || (!stops() && every > 0 && step % every == 0));
}

void Trainer::evaluate() {
  reporter_.tell(state_.progress.step, records::Activity::evaluating);
  valid_ = engine_.evaluate(state_.progress.step);
  totals_.count(*valid_, state_.progress.step);
  state_.progress.best.evaluated(state_.progress.step, valid_->loss, engine_.evaluation_fingerprint(),
                                 plan_.settings().train.early_stopping_threshold);
}

bool Trainer::save_due() const {
  using Reason = SavePolicy::Reason;
  const bool best = valid_ && state_.progress.best.step == state_.progress.step;
  const Reason reason = requests_.save > 0 ? Reason::asked : best ? Reason::best : Reason::none;
  return saving_ != nullptr && saving_->due(state_.progress.step, reason);
}

// A folder that belongs to another run now is told nothing more of this one.
void Trainer::before_checkpoint() {
  if (surroundings_.checkpoints->look_at_folder) {
    try {
      const auto look = [this] { return records::to_json(records::told(surroundings_.checkpoints->look_at_folder())); };
      for (const std::string& seen : checkpoint::gather(*channels_.world, look))
        if (const base::Text text = said(records::parse_incident(seen)); !text.empty()) reporter_.note(text);
    } catch (const base::ConfigError&) {
      RunRecords* const records = surroundings_.listeners.records;
      if (records != nullptr) records->leave_folder();
      throw;
    }
  }
  engine_.check_state();
}

}  // namespace troika::train
