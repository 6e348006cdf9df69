#include "probe/probe_report.h"

#include <fmt/format.h>

#include "base/units.h"
#include "config/choices.h"
#include "machine/quantities.h"
#include "probe/fit.h"

namespace troika::probe {
namespace {

std::string link_shown(const machine::Link& link) {
  return fmt::format("{} and {}", machine::format_latency(link.latency_seconds),
                     machine::format_byte_rate(link.bytes_per_second));
}

std::string host_title(const machine::Host& host) {
  std::string text = fmt::format("{}{}  {}, {} core{}, {} of memory free", host.name,
                                 host.count > 1 ? fmt::format(" x {}", host.count) : "", host.device, host.cores,
                                 host.cores == 1 ? "" : "s", base::format_bytes(host.memory_bytes));
  if (host.devices > 0) text += fmt::format(", {} device{}", host.devices, host.devices == 1 ? "" : "s");
  if (host.disk_bytes_per_second > 0)
    text += fmt::format(", disk {}", machine::format_byte_rate(host.disk_bytes_per_second));
  return text + "\n";
}

std::string host_rows(const machine::Host& host) {
  const std::string of_all = host.devices > 0 ? "a device" : "all cores",
                    of_one = host.devices > 0 ? "a device" : fmt::format("one of {}", host.cores);
  std::string text = fmt::format("  {:<26}{:>16}{:>16}\n", "", of_all, of_one);
  const auto row = [&](const char* name, const std::string& alone, const std::string& each) {
    text += fmt::format("  {:<26}{:>16}{:>16}\n", name, alone, each);
  };
  for (const auto& [name, precision] : {std::pair{"products in fp32", config::Precision::fp32},
                                        {"products in bf16", config::Precision::bf16},
                                        {"products in fp16", config::Precision::fp16}}) {
    const double alone = host.alone.products(precision).flops_per_second,
                 each = host.rates.products(precision).flops_per_second;
    if (each > 0) row(name, machine::format_flops(alone), machine::format_flops(each));
  }
  row("attention, of that", fmt::format("{:.2f}", host.alone.attention_share),
      fmt::format("{:.2f}", host.rates.attention_share));
  row("between products", machine::format_byte_rate(host.alone.between_bytes_per_second),
      machine::format_byte_rate(host.rates.between_bytes_per_second));
  row("gradients and optimizer", machine::format_byte_rate(host.alone.stream_bytes_per_second),
      machine::format_byte_rate(host.rates.stream_bytes_per_second));
  row("a call", machine::format_latency(host.alone.call_seconds), machine::format_latency(host.rates.call_seconds));
  text += fmt::format("  between two processes     {}\n", link_shown(host.inside));
  return text +
         fmt::format("  a process                 {} beside its tensors\n", base::format_bytes(host.program_bytes));
}

}  // namespace

std::string to_table(const machine::Cluster& cluster) {
  std::string text;
  for (const machine::Host& host : cluster.hosts) text += host_title(host) + host_rows(host);
  if (cluster.network.bytes_per_second > 0) text += fmt::format("network  {}\n", link_shown(cluster.network));
  for (const machine::PairLink& pair : cluster.pairs)
    text += fmt::format("  {} and {}  {}\n", pair.from, pair.to, link_shown(pair.link));
  return text;
}

std::string describe_fit(const MeasuredHost& measured) {
  std::string text;
  for (const auto& [name, kind] : {std::pair{"products", KernelKind::product},
                                   {"attention", KernelKind::attention},
                                   {"between products", KernelKind::between},
                                   {"gradients and optimizer", KernelKind::stream}}) {
    const FitErrors e = errors_of(measured.host.rates, measured.kernels, measured.seconds, kind);
    text += fmt::format("  {:<26}{:.0f} % from what was timed in the median, {:.0f} % at most: {}\n", name,
                        100 * e.median, 100 * e.largest, e.worst);
  }
  return text;
}

std::string to_csv(const MeasuredHost& m) {
  std::string text = "kernel,precision,calls,flops,bytes,seconds,predicted,alone_seconds,alone_predicted\n";
  for (std::size_t i = 0; i < m.kernels.size(); ++i) {
    const TimedKernel& kernel = m.kernels[i];
    text += fmt::format("\"{}\",{},{:g},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g}\n", kernel.name,
                        config::word_of(kernel.precision), kernel.calls, kernel.work.flops, kernel.work.bytes,
                        m.seconds[i], predicted_seconds(m.host.rates, kernel), m.alone_seconds[i],
                        predicted_seconds(m.host.alone, kernel));
  }
  return text;
}

}  // namespace troika::probe
