// The part of Trainer that tells people and files how training goes.
#include <fmt/format.h>

#include "base/clock.h"
#include "base/units.h"
#include "host/memory.h"
#include "plan/memory_check.h"
#include "tensor/accelerator.h"
#include "optimizer/learning_rate.h"
#include "train/timeline.h"
#include "train/trainer.h"

namespace troika::train {

void Trainer::start_progress() {
  if (!first_rank() || surroundings_.screen == nullptr) return;
  metrics::Progress::Form form;
  form.style = metrics::progress_style(settings_.log.progress, surroundings_.screen);
  form.stamps = settings_.log.time_stamps ? metrics::Stamps::time_of_day : metrics::Stamps::none;
  if (surroundings_.records != nullptr)
    form.keep = [records = surroundings_.records](const std::string& line) { records->told(line); };
  progress_ = std::make_unique<metrics::Progress>(surroundings_.screen, std::move(form), state_.step, steps_,
                                                  begin_seconds_);
}

void Trainer::report(const executor::StepResult& result, double loss_scale, double seconds) {
  if (!first_rank()) return;
  metrics::StepMetrics m;
  m.step = state_.step;
  m.loss = result.loss;
  m.loss_bits = metrics::bits_of(static_cast<float>(result.loss));
  m.grad_norm = result.gradient_norm;
  m.lr = optimizer::learning_rate(settings_.optimizer, state_.step, steps_);
  m.tokens = result.tokens;
  m.tokens_total = state_.tokens;
  m.step_seconds = seconds;
  m.tokens_per_second = static_cast<double>(result.tokens) / seconds;
  m.memory_bytes = result.memory_bytes;
  m.extra["steps_repeated"] = static_cast<double>(state_.repeated);
  if (const auto memory = device_memory()) {
    m.extra["gpu_allocated_peak_bytes"] = static_cast<double>(memory->used_peak);
    m.extra["gpu_reserved_peak_bytes"] = static_cast<double>(memory->reserved_peak);
    m.extra["gpu_planned_bytes"] = static_cast<double>(planned_on_gpu().total());
  }
  if (loss_scale_.dynamic()) m.extra["loss_scale"] = loss_scale;
  if (loss_scale_.dynamic() || settings_.train.on_nonfinite == config::OnNonfinite::skip)
    m.extra["skipped_steps"] = static_cast<double>(state_.skipped);
  if (valid_) {
    m.extra["valid_loss"] = valid_->loss;
    m.extra["valid_tokens"] = static_cast<double>(valid_->tokens);
    for (const inference::SourceLoss& source : valid_->sources) {
      m.extra["valid_loss/" + source.name] = source.loss;
      m.extra["valid_tokens/" + source.name] = static_cast<double>(source.tokens);
    }
  }
  const std::string trouble = writes() ? metrics_.append(m) : "";
  if (!trouble.empty()) note("note: " + trouble);
  const std::string other_trouble = surroundings_.rows != nullptr ? surroundings_.rows->append(m) : "";
  if (!other_trouble.empty()) note("note: " + other_trouble);
  if (progress_ != nullptr) progress_->step_done(state_.step, m.loss, m.tokens_per_second, base::monotonic_seconds());
  if (valid_) report_evaluation();
}

std::optional<tensor::PoolBytes> Trainer::device_memory() const {
  const tensor::Device& device = surroundings_.streams->device();
  if (device.is_cpu()) return std::nullopt;
  return device.accelerator().memory(device);
}

plan::Memory Trainer::planned_on_gpu() const {
  return plan::memory_in(plan_, mesh::grid_rank_of(plan_.shape, place_.world_rank), plan::Room::Where::gpu);
}

void Trainer::compare_device_memory() {
  const auto memory = device_memory();
  if (!memory) return;
  const plan::Memory planned = planned_on_gpu();
  const std::string text = fmt::format(
      "memory of the GPU: {} allocated at most, {} reserved; planned: {}, of which {} are tensors",
      base::format_bytes(memory->used_peak), base::format_bytes(memory->reserved_peak), base::format_bytes(planned.total()),
      base::format_bytes(planned.total() - planned.program));
  if (surroundings_.log != nullptr) surroundings_.log->info(text);
  if (plan::took_more(planned, memory->used_peak)) note("note: the first step took more than was planned: " + text);
}

void Trainer::report_evaluation() {
  std::string text =
      fmt::format("step {}: valid loss {:.6f}, perplexity {:.4g}, over {} tokens in {}{}", state_.step, valid_->loss,
                  valid_->perplexity(), valid_->tokens, base::format_duration(valid_->seconds),
                  state_.best.step == state_.step ? "; the lowest so far" : "");
  for (const inference::SourceLoss& source : valid_->sources)
    text += fmt::format("{} {} {:.6f}", &source == &valid_->sources.front() ? "; of" : ",", source.name, source.loss);
  note(text);
  record(records::EventKind::evaluation, text, {{"valid_loss", valid_->loss}});
}

void Trainer::record(records::EventKind kind, const std::string& text, const std::map<std::string, double>& numbers,
                     base::Cause cause) {
  if (surroundings_.records != nullptr) surroundings_.records->event(kind, state_.step, text, numbers, cause);
}

void Trainer::record_timeline() {
  const TimelinePlace place{settings_.train.out + "/timeline", surroundings_.host, place_.world_rank,
                            mesh::grid_rank_of(plan_.shape, place_.world_rank), forecaster_.link()};
  recorder_.await_device([this] { check_channels(); });
  write_timeline(place, state_.step, recorder_.take_events(), *channels_.world);
}

void Trainer::tell(std::int64_t step, records::Activity activity) const {
  if (surroundings_.whereabouts != nullptr) surroundings_.whereabouts->at(step, activity);
}

void Trainer::tell_saving(records::Activity activity) const {
  if (surroundings_.whereabouts != nullptr) surroundings_.whereabouts->saves(state_.step, activity);
}

void Trainer::note(const std::string& text) {
  if (surroundings_.log != nullptr) surroundings_.log->info(text);
  if (!first_rank() || surroundings_.screen == nullptr) return;
  if (progress_ != nullptr) {
    progress_->note(text);
  } else {
    std::fprintf(surroundings_.screen, "%s\n", text.c_str());
    if (surroundings_.records != nullptr) surroundings_.records->told(text);
  }
}

metrics::RunSummary Trainer::summary() const {
  metrics::RunSummary s;
  s.rank = place_.world_rank;
  s.world_size = plan_.shape.world();
  s.steps = state_.step - first_step_;
  s.tokens_seen = attempt_tokens_;
  s.loss_sum = loss_sum_;
  s.steps_with_loss = state_.step - first_step_ - steps_without_loss_;
  s.total_seconds = base::monotonic_seconds() - begin_seconds_;
  s.evaluation_seconds = evaluation_seconds_;
  if (valid_step_ > 0) s.valid = {valid_step_, valid_loss_, state_.best.step, state_.best.loss};
  s.early_end = early_end();
  s.peak_memory_bytes = ledger_.peak();
  using tensor::MemoryUse;
  for (const auto& [name, use] : {std::pair{"parameters", MemoryUse::parameters},
                                  {"gradients", MemoryUse::gradients},
                                  {"state", MemoryUse::state},
                                  {"activations", MemoryUse::activations}}) {
    s.peak_bytes_by_use.emplace_back(name, ledger_.peak(use));
  }
  if (const std::int64_t saving = ledger_.peak(MemoryUse::snapshot); saving > 0)
    s.peak_bytes_by_use.emplace_back("saving", saving);
  s.peak_resident_bytes = host::process_memory().peak_resident_bytes;
  s.program_resident_bytes = program_resident_bytes_;
  for (const auto& [phase, seconds] : recorder_.phase_seconds()) s.phase_seconds.emplace_back(phase, seconds);
  if (evaluation_seconds_ > 0) s.phase_seconds.emplace_back("evaluation", evaluation_seconds_);
  if (saving_seconds_ > 0) s.phase_seconds.emplace_back("saving", saving_seconds_);
  return s;
}

}  // namespace troika::train
