// For tests: the metrics of a run of very many steps, written as fast as the disk takes them.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "base/file.h"
#include "metrics/step_metrics.h"

namespace troika::serve {

// Rows of steps 1 to `steps`, 280 bytes each, an evaluation every thousandth.
inline void write_long_run(const std::string& path, std::int64_t steps) {
  constexpr int kinds = 4000;
  std::vector<std::string> before, behind;  // tokens_total, which differ in their surroundings
  for (int i = 1; i <= kinds; ++i) {
    metrics::StepMetrics row;
    const double noise = std::sin(i * 12.9898) * 0.1;
    row.loss = 2 + 6 / std::sqrt(i) + noise;
    row.loss_bits = metrics::bits_of(static_cast<float>(row.loss));
    row.grad_norm = 0.5 + noise;
    row.lr = 3e-4 * (1 + std::cos(i * 0.001)) / 2;
    row.tokens = 65536;
    row.step_seconds = 0.25 + noise / 10;
    row.tokens_per_second = 65536 / row.step_seconds;
    row.memory_bytes = 123456789012;
    row.extra["steps_repeated"] = 0;
    if (i % 1000 == 0) row.extra["valid_loss"] = row.loss + 0.01, row.extra["valid_tokens"] = 262144;
    const std::string line = metrics::to_json(row);
    const std::string total = "\"tokens_total\": ";
    const std::size_t at = line.find(total) + total.size();
    before.push_back(line.substr(line.find(','), at - line.find(',')));
    behind.push_back(line.substr(at + 1) + "\n");
  }
  std::string text;
  for (std::int64_t step = 1; step <= steps; ++step) {
    const auto kind = static_cast<std::size_t>((step - 1) % kinds);
    text += "{\"step\": ";
    text += fmt::format_int(step).c_str();
    text += before[kind];
    text += fmt::format_int(65536 * step).c_str();
    text += behind[kind];
    if (text.size() < (4U << 20) && step < steps) continue;
    base::append_file(path, text);
    text.clear();
  }
}

}  // namespace troika::serve
