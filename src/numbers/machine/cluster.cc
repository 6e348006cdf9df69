#include "machine/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/say.h"

namespace troika::machine {

int Cluster::host_count() const {
  int count = 0;
  for (const Host& host : hosts) count += host.count;
  return count;
}

int Cluster::device_count() const {
  int count = 0;
  for (const Host& host : hosts) count += host.count * std::max(host.devices, 1);
  return count;
}

Placement::Placement(Cluster cluster, int world, int ranks_per_host) : cluster_(std::move(cluster)) {
  for (std::size_t kind = 0; kind < cluster_.hosts.size(); ++kind) {
    const Host& host = cluster_.hosts[kind];
    const int devices = std::max(host.devices, 1);
    const int most = ranks_per_host == 0 ? devices : ranks_per_host;
    if (!host.computes_on_cores() && most > host.devices)
      throw base::ConfigError(base::say("{0} ranks per host exceed the {1} devices of {2}", ranks_per_host, host.devices, host.name));
    for (int copy = 0; copy < host.count && this->world() < world; ++copy) {
      const int here = std::min(most, world - this->world());
      host_of_rank_.insert(host_of_rank_.end(), static_cast<std::size_t>(here), hosts());
      kind_of_host_.push_back(kind);
      ranks_on_.push_back(here);
      names_.push_back(host.count == 1 ? host.name : fmt::format("{}{}", host.name, copy + 1));
    }
  }
  if (this->world() < world)
    throw base::ConfigError(base::say("{} no slot: the cluster has {} for {}",
                                      base::counted_text(world - this->world(), "rank has", "ranks have"),
                                      base::say("{} host{}", cluster_.host_count(),
                                                base::in_english_only(cluster_.host_count() == 1 ? "" : "s")),
                                      this->world()));
}

bool Placement::uniform() const {
  const bool one_kind = std::all_of(kind_of_host_.begin(), kind_of_host_.end(),
                                    [&](std::size_t kind) { return kind == kind_of_host_.front(); });
  const bool equally_many =
      std::all_of(ranks_on_.begin(), ranks_on_.end(), [&](int ranks) { return ranks == ranks_on_.front(); });
  return one_kind && equally_many && cluster_.pairs.empty();
}

int Placement::threads_of(int rank) const {
  const Host& host = kind_of_rank(rank);
  return host.computes_on_cores() ? std::max(1, host.cores / ranks_on(host_of(rank))) : 1;
}

Rates Placement::rates_of(int rank) const {
  const Host& host = kind_of_rank(rank);
  if (!host.computes_on_cores()) return host.rates;
  if (ranks_on(host_of(rank)) == 1) return host.alone;
  Rates rates = host.rates.times(threads_of(rank));
  rates.call_seconds = host.rates.call_seconds;
  return rates;
}

double Placement::peak_flops(config::Precision precision) const {
  double sum = 0;
  for (int host = 0; host < hosts(); ++host) {
    const Host& kind = kind_of(host);
    const double sheet = precision == config::Precision::fp32 ? kind.peak_fp32 : kind.peak_half;
    if (sheet > 0)
      sum += sheet * ranks_on(host);
    else
      sum += kind.computes_on_cores() ? kind.alone.products(precision).flops_per_second
                                      : kind.rates.products(precision).flops_per_second * ranks_on(host);
  }
  return sum;
}

std::int64_t Placement::memory_of(int rank) const {
  const Host& host = kind_of_rank(rank);
  return host.computes_on_cores() ? host.memory_bytes / ranks_on(host_of(rank)) : host.memory_bytes;
}

int Placement::at_once(int host) const {
  const Host& kind = kind_of(host);
  return kind.computes_on_cores() ? std::min(ranks_on(host), kind.cores) : ranks_on(host);
}

Link Placement::between(int host, int other) const {
  const std::string &a = names_.at(static_cast<std::size_t>(host)), &b = names_.at(static_cast<std::size_t>(other));
  for (const PairLink& pair : cluster_.pairs) {
    if ((pair.from == a && pair.to == b) || (pair.from == b && pair.to == a)) return pair.link;
  }
  return cluster_.network;
}

Link Placement::slowest_between(int first_host, int end_host) const {
  Link slowest = cluster_.network;
  if (cluster_.pairs.empty()) return slowest;
  bool first = true;
  for (int a = first_host; a < end_host; ++a) {
    for (int b = a + 1; b < end_host; ++b) {
      const Link link = between(a, b);
      if (first) slowest = link;
      first = false;
      slowest.latency_seconds = std::max(slowest.latency_seconds, link.latency_seconds);
      slowest.bytes_per_second = std::min(slowest.bytes_per_second, link.bytes_per_second);
    }
  }
  return slowest;
}

}  // namespace troika::machine
