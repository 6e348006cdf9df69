#include "bench/report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "base/say.h"
#include "base/units.h"
#include "shape/adapter.h"
#include "shape/segment_costs.h"

namespace troika::bench {

StepWork work_of(const config::ModelSettings& model, const shape::Trained& trained, std::int64_t update_bytes,
                 std::int64_t sequences, std::int64_t seq_len) {
  const auto T = static_cast<double>(seq_len), B = static_cast<double>(sequences);
  const int head = shape::segment_count(model) - 1, first = shape::first_trained_segment(model, trained);
  StepWork work;
  const auto add = [&](const std::vector<shape::ParameterInfo>& parameters, int segment, bool own) {
    for (const shape::ParameterInfo& info : parameters) {
      const auto elements = static_cast<double>(info.elements());
      if (own) work.update_bytes += static_cast<double>(update_bytes) * elements;
      if (info.looked_up_only) continue;
      const bool backward = (segment == 0 ? head : segment) >= first;  // a tied table is multiplied by the head
      work.flops += 2 * elements * B * T * (1 + (backward ? 1 : 0) + (own ? 1 : 0));
    }
  };
  for (int segment = 0; segment <= head; ++segment) {
    add(shape::segment_parameters(model, segment), segment, trained.own(segment));
    if (shape::has_adapters(trained.lora)) add(shape::adapter_parameters(model, trained.lora, segment), segment, true);
    if (segment > 0 && segment < head && shape::block_kind(model, segment).attends())
      work.flops += 2 * static_cast<double>(model.heads * model.head_dim) * T * T * B * (segment >= first ? 3 : 1);
  }
  return work;
}

double ideal_seconds(const StepWork& work, const MachineRates& rates) {
  return work.flops / rates.gemm_flops_per_second + work.update_bytes / rates.triad_bytes_per_second;
}

static double median_after_first(const std::vector<double>& seconds) {
  return base::median({seconds.begin() + 1, seconds.end()});
}

double StepReport::median_seconds() const { return median_after_first(step_seconds); }

// Four significant digits: more would be noise.
static double rounded(double value) { return std::stod(fmt::format("{:.4g}", value)); }

std::string to_json(const StepReport& r) {
  nlohmann::ordered_json json = {
      {"model", r.model},
      {"parameters", r.parameters},
      {"precision", config::word_of(r.precision)},
      {"world", r.world},
      {"threads", r.threads},
      {"batch", r.batch},
      {"micro_batch", r.micro_batch},
      {"seq_len", r.seq_len},
      {"steps", r.step_seconds.size()},
      {"step_seconds", rounded(r.median_seconds())},
      {"tokens_per_second", rounded(r.tokens_per_second())},
      {"ideal_seconds", rounded(ideal_seconds(r.work, r.rates))},
      {"share_of_ideal", rounded(r.share_of_ideal())},
      {"gemm_gflops", rounded(r.rates.gemm_flops_per_second / 1e9)},
      {"triad_gbytes_per_second", rounded(r.rates.triad_bytes_per_second / 1e9)},
      {"peak_rss_mb", r.peak_resident_bytes >> 20},
      {"program_rss_mb", r.program_resident_bytes >> 20},
      {"planned_bytes", r.planned_bytes},
      {"first_step_seconds", rounded(r.first_step_seconds)},
  };
  if (!r.device.empty()) {
    json["device"] = r.device.english;
    json["queued_seconds"] = rounded(median_after_first(r.queued_seconds));
    json["awaited_seconds"] = rounded(median_after_first(r.awaited_seconds));
    json["device_used_peak_bytes"] = r.device_used_peak_bytes;
    json["device_reserved_peak_bytes"] = r.device_reserved_peak_bytes;
  }
  return json.dump() + "\n";
}

std::string to_text(const StepReport& r, base::Language language) {
  const auto [fastest, slowest] = std::minmax_element(r.step_seconds.begin() + 1, r.step_seconds.end());
  const std::string resident = base::format_bytes(r.peak_resident_bytes), planned = base::format_bytes(r.planned_bytes);
  std::vector<base::Text> lines{
      base::say("bench step  {}, {:.1f} M parameters in {}, {} of {}, {} x {} positions per step", r.model,
                static_cast<double>(r.parameters) / 1e6, config::word_of(r.precision),
                base::counted_text(r.world, "rank"), base::counted_text(r.threads, "thread"), r.batch, r.seq_len),
      base::say("  step        {:.4f} s, median of {} after one warm-up step ({:.4f} to {:.4f})", r.median_seconds(),
                r.step_seconds.size() - 1, *fastest, *slowest),
      base::say("  positions/s    {:.0f}", r.tokens_per_second()),
      base::say("  ideal step  {:.4f} s at {:.1f} GF/s and {:.1f} GB/s; the step reaches {:.0f} % of it",
                ideal_seconds(r.work, r.rates), r.rates.gemm_flops_per_second / 1e9,
                r.rates.triad_bytes_per_second / 1e9, 100 * r.share_of_ideal()),
      base::say("  first step  ended {:.2f} s after the process started", r.first_step_seconds)};
  if (r.device.empty()) {
    lines.push_back(base::say("  memory      {} resident at most in one rank, {} planned", resident, planned));
  } else {
    lines.push_back(base::say("  memory      {} resident at most in one rank", resident));
    lines.push_back(
        base::say("  host        {:.4f} s until a step is queued, then {:.4f} s until the device finishes it",
                  median_after_first(r.queued_seconds), median_after_first(r.awaited_seconds)));
    lines.push_back(base::say("  device      {} allocated at most, {} reserved, {} planned; {}",
                              base::format_bytes(r.device_used_peak_bytes),
                              base::format_bytes(r.device_reserved_peak_bytes), planned, r.device));
  }
  return base::lines(lines).in(language) + "\n";
}

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
    text += fmt::format("{:<33} {:<34} {:>6} {:>11.1f} {:>7.1f} {} {:>11.1f} {:>4.0f} % {:>11.3f}\n", row.name.in(language),
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
                        row.name.in(language), row.shape, row.calls, 1e6 * row.seconds, 1e6 * row.host_seconds, row.bytes / 1e6,
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
    text += fmt::format("\"{}\",{},{},{:.3f},{:.3f},{:.0f},{:.0f},{:.3f},{:.4g},{:.6g}\n", row.name.english, row.shape, row.calls,
                        1e6 * row.seconds, 1e6 * row.host_seconds, row.bytes, row.flops, 1e6 * ideal, ideal / row.seconds,
                        1e3 * static_cast<double>(row.calls) * row.seconds);
  }
  return text;
}

std::string to_csv(const std::vector<MeasuredOperation>& rows, const MachineRates& rates) {
  std::string text = "operation,shape,calls,microseconds,rate,unit,ideal_microseconds,share,step_milliseconds\n";
  for (const MeasuredOperation& row : rows) {
    const double ideal = row.ideal_seconds(rates);
    text += fmt::format("\"{}\",{},{},{:.3f},{:.4g},{},{:.3f},{:.4g},{:.6g}\n", row.name.english, row.shape, row.calls,
                        1e6 * row.seconds, rate_of(row), unit_of(row), 1e6 * ideal, ideal / row.seconds,
                        1e3 * static_cast<double>(row.calls) * row.seconds);
  }
  return text;
}

}  // namespace troika::bench
