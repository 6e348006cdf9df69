#include "plan/device.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "machine/profiles.h"
#include "shape/adapter.h"
#include "shape/layout.h"

namespace troika::plan {
namespace {

using Build = CudaHere::Build;
using config::DeviceKind;

base::Text plural(int devices) { return base::in_english_only(devices == 1 ? "" : "s"); }

[[noreturn]] void refuse_device(const std::string& device, const base::Text& why) {
  throw base::ConfigError(base::say("train.device is '{}', but {}", device, why));
}

void check_build(const std::string& device, const CudaHere& here) {
  if (here.build == Build::without_cuda) refuse_device(device, base::say("this build has no CUDA back end; use --device cpu"));
}

void check_presence(const std::string& device, const CudaHere& here) {
  if (here.devices && *here.devices > 0) return;
  if (here.driver == host::NvidiaDriver::absent) refuse_device(device, base::say("this machine has no NVIDIA driver (/proc/driver/nvidia/version is missing); install it, or use --device cpu"));
  if (here.driver_version && here.cuda) {  // CUDA finds no device below a driver that is too old
    if (const auto lack = machine::lack_of_driver(*here.driver_version, *here.cuda)) refuse_device(device, *lack);
  }
  if (!here.missing.english.empty()) refuse_device(device, here.missing);
  if (here.devices) refuse_device(device, base::say("the NVIDIA driver of this machine reports 0 devices; check nvidia-smi and CUDA_VISIBLE_DEVICES, or use --device cpu"));
}

void check_number(const std::string& device, int devices) {
  std::int64_t number = 0;
  if (!base::parse_int(device.substr(device.find(':') + 1), &number) || number < devices) return;
  refuse_device(device, base::say("this host has {} CUDA device{}; the last is cuda:{}", devices, plural(devices), devices - 1));
}

void check_sharing(const std::string& device, const RanksOfHost& ranks, int devices) {
  if (ranks.backend == config::Backend::gloo) return;
  if (device.find(':') != std::string::npos && ranks.count > 1)
    refuse_device(device, base::say("{} ranks of this host would share it; use --device cuda, or let them share over gloo with --comm.backend gloo", ranks.count));
  if (ranks.count > devices)
    throw base::ConfigError(base::say("this host has {} CUDA device{} for {} ranks; use --nproc-per-node {}, or let ranks share a device over gloo with --comm.backend gloo, or --device cpu", devices, plural(devices), ranks.count, devices));
}

}  // namespace

void check_device(const std::string& device, const RanksOfHost& ranks, const CudaHere& here) {
  const DeviceKind kind = config::word_or(device, DeviceKind::numbered);
  if (kind == DeviceKind::cpu) return;
  if (kind == DeviceKind::automatic) {
    const bool on_cpu = here.build == Build::without_cuda || here.devices.value_or(0) == 0;
    if (on_cpu || here.build == Build::unknown) return;
  }
  check_build(device, here);
  check_presence(device, here);
  if (here.capability) {
    if (const auto lack = machine::lack_of_card(*here.capability)) refuse_device(device, *lack);
  }
  if (!here.devices) return;
  if (kind == DeviceKind::numbered) check_number(device, *here.devices);
  check_sharing(device, ranks, *here.devices);
}

// Rates from the accelerators' data sheets. Measured on an H200: a copy of a large array, and products of 8192 x 8192
// matrices by cuBLAS, which ran at 770 to 800.
const std::vector<DeviceRates>& all_device_rates() {
  static const std::vector<DeviceRates> rates = [] {
    std::vector<DeviceRates> all{{"h200", 790e12, 4.3e12, base::say("measured: cuBLAS product of 8192^3, copy")}};
    for (const machine::Accelerator& a : machine::accelerators())
      all.push_back({a.name == "h200" ? "h200-sheet" : a.name, a.half_sheet * 1e12, a.memory_gigabytes * 1e9,
                     base::say("data sheet, dense")});
    return all;
  }();
  return rates;
}

std::vector<std::string> device_rate_names() {
  std::vector<std::string> names;
  for (const DeviceRates& rates : all_device_rates()) names.push_back(rates.name);
  return names;
}

DeviceRates find_device_rates(const std::string& name) {
  const machine::Accelerator* const known = machine::accelerator_called(name);
  for (const DeviceRates& rates : all_device_rates()) {
    if (rates.name == (known == nullptr ? name : known->name)) return rates;
  }
  const std::string near = base::nearest(name, device_rate_names());
  throw base::ConfigError(base::say("--device-rates {} is unknown ({}); for another device give --tflops and --terabytes", name,
                                    near.empty() ? base::say("known names are {}", base::join(device_rate_names(), ", "))
                                                 : base::say("did you mean {}?", near)));
}

BoundTime bound_time(const shape::Work& work, const DeviceRates& rates) {
  const double products = work.flops / rates.flops_per_second, memory = work.bytes / rates.bytes_per_second;
  return products > memory ? BoundTime{products, Bound::products} : BoundTime{memory, Bound::memory};
}

// Elements of fp32 that 16 bytes hold, and of halves.
constexpr std::int64_t aligned_elements = 8;

static std::string unaligned_slot(const shape::SegmentLayout& layout) {
  for (const shape::Slot& slot : layout.slots)
    if (slot.offset % aligned_elements != 0) return slot.info.name;
  return "";
}

base::Text unequal_operation(const config::Settings& settings) {
  for (int segment = 0; segment < shape::segment_count(settings.model); ++segment) {
    std::string name = unaligned_slot(shape::segment_layout(settings.model, segment));
    if (name.empty()) name = unaligned_slot(shape::adapter_layout(settings.model, settings.lora, segment, {}));
    if (!name.empty())
      return base::say(
          "'{}' does not begin on 16 bytes, and cuBLAS chooses the kernel of its gradient by where a layout lets it begin (widths that are multiples of 8 do)",
          name);
  }
  return {};
}

}  // namespace troika::plan
