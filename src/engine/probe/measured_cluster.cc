#include "probe/measure_host.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include "base/say.h"
#include "base/units.h"
#include "config/choices.h"
#include "machine/rates.h"
#include "probe/fit.h"

namespace troika::probe {
namespace {

constexpr double a_fifth = 0.2, message_bytes = 256 << 10;

bool near(double a, double b) { return std::abs(a - b) <= a_fifth * std::max(a, b); }

double message_seconds(const machine::Link& link) {
  return link.bytes_per_second > 0 ? link.latency_seconds + message_bytes / link.bytes_per_second : 0;
}

// The seconds that usual kernels take at these rates.
std::vector<double> usual_seconds(const machine::Rates& rates) {
  std::vector<TimedKernel> kernels = block_kernels(config::Precision::fp32);
  for (const auto precision : {config::Precision::fp32, config::Precision::bf16, config::Precision::fp16})
    if (rates.products(precision).flops_per_second > 0)
      for (const TimedKernel& product : product_kernels(precision)) kernels.push_back(product);
  for (const TimedKernel& stream : stream_kernels(config::Precision::fp32, 1 << 22)) kernels.push_back(stream);
  std::vector<double> seconds;
  for (const TimedKernel& kernel : kernels) seconds.push_back(predicted_seconds(rates, kernel));
  return seconds;
}

bool as_fast(const machine::Rates& a, const machine::Rates& b) {
  const std::vector<double> of_a = usual_seconds(a), of_b = usual_seconds(b);
  return of_a.size() == of_b.size() && std::equal(of_a.begin(), of_a.end(), of_b.begin(), near);
}

// "pi" of pi1, pi2: so the planner names the hosts of one entry.
std::string without_number(const std::string& name) {
  std::string stem = name;
  while (!stem.empty() && (std::isdigit(static_cast<unsigned char>(stem.back())) != 0)) stem.pop_back();
  while (!stem.empty() && (stem.back() == '-' || stem.back() == '_')) stem.pop_back();
  return stem.empty() ? "host" : stem;
}

machine::Link slower(const machine::Link& a, const machine::Link& b) {
  return message_seconds(a) >= message_seconds(b) ? a : b;
}

void join(machine::Host& entry, const machine::Host& host) {
  ++entry.count;
  entry.memory_bytes = std::min(entry.memory_bytes, host.memory_bytes);
  entry.program_bytes = std::max(entry.program_bytes, host.program_bytes);
  entry.disk_bytes_per_second = std::min(entry.disk_bytes_per_second, host.disk_bytes_per_second);
  entry.inside = slower(entry.inside, host.inside);
}

std::vector<std::string> names_of_entry(const machine::Host& entry) {
  std::vector<std::string> names;
  for (int copy = 1; copy <= entry.count; ++copy)
    names.push_back(entry.count == 1 ? entry.name : fmt::format("{}{}", entry.name, copy));
  return names;
}

// Entries that represent different hosts get different names.
void make_names_differ(std::vector<machine::Host>& entries) {
  std::set<std::string> taken;
  for (machine::Host& entry : entries) {
    if (entry.count > 1) entry.name = without_number(entry.name);
    const std::string plain = entry.name;
    const auto is_taken = [&taken](const std::string& name) { return taken.count(name) > 0; };
    for (int number = 2;; ++number) {
      const auto names = names_of_entry(entry);
      if (std::none_of(names.begin(), names.end(), is_taken)) break;
      entry.name = fmt::format("{}-{}{}", plain, number, entry.count > 1 ? "-" : "");
    }
    for (const std::string& name : names_of_entry(entry)) taken.insert(name);
  }
}

}  // namespace

bool alike(const machine::Host& a, const machine::Host& b) {
  return a.device == b.device && a.cores == b.cores && a.devices == b.devices &&
         near(static_cast<double>(a.memory_bytes), static_cast<double>(b.memory_bytes)) && as_fast(a.rates, b.rates) &&
         as_fast(a.alone, b.alone);
}

machine::Cluster assemble(const std::vector<machine::Host>& hosts, const std::vector<MeasuredPair>& pairs) {
  machine::Cluster cluster;
  for (const machine::Host& host : hosts) {
    if (!cluster.hosts.empty() && alike(cluster.hosts.back(), host))
      join(cluster.hosts.back(), host);
    else
      cluster.hosts.push_back(host);
  }
  make_names_differ(cluster.hosts);
  std::vector<std::string> names;
  for (const machine::Host& entry : cluster.hosts)
    for (const std::string& name : names_of_entry(entry)) names.push_back(name);
  for (const MeasuredPair& pair : pairs) cluster.network = slower(cluster.network, pair.link);
  for (const MeasuredPair& pair : pairs) {
    if (message_seconds(pair.link) >= message_seconds(cluster.network) / (1 + a_fifth)) continue;
    cluster.pairs.push_back(
        {names.at(static_cast<std::size_t>(pair.from)), names.at(static_cast<std::size_t>(pair.to)), pair.link});
  }
  return cluster;
}

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
                   of_one = host.devices > 0 ? base::say("a device") : base::say("one of {} cores", host.cores);
  std::string text = fmt::format("  {:<26}{:>16}{:>16}\n", "", of_all.in(language), of_one.in(language));
  const auto row = [&](base::Phrase name, const std::string& alone, const std::string& each) {
    text += fmt::format("  {:<26}{:>16}{:>16}\n", name.in(language), alone, each);
  };
  struct Names {
    config::Precision precision;
    base::Phrase products, attention;
  };
  for (const Names& names : {Names{config::Precision::fp32, base::Phrase("products in fp32"), base::Phrase("attention in fp32")},
                             {config::Precision::bf16, base::Phrase("products in bf16"), base::Phrase("attention in bf16")},
                             {config::Precision::fp16, base::Phrase("products in fp16"), base::Phrase("attention in fp16")}}) {
    const machine::PrecisionRates &alone = host.alone.products(names.precision), &each = host.rates.products(names.precision);
    if (each.flops_per_second == 0) continue;
    const auto attention = [](const machine::PrecisionRates& rate) { return machine::format_flops(rate.attention_share * rate.flops_per_second); };
    row(names.products, machine::format_flops(alone.flops_per_second), machine::format_flops(each.flops_per_second));
    row(names.attention, attention(alone), attention(each));
  }
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
    const base::Text off = base::say("{:.0f} % median error, {:.0f} % at most: {}", 100 * e.median,
                                     100 * e.largest, e.worst);
    text += fmt::format("  {:<26}{}\n", name.in(language), off.in(language));
  }
  return text;
}

std::string to_csv(const MeasuredHost& m) {
  std::string text = "kernel,precision,calls,flops,bytes,seconds,predicted,alone_seconds,alone_predicted\n";
  for (std::size_t i = 0; i < m.kernels.size(); ++i) {
    const TimedKernel& kernel = m.kernels[i];
    text += fmt::format("\"{}\",{},{:g},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g},{:.6g}\n", kernel.name.english,
                        config::word_of(kernel.precision), kernel.calls, kernel.work.flops, kernel.work.bytes,
                        m.seconds[i], predicted_seconds(m.host.rates, kernel), m.alone_seconds[i],
                        predicted_seconds(m.host.alone, kernel));
  }
  return text;
}

}  // namespace troika::probe
