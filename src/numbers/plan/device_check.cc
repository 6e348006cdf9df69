#include "plan/device_check.h"

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"

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
  if (here.driver == host::NvidiaDriver::absent) refuse_device(device, base::say("this machine has no NVIDIA driver (/proc/driver/nvidia/version is not there); install it, or use --device cpu"));
  if (here.driver_version && here.cuda) {  // CUDA finds no device below a driver that is too old
    if (const auto lack = machine::lack_of_driver(*here.driver_version, *here.cuda)) refuse_device(device, *lack);
  }
  if (!here.missing.english.empty()) refuse_device(device, here.missing);
  if (here.devices) refuse_device(device, base::say("the NVIDIA driver of this machine offers 0 devices; look at nvidia-smi and CUDA_VISIBLE_DEVICES, or use --device cpu"));
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

}  // namespace troika::plan
