#include "bench/step_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/say.h"
#include "base/units.h"
#include "bench/timing.h"
#include "shape/adapter.h"
#include "shape/layout.h"
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
    json["device"] = r.device;
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
      base::say("  step        {:.4f} s, median of {} after one that warms up ({:.4f} to {:.4f})", r.median_seconds(),
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
        base::say("  host        {:.4f} s until a step is queued, then {:.4f} s until the device has done it",
                  median_after_first(r.queued_seconds), median_after_first(r.awaited_seconds)));
    lines.push_back(base::say("  device      {} allocated at most, {} reserved, {} planned; {}",
                              base::format_bytes(r.device_used_peak_bytes),
                              base::format_bytes(r.device_reserved_peak_bytes), planned, r.device));
  }
  return base::lines(lines).in(language) + "\n";
}

}  // namespace troika::bench
