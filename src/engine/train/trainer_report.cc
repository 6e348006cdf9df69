// The part of Trainer that tells people and files how training goes.
#include <fmt/format.h>

#include "base/clock.h"
#include "base/host_name.h"
#include "base/say.h"
#include "base/units.h"
#include "host/memory.h"
#include "optimizer/optimizer.h"
#include "plan/memory_check.h"
#include "train/recorder.h"
#include "train/trainer.h"

namespace troika::train {

void Trainer::report(const executor::StepResult& result, double loss_scale, double seconds) {
  RunRecords* const records = surroundings_.listeners.records;
  if (records != nullptr) records->hold(engine_.ledger());
  if (!reporter_.first_rank()) return;
  const config::Settings& settings = plan_.settings();
  metrics::StepMetrics m;
  m.step = state_.progress.step;
  m.loss = result.loss;
  m.loss_bits = metrics::bits_of(static_cast<float>(result.loss));
  m.grad_norm = result.gradient_norm;
  m.lr = optimizer::learning_rate(settings.optimizer, m.step, steps_);
  m.tokens = result.tokens;
  m.tokens_total = state_.progress.tokens;
  m.step_seconds = seconds;
  m.tokens_per_second = static_cast<double>(result.tokens) / seconds;
  m.memory_bytes = result.memory_bytes;
  m.extra["steps_repeated"] = static_cast<double>(state_.progress.repeated);
  if (const auto memory = engine_.device_memory()) {
    m.extra["gpu_allocated_peak_bytes"] = static_cast<double>(memory->taken.used_peak);
    m.extra["gpu_reserved_peak_bytes"] = static_cast<double>(memory->taken.reserved_peak);
    m.extra["gpu_planned_bytes"] = static_cast<double>(memory->planned.total());
  }
  if (state_.loss_scale.dynamic()) m.extra["loss_scale"] = loss_scale;
  if (state_.loss_scale.dynamic() || settings.train.on_nonfinite == config::OnNonfinite::skip)
    m.extra["skipped_steps"] = static_cast<double>(state_.progress.skipped);
  if (valid_) {
    m.extra["valid_loss"] = valid_->loss;
    m.extra["valid_tokens"] = static_cast<double>(valid_->tokens);
    for (const inference::SourceLoss& source : valid_->sources) {
      m.extra["valid_loss/" + source.name] = source.loss;
      m.extra["valid_tokens/" + source.name] = static_cast<double>(source.tokens);
    }
  }
  reporter_.report(m);
  if (valid_) report_evaluation();
}

void Trainer::report_evaluation() {
  base::Text text =
      base::say("step {}: valid loss {:.6f}, perplexity {:.4g}, over {} tokens in {}", state_.progress.step,
                valid_->loss, valid_->perplexity(), valid_->tokens, base::format_duration(valid_->seconds));
  if (state_.progress.best.step == state_.progress.step) text = base::say("{}; the lowest so far", text);
  std::vector<std::string> sources;
  for (const inference::SourceLoss& source : valid_->sources)
    sources.push_back(fmt::format("{} {:.6f}", source.name, source.loss));
  if (!sources.empty()) text = base::say("{}; by source: {}", text, base::join(sources, ", "));
  reporter_.note(text);
  reporter_.record(records::EventKind::evaluation, text, {{"valid_loss", valid_->loss}});
}

void Trainer::report_device_memory() {
  const auto memory = engine_.device_memory();
  if (!memory) return;
  const plan::Memory& planned = memory->planned;
  const base::Text text =
      base::say("GPU memory: {} allocated at most, {} reserved; planned: {}, {} of it for tensors",
                base::format_bytes(memory->taken.used_peak), base::format_bytes(memory->taken.reserved_peak),
                base::format_bytes(planned.total()), base::format_bytes(planned.total() - planned.program));
  metrics::RunLog* const log = surroundings_.listeners.log;
  if (log != nullptr) log->info(text.english);
  if (plan::took_more(planned, memory->taken.used_peak))
    reporter_.note(base::say("note: the first step used more memory than planned: {}", text));
}

void Trainer::record_timeline() {
  const int rank = engine_.place().world_rank;
  const TimelinePlace place{plan_.settings().train.out + "/timeline", base::host_name(), rank,
                            mesh::grid_rank_of(plan_.shape, rank), forecaster_.link()};
  engine_.await_device();
  write_timeline(place, state_.progress.step, engine_.recorder().take_events(), *channels_.world);
}

Outcome Trainer::finish() {
  const std::int64_t step = state_.progress.step;
  const base::Text early = early_end();
  if (step > totals_.first_step && !early.empty()) reporter_.note(early);
  if (saving_ != nullptr) saving_->save_the_end(position());
  reporter_.ends();
  if (totals_.audits == 1)
    reporter_.note(base::say("1 step was computed twice, with identical bits (train.recompute-audit-every)"));
  if (totals_.audits > 1)
    reporter_.note(
        base::say("{} steps were computed twice, with identical bits (train.recompute-audit-every)", totals_.audits));
  const std::int64_t copied = engine_.ledger().peak(tensor::MemoryUse::snapshot);
  engine_.await_device();
  for (const base::Text& line : forecaster_.after_training(program_resident_bytes_, copied)) reporter_.note(line);
  const bool interrupted = stops() && step < steps_ && !out_of_patience();
  return {interrupted ? Ending::interrupted : Ending::finished, summary(), totals_.last_step, step, steps_, early};
}

metrics::RunSummary Trainer::summary() const {
  const tensor::Ledger& ledger = engine_.ledger();
  metrics::RunSummary s;
  s.rank = engine_.place().world_rank;
  s.world_size = plan_.shape.world();
  s.steps = state_.progress.step - totals_.first_step;
  s.tokens_seen = totals_.tokens;
  s.loss_sum = totals_.loss_sum;
  s.steps_with_loss = s.steps - totals_.steps_without_loss;
  s.total_seconds = base::monotonic_seconds() - totals_.begin_seconds;
  s.evaluation_seconds = totals_.evaluation_seconds;
  const Best& best = state_.progress.best;
  if (totals_.valid_step > 0) s.valid = {totals_.valid_step, totals_.valid_loss, best.step, best.loss};
  s.early_end = early_end();
  s.peak_memory_bytes = ledger.peak();
  using tensor::MemoryUse;
  for (const auto& [name, use] : {std::pair{"parameters", MemoryUse::parameters},
                                  {"gradients", MemoryUse::gradients},
                                  {"state", MemoryUse::state},
                                  {"activations", MemoryUse::activations}}) {
    s.peak_bytes_by_use.emplace_back(name, ledger.peak(use));
  }
  if (const std::int64_t saving = ledger.peak(MemoryUse::snapshot); saving > 0)
    s.peak_bytes_by_use.emplace_back("saving", saving);
  s.peak_resident_bytes = host::process_memory().peak_resident_bytes;
  s.program_resident_bytes = program_resident_bytes_;
  for (const auto& [phase, seconds] : engine_.recorder().phase_seconds()) s.phase_seconds.emplace_back(phase, seconds);
  if (totals_.evaluation_seconds > 0) s.phase_seconds.emplace_back("evaluation", totals_.evaluation_seconds);
  if (saving_ != nullptr && saving_->waited_seconds() > 0)
    s.phase_seconds.emplace_back("saving", saving_->waited_seconds());
  return s;
}

}  // namespace troika::train
