// The part of Trainer that brings a run to where its first step begins.
#include "base/error.h"
#include "base/say.h"
#include "optimizer/optimizer.h"
#include "train/restore.h"
#include "train/trainer.h"
#include "weights/checkpoint_source.h"

namespace troika::train {

RestoreTarget Trainer::restore_target() {
  return {plan_, engine_.place(), engine_.units(), *channels_.world, [this](const base::Text& text) {
            reporter_.note(text);
          }};
}

void Trainer::restore() {
  for (const base::Text& reason : initial_.rejected) reporter_.note(base::say("skipping {}", reason));
  for (const base::Text& text : initial_.notes) reporter_.note(base::say("note: {}", text));
  RunProgress saved;
  if (initial_.found) {  // these two may refuse, so before anything is touched
    saved = progress_of(*initial_.found);
    if (const base::Text text = differences_from(*initial_.found, plan_.settings()); !text.empty())
      reporter_.note(text);
    check_changes(*initial_.found, saved);
  }
  reporter_.begin_rows_after(saved.step);
  if (initial_.source != nullptr) reporter_.tell(0, records::Activity::reading_weights);
  restore_parameters(initial_, restore_target());
  if (initial_.found) resume_from(*initial_.found, saved);
  if (surroundings_.checkpoints) {
    const Checkpoints& checkpoints = *surroundings_.checkpoints;
    saver_ = std::make_unique<Saver>(
        plan_, initial_, SavedRun{checkpoints.attempt.launch, checkpoints.tokenizer, checkpoints.chat_template},
        Saver::Saved{state_, engine_.units(), engine_.place()}, checkpoints.saving, *channels_.saving, engine_.ledger(),
        *surroundings_.streams, surroundings_.listeners.rank_activity);
    saving_ = std::make_unique<SavePolicy>(plan_.settings().checkpoint, *saver_, reporter_,
                                           [this] { before_checkpoint(); },
                                           initial_.found && initial_.same_run ? saved.step : -1);
  }
  initial_.source.reset();
  initial_.adapter.reset();
}

// How many steps there are, and what is not as the checkpoint's run had it.
void Trainer::check_changes(const checkpoint::Found& found, const RunProgress& saved) {
  const config::Settings& settings = plan_.settings();
  const std::int64_t global = plan_.resolved.batch.global;
  const DataPosition at{saved.samples, plan_.data.samples};
  const bool other_batches = saved.samples != saved.step * global && saved.rolled_back == 0;
  if (plan_.epochs_decide && initial_.same_run && other_batches)
    steps_ = steps_of_epochs(settings.train.epochs, at, saved.step, global);
  config::Settings of_checkpoint;
  try {
    of_checkpoint = weights::settings_of(found);
  } catch (const base::ConfigError&) {  // of another version, which differences_from has said
    return;
  }
  if (initial_.same_run && weights::fact_of(found, "data_fingerprint") == plan_.data.fingerprint)
    refuse_other_order(of_checkpoint, settings, at);
  for (const base::Text& text :
       {changed_batch(of_checkpoint, settings, saved.step, steps_), changed_settings(of_checkpoint, settings)})
    if (!text.empty()) reporter_.note(text);
}

void Trainer::resume_from(const checkpoint::Found& found, const RunProgress& saved) {
  state_.progress = saved;
  totals_.first_step = saved.step;
  restore_scale(found, &state_.loss_scale);
  restore_exponents(found, &state_.exponents);
  const bool of_other_samples = engine_.evaluates() && saved.best.on != engine_.evaluation_fingerprint();
  if (of_other_samples || !initial_.same_run) state_.progress.best = {};
  const auto data = found.facts.extra.find("data_fingerprint");
  const bool data_differ = data != found.facts.extra.end() && data->second != plan_.data.fingerprint;
  if (data_differ)
    reporter_.note(
        base::say("the data differ from those this checkpoint was trained on; the run resumes at the same position"));
  const base::Text text = base::say("resumed from step {} ({})", saved.step, found.path);
  reporter_.note(text);
  reporter_.record(records::EventKind::resume, text, {{"data_differ", data_differ ? 1 : 0}});
}

void Trainer::say_where_it_stands() {
  const std::int64_t step = state_.progress.step;
  if (const base::Text early = early_end(); !early.empty()) {
    reporter_.note(base::say("{}; a larger --train.early-stopping-patience resumes from here", early));
  } else if (step >= steps_) {
    reporter_.note(base::say("{}; a larger --steps resumes from here", all_steps_are_done(steps_)));
  } else if (optimizer::changes_nothing(plan_.settings().optimizer, step + 1, steps_, steps_)) {
    const base::Text where = steps_ - step == 1 ? base::say("step {}, the only remaining one", steps_)
                                                : base::say("all steps from {} to {}", step + 1, steps_);
    reporter_.note(
        base::say("note: the learning rate is 0 in {}, so no weight changes: set --lr, --optimizer.min-lr or "
                  "--optimizer.lr-at start",
                  where));
  }
}

}  // namespace troika::train
