// The numbers of a row of metrics.jsonl that curves are made of.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

namespace troika::serve {

enum class Series { loss, valid_loss, grad_norm, lr, tokens_per_second, step_seconds };
inline constexpr std::size_t series_count = 6;
std::string_view word_of(Series series);  // the key of a row
std::optional<Series> series_of(std::string_view word);

struct ScannedRow {
  static constexpr double not_known = std::numeric_limits<double>::quiet_NaN();

  std::int64_t step = 0, tokens_total = 0;
  std::array<double, series_count> values{not_known, not_known, not_known, not_known, not_known, not_known};

  double operator[](Series series) const { return values[static_cast<std::size_t>(series)]; }
};

// As metrics::parse_step_metrics() has it, at a fiftieth of its time for what a run writes; nothing for a line that it refuses.
// `line`: without its newline.
std::optional<ScannedRow> scan_row(std::string_view line);

// Whether the line is JSON of the plain form that runs write, which goes to others as it is.
bool is_plain_row(std::string_view line);

}  // namespace troika::serve
