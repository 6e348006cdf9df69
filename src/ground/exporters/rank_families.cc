#include "exporters/openmetrics.h"

#include <algorithm>

namespace troika::exporters {
using Kind = Family::Kind;
using records::Sample;

namespace {

using Samples = std::map<int, Sample>;

std::string rank_text(const Sample& sample) { return std::to_string(sample.rank); }

void add_phases(Exposition& to, const Samples& samples) {
  to.begin({Kind::counter, "troika_phase_seconds", "seconds",
            "What the rank did since the attempt began; wait: it stood still for others."});
  for (const auto& [rank, sample] : samples) {
    for (const auto& [phase, seconds] : sample.phases)
      to.sample(seconds, {{"rank", rank_text(sample)}, {"phase", phase}});
    double waited = 0;
    for (const auto& [instruction, seconds] : sample.waits) waited += seconds;
    to.sample(waited, {{"rank", rank_text(sample)}, {"phase", "wait"}});
  }
  to.begin({Kind::counter, "troika_wait_seconds", "seconds", "Standing still, by the instruction in which."});
  for (const auto& [rank, sample] : samples)
    for (const auto& [instruction, seconds] : sample.waits)
      to.sample(seconds, {{"rank", rank_text(sample)}, {"instruction", instruction}});
  to.begin(
      {Kind::gauge, "troika_compute_seconds", "seconds", "Computing in a step, the median of the last half minute."});
  for (const auto& [rank, sample] : samples)
    if (sample.pace_seconds > 0) to.sample(sample.pace_seconds, {{"rank", rank_text(sample)}});
}

void add_memory(Exposition& to, const Samples& samples) {
  to.begin(
      {Kind::gauge, "troika_memory_bytes", "bytes", "Tensors that the rank holds; activations: the most at once."});
  for (const auto& [rank, sample] : samples)
    for (const auto& [name, bytes] : sample.memory)
      if (name != "resident")
        to.sample(static_cast<double>(bytes),
                  {{"rank", rank_text(sample)}, {"class", name == "state" ? "optimizer" : name}});
  to.begin({Kind::gauge, "troika_resident_memory_bytes", "bytes", "Memory of the rank's process."});
  for (const auto& [rank, sample] : samples)
    if (const auto found = sample.memory.find("resident"); found != sample.memory.end())
      to.sample(static_cast<double>(found->second), {{"rank", rank_text(sample)}});
}

void add_links(Exposition& to, const Samples& samples) {
  to.begin(
      {Kind::counter, "troika_link_bytes", "bytes", "Messages between the rank and a peer since the attempt began."});
  for (const auto& [rank, sample] : samples)
    for (const records::PeerTraffic& peer : sample.traffic)
      for (const auto& [direction, bytes] :
           {std::pair{"sent", peer.sent_bytes}, std::pair{"received", peer.received_bytes}})
        to.sample(static_cast<double>(bytes),
                  {{"rank", rank_text(sample)}, {"peer", std::to_string(peer.peer)}, {"direction", direction}});
  to.begin(
      {Kind::counter, "troika_link_wait_seconds", "seconds", "The rank's waiting for messages from or to a peer."});
  for (const auto& [rank, sample] : samples)
    for (const records::PeerTraffic& peer : sample.traffic)
      to.sample(peer.waited_seconds, {{"rank", rank_text(sample)}, {"peer", std::to_string(peer.peer)}});
}

void add_ages(Exposition& to, const records::RunReader& run, const Samples& samples, double now) {
  using records::Life;
  if (!run.state() || (run.state()->life != Life::preparing && run.state()->life != Life::training)) return;
  to.begin({Kind::gauge, "troika_heartbeat_age_seconds", "seconds", "Since the rank's last sample."});
  for (const auto& [rank, sample] : samples) to.sample(std::max(0.0, now - sample.time), {{"rank", rank_text(sample)}});
  to.begin({Kind::gauge, "troika_sample_interval_seconds", "seconds", "Between two samples of a rank."});
  if (!samples.empty()) to.sample(run.state()->sample_seconds);
}

struct HostFamily {
  Family family;
  double host::Vitals::*value;
  double unit = 1;  // what the value is multiplied by
};

const std::vector<HostFamily>& host_families() {
  using host::Vitals;
  static const std::vector<HostFamily> all = {
      {{Kind::gauge, "troika_host_cores", "", "Cores that the run may use."}, &Vitals::cores},
      {{Kind::gauge, "troika_host_load", "", "Threads that wanted a core in the last minute."}, &Vitals::load},
      {{Kind::gauge, "troika_clock_hertz", "hertz", "Clock of the cores, the mean."}, &Vitals::clock_hertz},
      {{Kind::gauge, "troika_clock_limit_hertz", "hertz", "The highest clock that the cores have."},
       &Vitals::clock_limit_hertz},
      {{Kind::gauge, "troika_temperature_celsius", "celsius", "Of the hottest zone."}, &Vitals::temperature_celsius},
      {{Kind::counter, "troika_thermal_throttles", "", "How often cores were slowed by heat."}, &Vitals::throttles},
      {{Kind::counter, "troika_cpu_throttled_seconds", "seconds", "The control group stood still, its quota used up."},
       &Vitals::quota_throttled_seconds},
      {{Kind::gauge, "troika_memory_limit_bytes", "bytes", "Memory of the host, or of the least control group."},
       &Vitals::memory_bytes},
      {{Kind::gauge, "troika_memory_available_bytes", "bytes", "Of that, what is available."},
       &Vitals::available_bytes},
      {{Kind::gauge, "troika_swap_bytes", "bytes", "Swap of the host."}, &Vitals::swap_bytes},
      {{Kind::gauge, "troika_swap_free_bytes", "bytes", "Of that, what is free."}, &Vitals::swap_free_bytes},
      {{Kind::counter, "troika_swap_in_pages", "", "Pages read back from swap."}, &Vitals::swap_in_pages},
      {{Kind::counter, "troika_memory_kills", "", "Processes killed for want of memory."}, &Vitals::memory_kills},
      {{Kind::gauge, "troika_cpu_pressure_ratio", "ratio", "Of the last 10 s, in which a thread stood for a core."},
       &Vitals::pressure_cpu,
       0.01},
      {{Kind::gauge, "troika_memory_pressure_ratio", "ratio", "Of the last 10 s, in which a thread stood for memory."},
       &Vitals::pressure_memory,
       0.01},
      {{Kind::gauge, "troika_io_pressure_ratio", "ratio", "Of the last 10 s, in which a thread stood for a disk."},
       &Vitals::pressure_io,
       0.01},
      {{Kind::gauge, "troika_disk_free_bytes", "bytes", "Free where the run's folder is."}, &Vitals::disk_free_bytes},
      {{Kind::gauge, "troika_under_voltage", "", "1 while a Raspberry Pi has too little voltage."},
       &Vitals::under_voltage},
  };
  return all;
}

// The newest vitals of each host.
std::map<std::string, host::Vitals> vitals_by_host(const Samples& samples) {
  std::map<std::string, host::Vitals> hosts;
  for (const auto& [rank, sample] : samples)
    if (sample.vitals) hosts.emplace(sample.host, *sample.vitals);
  return hosts;
}

void add_hosts(Exposition& to, const Samples& samples) {
  const std::map<std::string, host::Vitals> hosts = vitals_by_host(samples);
  for (const HostFamily& row : host_families()) {
    to.begin(row.family);
    for (const auto& [host, vitals] : hosts)
      if (const double value = vitals.*row.value; value >= 0) to.sample(value * row.unit, {{"host", host}});
  }
  to.begin({Kind::counter, "troika_link_errors", "", "Errors of network interfaces."});
  for (const auto& [host, vitals] : hosts)
    for (const auto& [interface, errors] : vitals.link_errors)
      to.sample(static_cast<double>(errors), {{"host", host}, {"interface", interface}});
}

}  // namespace

void add_rank_families(Exposition& to, const records::RunReader& run, double now) {
  const Samples samples = records::newest(run);
  add_ages(to, run, samples, now);
  add_phases(to, samples);
  add_memory(to, samples);
  add_links(to, samples);
  add_hosts(to, samples);
}

}  // namespace troika::exporters
