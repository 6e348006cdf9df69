#include "probe/probe_report.h"

#include <fmt/format.h>

#include "base/counted.h"
#include "base/say.h"
#include "base/units.h"
#include "config/choices.h"
#include "machine/rates.h"
#include "probe/fit.h"

namespace troika::probe {
namespace {

base::Text link_shown(const machine::Link& link) {
  return base::say("{} and {}", machine::format_latency(link.latency_seconds),
                   machine::format_byte_rate(link.bytes_per_second));
}

base::Text host_title(const machine::Host& host) {
  const std::string name = host.count > 1 ? fmt::format("{} x {}", host.name, host.count) : host.name;
  std::vector<base::Text> parts{base::say("{}  {}, {}, {} of memory free", name, host.device,
                                          base::counted_text(host.cores, "core"),
                                          base::format_bytes(host.memory_bytes))};
  if (host.devices == 1) parts.push_back(base::say("1 device"));
  if (host.devices > 1) parts.push_back(base::say("{} devices", host.devices));
  if (host.disk_bytes_per_second > 0)
    parts.push_back(base::say("disk {}", machine::format_byte_rate(host.disk_bytes_per_second)));
  return base::join(parts, ", ", "，");
}

std::string host_rows(const machine::Host& host, base::Language language) {
  const base::Text of_all = host.devices > 0 ? base::say("a device") : base::say("all cores"),
                   of_one = host.devices > 0 ? base::say("a device") : base::say("one of {}", host.cores);
  std::string text = fmt::format("  {:<26}{:>16}{:>16}\n", "", of_all.in(language), of_one.in(language));
  const auto row = [&](base::Phrase name, const std::string& alone, const std::string& each) {
    text += fmt::format("  {:<26}{:>16}{:>16}\n", name.in(language), alone, each);
  };
  for (const auto& [name, precision] : {std::pair{base::Phrase("products in fp32"), config::Precision::fp32},
                                        {base::Phrase("products in bf16"), config::Precision::bf16},
                                        {base::Phrase("products in fp16"), config::Precision::fp16}}) {
    const double alone = host.alone.products(precision).flops_per_second,
                 each = host.rates.products(precision).flops_per_second;
    if (each > 0) row(name, machine::format_flops(alone), machine::format_flops(each));
  }
  row(base::Phrase("attention, of that"), fmt::format("{:.2f}", host.alone.attention_share),
      fmt::format("{:.2f}", host.rates.attention_share));
  row(base::Phrase("between products"), machine::format_byte_rate(host.alone.between_bytes_per_second),
      machine::format_byte_rate(host.rates.between_bytes_per_second));
  row(base::Phrase("gradients and optimizer"), machine::format_byte_rate(host.alone.stream_bytes_per_second),
      machine::format_byte_rate(host.rates.stream_bytes_per_second));
  row(base::Phrase("a call"), machine::format_latency(host.alone.call_seconds),
      machine::format_latency(host.rates.call_seconds));
  const auto fact = [&](base::Phrase name, const base::Text& value) {
    text += fmt::format("  {:<26}{}\n", name.in(language), value.in(language));
  };
  fact(base::Phrase("between two processes"), link_shown(host.inside));
  fact(base::Phrase("a process"), base::say("{} beside its tensors", base::format_bytes(host.program_bytes)));
  return text;
}

}  // namespace

std::string to_table(const machine::Cluster& cluster, base::Language language) {
  std::string text;
  for (const machine::Host& host : cluster.hosts)
    text += host_title(host).in(language) + "\n" + host_rows(host, language);
  if (cluster.network.bytes_per_second > 0)
    text += base::say("network  {}", link_shown(cluster.network)).in(language) + "\n";
  for (const machine::PairLink& pair : cluster.pairs)
    text += base::say("  {} and {}  {}", pair.from, pair.to, link_shown(pair.link)).in(language) + "\n";
  return text;
}

std::string describe_fit(const MeasuredHost& measured, base::Language language) {
  std::string text;
  for (const auto& [name, kind] : {std::pair{base::Phrase("products"), KernelKind::product},
                                   {base::Phrase("attention"), KernelKind::attention},
                                   {base::Phrase("between products"), KernelKind::between},
                                   {base::Phrase("gradients and optimizer"), KernelKind::stream}}) {
    const FitErrors e = errors_of(measured.host.rates, measured.kernels, measured.seconds, kind);
    const base::Text off = base::say("{:.0f} % from what was timed in the median, {:.0f} % at most: {}", 100 * e.median,
                                     100 * e.largest, e.worst);
    text += fmt::format("  {:<26}{}\n", name.in(language), off.in(language));
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
