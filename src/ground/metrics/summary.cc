#include "metrics/summary.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/say.h"
#include "base/text.h"
#include "base/units.h"

namespace troika::metrics {

using Row = std::pair<base::Text, base::Text>;  // name, value

// Of a use of memory or a phase: what is none of these is an instruction.
static base::Text name_of(const std::string& key) {
  for (const base::Phrase known : {base::Phrase("parameters"), base::Phrase("gradients"), base::Phrase("state", "optimizer"),
                                   base::Phrase("activations"), base::Phrase("saving"), base::Phrase("evaluation"),
                                   base::Phrase("wait"), base::Phrase("other")})
    if (key == known.english()) return base::say(known);
  constexpr std::string_view exchange = " exchange";
  if (base::ends_with(key, exchange))
    return base::say("{} exchange", key.substr(0, key.size() - exchange.size()));
  return base::verbatim(key);
}

static Row phase_row(const std::string& name, double seconds, double total_seconds) {
  const double share = total_seconds > 0 ? 100 * seconds / total_seconds : 0;
  return {name_of(name), base::verbatim(fmt::format("{:>12}  {:5.1f} %", base::format_duration(seconds), share))};
}

static base::Text memory_text(const RunSummary& s) {
  std::vector<base::Text> uses;
  for (const auto& [name, bytes] : s.peak_bytes_by_use)
    uses.push_back(base::say("{} {}", name_of(name), base::format_bytes(bytes)));
  base::Text text = base::verbatim(base::format_bytes(s.peak_memory_bytes));
  if (!uses.empty()) text = base::say("{} ({})", text, base::join(uses, ", ", "，"));
  const std::string resident = base::format_bytes(s.peak_resident_bytes), program = base::format_bytes(s.program_resident_bytes);
  if (s.peak_resident_bytes <= 0) return text;
  if (s.program_resident_bytes <= 0) return base::say("{}, resident {}", text, resident);
  return base::say("{}, resident {} (program {})", text, resident, program);
}

static base::Text valid_text(const ValidSummary& v) {
  const std::string last = fmt::format("{:.6f}", v.last_loss), best = fmt::format("{:.6f}", v.best_loss);
  if (v.best_step == 0) return base::say("{} (step {})", last, v.last_step);
  return base::say("{} (step {}), lowest {} (step {})", last, v.last_step, best, v.best_step);
}

static std::vector<Row> rows_of(const RunSummary& s) {
  const double training_seconds = s.total_seconds - s.evaluation_seconds;
  const double rate = training_seconds > 0 ? static_cast<double>(s.tokens_seen) / training_seconds : 0;
  std::vector<Row> rows = {
      {base::say("rank"), base::say("{} of {}", s.rank, s.world_size)},
      {base::say("steps"), base::verbatim(std::to_string(s.steps))},
      {base::say("tokens seen"), base::say("{} ({:.1f} tokens/s)", s.tokens_seen, rate)},
      {base::say("average loss"),
       s.steps_with_loss > 0 ? base::verbatim(fmt::format("{:.6f}", s.loss_sum / static_cast<double>(s.steps_with_loss)))
                             : base::say("no steps")}};
  if (s.valid.last_step > 0) rows.emplace_back(base::say("valid loss"), valid_text(s.valid));
  if (!s.early_end.empty()) rows.emplace_back(base::say("end"), s.early_end);
  rows.emplace_back(base::say("peak memory"), memory_text(s));
  rows.emplace_back(base::say("time"), base::verbatim(base::format_duration(s.total_seconds)));
  double covered = 0;
  for (const auto& [name, seconds] : s.phase_seconds) {
    rows.push_back(phase_row(name, seconds, s.total_seconds));
    covered += seconds;
  }
  if (!s.phase_seconds.empty())
    rows.push_back(phase_row("other", std::max(0.0, s.total_seconds - covered), s.total_seconds));
  return rows;
}

// A character beyond ASCII takes two: the names are words in English or Chinese.
static std::size_t columns_of(const std::string& text) {
  std::size_t columns = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    columns += byte < 0x80 ? 1 : byte >= 0xc0 ? 2 : 0;
  }
  return columns;
}

std::string format_summary(const RunSummary& summary, base::Language language) {
  const std::vector<Row> rows = rows_of(summary);
  std::size_t width = 0;
  for (const auto& [name, value] : rows) width = std::max(width, columns_of(name.in(language)));
  std::string text = base::say("summary").in(language) + "\n";
  for (const auto& [name, value] : rows) {
    const std::string& shown = name.in(language);
    text += fmt::format("  {}{}  {}\n", shown, std::string(width - columns_of(shown), ' '), value.in(language));
  }
  return text;
}

}  // namespace troika::metrics
