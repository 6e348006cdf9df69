#include "machine/profiles.h"

#include "base/say.h"

namespace troika::machine {
namespace {

constexpr double gib = 1024.0 * 1024 * 1024;
constexpr double product_reuse = 4;  // products read what they need again from caches
constexpr double inside_seconds = 3e-6, network_seconds = 10e-6, call_seconds = 5e-6;

double reached_halves(const Accelerator& a) { return a.half_measured > 0 ? a.half_measured : 0.8 * a.half_sheet; }

// A small computer whose cores compute alike and share its memory's rate.
Host processor(const std::string& name, int cores, double memory_gib, double gflops, double gigabytes,
               Source::Kind source) {
  Host host;
  host.name = host.device = name;
  host.source.kind = source;
  host.cores = cores;
  host.memory_bytes = static_cast<std::int64_t>(memory_gib * gib);
  host.program_bytes = std::int64_t{32} << 20;  // as on x86-64 (docs/memory.md)
  host.alone.fp32 = {gflops * 1e9, gigabytes * 1e9};
  host.alone.bf16 = host.alone.fp16 = host.alone.fp32;  // computed in fp32
  host.alone.set_attention_share(0.6);
  host.alone.between_bytes_per_second = host.alone.stream_bytes_per_second = gigabytes * 1e9;
  host.alone.call_seconds = 20e-6;
  host.rates = host.alone.times(1.0 / cores);
  host.rates.call_seconds = host.alone.call_seconds;
  host.inside = {20e-6, gigabytes * 1e9 / 2};
  return host;
}

const std::vector<Profile>& processors() {
  static const std::vector<Profile> rows = [] {
    const auto published = Source::Kind::published;
    std::vector<Profile> all;
    all.push_back({processor("raspberry-pi-4", 4, 3.3, 22, 2.7, published), {0.2e-3, 939e6 / 8}});
    all.push_back({processor("raspberry-pi-5", 4, 7.3, 62, 4.8, published), {0.2e-3, 938e6 / 8}});
    // Two cores of a server with AVX-512 and bf16 units, as virtual machines have them: docs/benchmarks.md.
    Host cloud = processor("cloud-2-cores", 2, 7.0, 420, 40, Source::Kind::same_hardware);
    cloud.alone.bf16 = {930e9, 40e9};
    cloud.rates.bf16 = {465e9, 20e9};
    cloud.alone.call_seconds = cloud.rates.call_seconds = 6e-6;
    all.push_back({cloud, {0.2e-3, 10e9 / 8}});
    return all;
  }();
  return rows;
}

}  // namespace

Reach fitted_reach() { return {0.8638, 0.1135, 0.7077}; }

Host host_of(const Accelerator& a, int devices, const Reach& reach) {
  Host host;
  host.name = host.device = a.name;
  host.source.kind = Source::Kind::data_sheets;
  host.devices = devices;
  host.memory_bytes = static_cast<std::int64_t>(a.memory_gibibytes * gib);
  host.program_bytes = std::int64_t{1} << 30;  // context, cuBLAS and NCCL
  const double memory = reach.memory * a.memory_gigabytes * 1e9;
  host.rates.fp32 = {reach.products * 0.87 * a.fp32_sheet * 1e12, product_reuse * memory};
  host.rates.bf16 = host.rates.fp16 = {reach.products * reached_halves(a) * 1e12, product_reuse * memory};
  host.rates.set_attention_share(reach.attention);
  host.rates.between_bytes_per_second = host.rates.stream_bytes_per_second = memory;
  host.rates.call_seconds = call_seconds;
  host.alone = host.rates;
  host.peak_fp32 = a.fp32_sheet * 1e12;
  host.peak_half = a.half_sheet * 1e12;
  host.inside = {inside_seconds, reach.links * a.inside_gigabytes * 1e9};
  return host;
}

Link network_of(const Accelerator& a, const Reach& reach) {
  return {network_seconds, reach.links * a.network_gigabits * 1e9 / 8};
}

std::vector<std::string> profile_names() {
  std::vector<std::string> names = accelerator_names();
  for (const Profile& profile : processors()) names.push_back(profile.host.name);
  return names;
}

static base::Text text_of(const Source& source, const std::string& device) {
  switch (source.kind) {
    case Source::Kind::stated:
      return base::verbatim(source.words);
    case Source::Kind::probe:
      return base::say("measured by troika probe");
    case Source::Kind::same_hardware:
      return base::say("measured by troika probe on the same hardware");
    case Source::Kind::data_sheets:
      return base::say("data sheets and published rows of other programs; not measured with Troika");
    case Source::Kind::published:
      return base::say("published figures of others; not measured with Troika");
    case Source::Kind::profile:
      return base::say("rates of the profile {}, per core; `troika probe` measures this host's", device);
    case Source::Kind::scaled_profile:
      return base::say("rates of the profile {}, scaled to a matrix product here; `troika probe` measures all", device);
  }
  return {};
}

base::Text source_of(const Host& host) {
  const base::Text source = text_of(host.source, host.device);
  if (host.calibrating_runs == 0) return source;
  const base::Text runs = base::counted_text(host.calibrating_runs, "run");
  return source.empty() ? base::say("calibrated by {} here", runs) : base::say("{}, calibrated by {} here", source, runs);
}

Source source_called(const std::string& words, const std::string& device) {
  using Kind = Source::Kind;
  for (const Kind kind : {Kind::probe, Kind::same_hardware, Kind::data_sheets, Kind::published, Kind::profile, Kind::scaled_profile})
    if (text_of({kind}, device).english == words) return {kind};
  return {Kind::stated, words};
}

Profile find_profile(const std::string& name) {
  for (const Profile& profile : processors()) {
    if (profile.host.name == name) return profile;
  }
  if (const Accelerator* a = accelerator_called(name))
    return {host_of(*a, a->devices_per_host, fitted_reach()), network_of(*a, fitted_reach())};
  refuse_accelerator(name, base::say("device"), profile_names());
}

}  // namespace troika::machine
