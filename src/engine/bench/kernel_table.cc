#include "bench/kernel_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/say.h"

namespace troika::bench {
namespace {

// Columns of both tables.
constexpr base::Phrase operation_head = base::Phrase("operation");
constexpr base::Phrase shape_head = base::Phrase("shape");
constexpr base::Phrase calls_head = base::Phrase("calls");
constexpr base::Phrase rate_head = base::Phrase("rate");
constexpr base::Phrase ideal_head = base::Phrase("ideal us");
constexpr base::Phrase share_head = base::Phrase("share");
constexpr base::Phrase step_head = base::Phrase("ms in step");

// Products are counted in operations, the rest in bytes.
const char* unit_of(const MeasuredOperation& row) { return row.flops > 0 ? "GF/s" : "GB/s"; }
double rate_of(const MeasuredOperation& row) { return (row.flops > 0 ? row.flops : row.bytes) / row.seconds / 1e9; }

}  // namespace

double MeasuredOperation::ideal_seconds(const MachineRates& rates) const {
  return std::max(flops / rates.gemm_flops_per_second, bytes / rates.triad_bytes_per_second);
}

std::string to_table(const std::vector<MeasuredOperation>& rows, const MachineRates& rates, base::Language language) {
  std::string text = fmt::format("{:<33} {:<34} {:>6} {:>11} {:>12} {:>11} {:>6} {:>11}\n", operation_head.in(language),
                                 shape_head.in(language), calls_head.in(language), "us", rate_head.in(language),
                                 ideal_head.in(language), share_head.in(language), step_head.in(language));
  double total = 0, ideal_total = 0;
  for (const MeasuredOperation& row : rows) {
    const double ideal = row.ideal_seconds(rates), calls = static_cast<double>(row.calls);
    text += fmt::format("{:<33} {:<34} {:>6} {:>11.1f} {:>7.1f} {} {:>11.1f} {:>4.0f} % {:>11.3f}\n", row.name,
                        row.shape, row.calls, 1e6 * row.seconds, rate_of(row), unit_of(row), 1e6 * ideal,
                        100 * ideal / row.seconds, 1e3 * calls * row.seconds);
    total += calls * row.seconds;
    ideal_total += calls * ideal;
  }
  return text +
         base::say("all of a step: {:.3f} ms, ideal {:.3f} ms ({:.0f} %) at {:.1f} GF/s and {:.1f} GB/s", 1e3 * total,
                   1e3 * ideal_total, 100 * ideal_total / total, rates.gemm_flops_per_second / 1e9,
                   rates.triad_bytes_per_second / 1e9)
             .in(language) +
         "\n";
}

std::string to_device_table(const std::vector<MeasuredOperation>& rows, const MachineRates& rates, const base::Text& of,
                            base::Language language) {
  std::string text = fmt::format("{:<33} {:<34} {:>6} {:>10} {:>8} {:>9} {:>9} {:>13} {:>10} {:>6} {:>10}\n",
                                 operation_head.in(language), shape_head.in(language), calls_head.in(language), "us",
                                 base::Phrase("host us").in(language), "MB", "GFLOP", rate_head.in(language),
                                 ideal_head.in(language), share_head.in(language), step_head.in(language));
  double total = 0, ideal_total = 0, host_total = 0;
  for (const MeasuredOperation& row : rows) {
    const double ideal = row.ideal_seconds(rates), calls = static_cast<double>(row.calls);
    const std::string rate = row.flops > 0 ? fmt::format("{:.1f} TFLOP/s", row.flops / row.seconds / 1e12)
                                           : fmt::format("{:.0f} GB/s", row.bytes / row.seconds / 1e9);
    text += fmt::format("{:<33} {:<34} {:>6} {:>10.1f} {:>8.1f} {:>9.1f} {:>9.1f} {:>13} {:>10.1f} {:>4.0f} % {:>10.3f}\n",
                        row.name, row.shape, row.calls, 1e6 * row.seconds, 1e6 * row.host_seconds, row.bytes / 1e6,
                        row.flops / 1e9, rate, 1e6 * ideal, 100 * ideal / row.seconds, 1e3 * calls * row.seconds);
    total += calls * row.seconds;
    host_total += calls * row.host_seconds;
    ideal_total += calls * ideal;
  }
  return text +
         base::say(
             "all of a step: {:.3f} ms, queued in {:.3f} ms, ideal {:.3f} ms ({:.0f} %) at {:.1f} TFLOP/s and {:.0f} "
             "GB/s ({})",
             1e3 * total, 1e3 * host_total, 1e3 * ideal_total, 100 * ideal_total / total,
             rates.gemm_flops_per_second / 1e12, rates.triad_bytes_per_second / 1e9, of)
             .in(language) +
         "\n";
}

std::string to_device_csv(const std::vector<MeasuredOperation>& rows, const MachineRates& rates) {
  std::string text =
      "operation,shape,calls,microseconds,host_microseconds,bytes,flops,ideal_microseconds,share,step_milliseconds\n";
  for (const MeasuredOperation& row : rows) {
    const double ideal = row.ideal_seconds(rates);
    text += fmt::format("\"{}\",{},{},{:.3f},{:.3f},{:.0f},{:.0f},{:.3f},{:.4g},{:.6g}\n", row.name, row.shape, row.calls,
                        1e6 * row.seconds, 1e6 * row.host_seconds, row.bytes, row.flops, 1e6 * ideal, ideal / row.seconds,
                        1e3 * static_cast<double>(row.calls) * row.seconds);
  }
  return text;
}

std::string to_csv(const std::vector<MeasuredOperation>& rows, const MachineRates& rates) {
  std::string text = "operation,shape,calls,microseconds,rate,unit,ideal_microseconds,share,step_milliseconds\n";
  for (const MeasuredOperation& row : rows) {
    const double ideal = row.ideal_seconds(rates);
    text += fmt::format("\"{}\",{},{},{:.3f},{:.4g},{},{:.3f},{:.4g},{:.6g}\n", row.name, row.shape, row.calls,
                        1e6 * row.seconds, rate_of(row), unit_of(row), 1e6 * ideal, ideal / row.seconds,
                        1e3 * static_cast<double>(row.calls) * row.seconds);
  }
  return text;
}

}  // namespace troika::bench
