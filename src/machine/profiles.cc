#include "machine/profiles.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "machine/texts.h"

namespace troika::machine {
namespace {

using Bf16 = Accelerator::Bf16;

constexpr double gib = 1024.0 * 1024 * 1024;
constexpr double product_reuse = 4;  // products read what they need again from caches
constexpr double inside_seconds = 3e-6, network_seconds = 10e-6, call_seconds = 5e-6;

double reached_halves(const Accelerator& a) { return a.half_measured > 0 ? a.half_measured : 0.8 * a.half_sheet; }

// A small computer whose cores compute alike and share its memory's rate.
Host processor(const std::string& name, int cores, double memory_gib, double gflops, double gigabytes,
               const std::string& source) {
  Host host;
  host.name = host.device = name;
  host.source = source;
  host.cores = cores;
  host.memory_bytes = static_cast<std::int64_t>(memory_gib * gib);
  host.program_bytes = std::int64_t{32} << 20;  // as on x86-64 (docs/memory.md)
  host.alone.fp32 = {gflops * 1e9, gigabytes * 1e9};
  host.alone.bf16 = host.alone.fp16 = host.alone.fp32;  // computed in fp32
  host.alone.attention_share = 0.6;
  host.alone.between_bytes_per_second = host.alone.stream_bytes_per_second = gigabytes * 1e9;
  host.alone.call_seconds = 20e-6;
  host.rates = host.alone.times(1.0 / cores);
  host.rates.call_seconds = host.alone.call_seconds;
  host.inside = {20e-6, gigabytes * 1e9 / 2};
  return host;
}

const std::vector<Profile>& processors() {
  static const std::vector<Profile> rows = [] {
    const std::string published = std::string(machine_texts.published.english);
    std::vector<Profile> all;
    all.push_back({processor("raspberry-pi-4", 4, 3.3, 22, 2.7, published), {0.2e-3, 939e6 / 8}});
    all.push_back({processor("raspberry-pi-5", 4, 7.3, 62, 4.8, published), {0.2e-3, 938e6 / 8}});
    // Two cores of a server with AVX-512 and bf16 units, as virtual machines have them: docs/benchmarks.md.
    Host cloud = processor("cloud-2-cores", 2, 7.0, 420, 40, std::string(machine_texts.measured_there.english));
    cloud.alone.bf16 = {930e9, 40e9};
    cloud.rates.bf16 = {465e9, 20e9};
    cloud.alone.call_seconds = cloud.rates.call_seconds = 6e-6;
    all.push_back({cloud, {0.2e-3, 10e9 / 8}});
    return all;
  }();
  return rows;
}

}  // namespace

const std::vector<Accelerator>& accelerators() {
  static const std::vector<Accelerator> rows = {
      // name, title, GiB, fp32, halves, measured, bf16, memory GB/s, inside GB/s, network Gbit/s, devices
      {"a100-40", "NVIDIA A100 SXM, 40 GB", 39.4, 19.5, 312, 271, Bf16::yes, 1555, 300, 1600, 8},
      {"a100-80", "NVIDIA A100 SXM, 80 GB", 79.2, 19.5, 312, 271, Bf16::yes, 2039, 300, 1600, 8},
      {"h100", "NVIDIA H100 SXM, 80 GB", 79.2, 67, 989, 794, Bf16::yes, 3350, 450, 3200, 8},
      {"h200", "NVIDIA H200 SXM, 141 GB", 139.8, 67, 989, 790, Bf16::yes, 4800, 450, 3200, 8},
      {"b200", "NVIDIA B200, 180 GB", 178, 75, 2250, 1745, Bf16::yes, 8000, 900, 3200, 8},
      {"l40s", "NVIDIA L40S, 48 GB", 44.5, 91.6, 362, 0, Bf16::yes, 864, 32, 400, 8},
      {"rtx-4090", "NVIDIA GeForce RTX 4090, 24 GB", 23.5, 82.6, 165, 0, Bf16::yes, 1008, 16, 10, 2},
      {"rtx-3090", "NVIDIA GeForce RTX 3090, 24 GB", 23.5, 35.6, 71, 0, Bf16::yes, 936, 16, 10, 2},
      {"v100", "NVIDIA V100 SXM2, 32 GB", 31.7, 15.7, 125, 0, Bf16::no, 900, 150, 400, 8},
      {"t4", "NVIDIA T4, 16 GB", 14.7, 8.1, 65, 0, Bf16::no, 320, 12, 25, 4},
  };
  return rows;
}

Reach fitted_reach() { return {0.9236, 0.1024, 0.6187}; }

Host host_of(const Accelerator& a, int devices, const Reach& reach) {
  Host host;
  host.name = host.device = a.name;
  host.source = machine_texts.data_sheets.english;
  host.devices = devices;
  host.memory_bytes = static_cast<std::int64_t>(a.memory_gibibytes * gib);
  host.program_bytes = std::int64_t{1} << 30;  // context, cuBLAS and NCCL
  const double memory = reach.memory * a.memory_gigabytes * 1e9;
  host.rates.fp32 = {reach.products * 0.87 * a.fp32_sheet * 1e12, product_reuse * memory};
  host.rates.fp16 = {reach.products * reached_halves(a) * 1e12, product_reuse * memory};
  host.rates.bf16 = a.bf16 == Bf16::yes ? host.rates.fp16 : ProductRate{};
  host.rates.attention_share = reach.attention;
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

std::vector<std::string> accelerator_names() {
  std::vector<std::string> names;
  for (const Accelerator& a : accelerators()) names.push_back(a.name);
  return names;
}

// Drivers write "NVIDIA A100-SXM4-80GB", "NVIDIA GeForce RTX 4090", "Tesla T4": every part of the name is a word of it.
const Accelerator* accelerator_called(const std::string& model) {
  std::string title = model;
  for (char& c : title) c = c == '-' ? ' ' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto words = base::split(title, ' ');
  const auto is_there = [&](const std::string& part) {
    return std::any_of(words.begin(), words.end(),
                       [&](const std::string& word) { return word == part || word == part + "gb"; });
  };
  for (const Accelerator& a : accelerators()) {
    const auto parts = base::split(a.name, '-');
    if (std::all_of(parts.begin(), parts.end(), is_there)) return &a;
  }
  return nullptr;
}

std::vector<std::string> profile_names() {
  std::vector<std::string> names = accelerator_names();
  for (const Profile& profile : processors()) names.push_back(profile.host.name);
  return names;
}

static base::Text unknown(base::Origin what, const std::string& name, const std::vector<std::string>& names) {
  const std::string near = base::nearest(name, names);
  return base::say(machine_texts.unknown_flag, what, name,
                   near.empty() ? base::say(machine_texts.names, base::join(names, ", "))
                                : base::say(machine_texts.did_you_mean, near));
}

base::Text source_of(const Host& host) {
  const MachineTexts& t = machine_texts;
  for (const base::Bilingual& known : {t.data_sheets, t.published, t.measured_there, t.probed})
    if (host.source == known.english) return base::say(known);
  const base::Text of_profile = base::say(t.of_profile, host.device);
  return host.source == of_profile.english ? of_profile : base::verbatim(host.source);
}

const Accelerator& find_accelerator(const std::string& name, const std::string& flag) {
  for (const Accelerator& a : accelerators()) {
    if (a.name == name) return a;
  }
  throw base::ConfigError(unknown(flag, name, accelerator_names()));
}

Profile find_profile(const std::string& name) {
  for (const Accelerator& a : accelerators()) {
    if (a.name == name) return {host_of(a, a.devices_per_host, fitted_reach()), network_of(a, fitted_reach())};
  }
  for (const Profile& profile : processors()) {
    if (profile.host.name == name) return profile;
  }
  throw base::ConfigError(unknown(base::say(machine_texts.device), name, profile_names()));
}

}  // namespace troika::machine
