#include "metrics/summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/units.h"

namespace troika::metrics {

static std::string row(const std::string& name, const std::string& value, std::size_t width) {
  return fmt::format("  {:<{}}  {}\n", name, width, value);
}

static std::string phase_row(const std::string& name, double seconds, double total_seconds, std::size_t width) {
  const double share = total_seconds > 0 ? 100 * seconds / total_seconds : 0;
  return fmt::format("  {:<{}}  {:>12}  {:5.1f} %\n", name, width, base::format_duration(seconds), share);
}

static std::string memory_row(const RunSummary& s, std::size_t width) {
  std::vector<std::string> uses;
  for (const auto& [name, bytes] : s.peak_bytes_by_use) uses.push_back(name + " " + base::format_bytes(bytes));
  std::string text = base::format_bytes(s.peak_memory_bytes);
  if (!uses.empty()) text += " (" + base::join(uses, ", ") + ")";
  if (s.peak_resident_bytes > 0) text += ", resident " + base::format_bytes(s.peak_resident_bytes);
  if (s.program_resident_bytes > 0) text += " (program " + base::format_bytes(s.program_resident_bytes) + ")";
  return row("peak memory", text, width);
}

static std::string valid_text(const ValidSummary& v) {
  const std::string last = fmt::format("{:.6f} (step {})", v.last_loss, v.last_step);
  return v.best_step == 0 ? last : fmt::format("{}, lowest {:.6f} (step {})", last, v.best_loss, v.best_step);
}

std::string format_summary(const RunSummary& s) {
  auto phases = s.phase_seconds;
  double covered = 0;
  for (const auto& [name, seconds] : phases) covered += seconds;
  if (!phases.empty()) phases.emplace_back("other", std::max(0.0, s.total_seconds - covered));
  std::size_t width = std::string("average loss").size();
  for (const auto& [name, seconds] : phases) width = std::max(width, name.size());
  const double training_seconds = s.total_seconds - s.evaluation_seconds;
  const double rate = training_seconds > 0 ? static_cast<double>(s.tokens_seen) / training_seconds : 0;
  std::string text = "summary\n";
  text += row("rank", fmt::format("{} of {}", s.rank, s.world_size), width);
  text += row("steps", fmt::format("{}", s.steps), width);
  text += row("tokens seen", fmt::format("{} ({:.1f} tokens/s)", s.tokens_seen, rate), width);
  text += row(
      "average loss",
      s.steps_with_loss > 0 ? fmt::format("{:.6f}", s.loss_sum / static_cast<double>(s.steps_with_loss)) : "no steps",
      width);
  if (s.valid.last_step > 0) text += row("valid loss", valid_text(s.valid), width);
  if (!s.early_end.empty()) text += row("end", s.early_end, width);
  text += memory_row(s, width);
  text += row("time", base::format_duration(s.total_seconds), width);
  for (const auto& [name, seconds] : phases) text += phase_row(name, seconds, s.total_seconds, width);
  return text;
}

}  // namespace troika::metrics
