// The part of Trainer about evaluations on data.valid.
#include <fmt/format.h>

#include "base/units.h"
#include "train/trainer.h"

namespace troika::train {

// Who is asked to stop before the last step saves and ends; an evaluation may take long.
bool Trainer::evaluation_due() const {
  const std::int64_t every = settings_.train.eval_every;
  const bool last = at_.step == plan_.steps;
  return evaluator_ != nullptr && (last || (!stop_ && every > 0 && at_.step % every == 0));
}

void Trainer::evaluate() {
  if (surroundings_.at) surroundings_.at(at_.step, "evaluating");
  running_ = &evaluator_->executor();
  valid_ = evaluator_->run(at_.step);
  running_ = executor_.get();
  evaluation_seconds_ += valid_->seconds;
  valid_step_ = at_.step;
  valid_loss_ = valid_->loss;
  if (at_.best.beaten_by(valid_->loss)) at_.best = {at_.step, valid_->loss, surroundings_.valid->fingerprint()};
}

void Trainer::report_evaluation() {
  note(fmt::format("step {}: valid loss {:.6f}, perplexity {:.4g}, over {} tokens in {}{}", at_.step, valid_->loss,
                   valid_->perplexity(), valid_->tokens, base::format_duration(valid_->seconds),
                   at_.best.step == at_.step ? "; the lowest so far" : ""));
}

}  // namespace troika::train
