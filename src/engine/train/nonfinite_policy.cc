#include "train/nonfinite_policy.h"

#include "base/say.h"

namespace troika::train {

NonfinitePolicy::Verdict NonfinitePolicy::judge(const executor::StepResult& result, TrainState* state) {
  using Step = optimizer::LossScale::Step;
  if (result.finite || state->loss_scale.dynamic()) {
    in_row_ = 0;
    state->loss_scale.update(result.finite ? Step::good : Step::overflowed);
    return result.finite ? Verdict{} : overflowed(state);
  }
  if (on_nonfinite_ == config::OnNonfinite::rollback)
    return {state->progress.rolled_back < most_rollbacks ? Action::roll_back : Action::stop, {}, {}};
  if (on_nonfinite_ == config::OnNonfinite::stop || ++in_row_ > most_skipped_in_row) return {Action::stop, {}, {}};
  ++state->progress.skipped;
  return {Action::skip,
          base::say("step {} is skipped: its loss ({}) or gradient norm ({}) is not finite",
                    state->progress.step + 1, result.loss, result.gradient_norm),
          {}};
}

NonfinitePolicy::Verdict NonfinitePolicy::overflowed(TrainState* state) const {
  ++state->progress.skipped;
  const double scale = state->loss_scale.scale();
  const base::Text text =
      base::say("step {} overflows fp16 and is skipped; the loss scale is now {}", state->progress.step + 1, scale);
  return {Action::skip, text, {{"loss_scale", scale}}};
}

RunProgress rolled_back(const RunProgress& saved, const RunProgress& now, std::int64_t global_batch) {
  RunProgress to = saved;
  to.samples = now.samples + global_batch;
  to.rolled_back = now.rolled_back + 1;
  return to;
}

base::Text rolled_back_text(const executor::StepResult& result, const RunProgress& saved, const RunProgress& now,
                            const RunProgress& to) {
  return base::say(
      "step {} has a loss ({}) or gradient norm ({}) that is not finite: back to step {}, skipping the {} samples since then (rollback {} of at most {})",
      now.step + 1, result.loss, result.gradient_norm, to.step, to.samples - saved.samples, to.rolled_back,
      NonfinitePolicy::most_rollbacks);
}

base::Text stopped_text(const executor::StepResult& result, std::int64_t step, StateSaved saved) {
  const base::Text what = base::say("after step {} the loss ({}) or the gradient norm ({}) is not finite",
                                    step + 1, result.loss, result.gradient_norm);
  return base::say(
      "{}; lower --lr, lengthen --warmup-steps or clip harder (--max-grad-norm), and check the data of this step, or use --train.on-nonfinite skip",
      saved == StateSaved::yes ? base::say("{} (step {} is saved)", what, step) : what);
}

}  // namespace troika::train
