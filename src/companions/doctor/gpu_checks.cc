#include <fmt/format.h>

#include "base/text.h"
#include "base/units.h"
#include "doctor/check.h"
#include "doctor/tree.h"
#include "host/nvidia.h"

namespace troika::doctor {
namespace {

constexpr int least_driver = 525;
constexpr std::int64_t little_gpu_memory = std::int64_t{2} << 30;

bool has_driver(const HostView& view) {
  return host::nvidia_driver(view.proc, view.dev) == host::NvidiaDriver::loaded;
}

std::optional<std::string> visible_devices(const HostView& view) {
  const auto found = view.environment.find("CUDA_VISIBLE_DEVICES");
  return found == view.environment.end() ? std::nullopt : std::optional<std::string>(found->second);
}

// What stands for a check whose subject a host without a driver has not, or that nobody measured; none: look.
std::vector<Finding> nothing_to_look_at(const HostView& view, const base::Text& wanted) {
  if (!has_driver(view)) return {well(base::say("no NVIDIA driver"), wanted)};
  if (!view.measured || !view.measured->gpus) return {unchecked(base::say("not measured"))};
  return {};
}

Finding library_found(const std::string& name, const Gpus::Library& library, Status status, base::Phrase advice) {
  const base::Text wanted = base::say("CUDA 12.0, cuBLASLt 12.4 and NCCL 2.28 or later, where there are NVIDIA GPUs");
  if (library.trouble.empty()) return well(base::verbatim(fmt::format("{} {} ({})", name, library.version, library.file)), wanted);
  return found(status, base::say("{} cannot be used: {}", name, library.trouble), wanted, base::say(advice));
}

}  // namespace

std::vector<Finding> check_gpu_driver(const HostView& view) {
  const base::Text wanted = base::say("{} or later, where there are NVIDIA GPUs", least_driver);
  if (!has_driver(view)) return {well(base::say("no NVIDIA driver"), wanted)};
  const std::optional<int> version = host::nvidia_driver_version(view.proc);
  if (!version) return {well(base::say("a driver that does not tell its version"), wanted)};
  const base::Text measured = base::say("driver {}", *version);
  if (*version >= least_driver) return {well(measured, wanted)};
  return {found(Status::warn, measured, wanted, base::say("Install NVIDIA's driver {} or later: an older one takes no run on a GPU.", least_driver))};
}

std::vector<Finding> check_gpu_cards(const HostView& view) {
  const base::Text wanted = base::say("compute capability 8.0 or later and {} free, where there are NVIDIA GPUs", base::format_bytes(little_gpu_memory));
  if (std::vector<Finding> none = nothing_to_look_at(view, wanted); !none.empty()) return none;
  const Gpus& gpus = *view.measured->gpus;
  if (gpus.cards.empty())
    return {found(Status::warn, base::say("no GPU can be used: {}", gpus.trouble), wanted, base::say("Until this is mended runs compute on the processor."))};
  std::vector<Finding> findings;
  for (std::size_t i = 0; i < gpus.cards.size(); ++i) {
    const Gpus::Card& card = gpus.cards[i];
    if (!card.trouble.empty()) {
      findings.push_back(found(Status::warn, base::verbatim(card.trouble), wanted, base::say("Leave cuda:{} out with CUDA_VISIBLE_DEVICES: no rank can use it.", i)));
      continue;
    }
    const base::Text measured = base::say("cuda:{}: {}, compute capability {}.{}, {} free", i, card.name, card.major, card.minor, base::format_bytes(card.free_bytes));
    findings.push_back(card.free_bytes >= little_gpu_memory
                           ? well(measured, wanted)
                           : found(Status::warn, measured, wanted, base::say("Other programs hold the memory of cuda:{}: see which with nvidia-smi.", i)));
  }
  return findings;
}

// By what Linux shows: a card that has come loose, or sits in a narrow slot, is as slow to reach as it has few lanes.
std::vector<Finding> check_gpu_links(const HostView& view) {
  const base::Text wanted = base::say("all PCIe lanes of each NVIDIA GPU in use");
  if (!has_driver(view)) return {well(base::say("no NVIDIA driver"), wanted)};
  std::vector<Finding> findings;
  for (const host::NvidiaNeighbours& card : host::nvidia_neighbours(visible_devices(view), view.proc, view.sys)) {
    const std::string folder = view.sys + "/bus/pci/devices/" + card.address;
    const auto lanes = number_in(folder + "/current_link_width"), most = number_in(folder + "/max_link_width");
    const base::Text place = host::describe(card);
    if (!lanes || !most) {
      findings.push_back(well(place, wanted));
      continue;
    }
    const base::Text measured = base::say("{}, {} of {} PCIe lanes", place, *lanes, *most);
    findings.push_back(*lanes >= *most ? well(measured, wanted)
                                       : found(Status::warn, measured, wanted,
                                               base::say("GPU {} runs with {} of its {} PCIe lanes: look at how the card sits, and at its slot.", card.address, *lanes, *most)));
  }
  if (findings.empty()) return {unchecked(base::say("{} is not there or not readable", "/proc/driver/nvidia/gpus"))};
  return findings;
}

// Without cuDNN attention is computed all the same, but slower. Without NCCL messages between GPUs go over TCP, which one GPU has no need of.
std::vector<Finding> check_gpu_libraries(const HostView& view) {
  if (std::vector<Finding> none = nothing_to_look_at(view, base::say("CUDA 12.0, cuBLASLt 12.4 and NCCL 2.28 or later, where there are NVIDIA GPUs")); !none.empty()) return none;
  const Gpus& gpus = *view.measured->gpus;
  const bool several = gpus.cards.size() > 1 || view.want.hosts == Want::Hosts::several;
  return {library_found("CUDA", gpus.driver, Status::warn, base::Phrase("Make libcuda.so.1 of NVIDIA's driver usable here: in a container by --gpus all and NVIDIA's container toolkit.")),
          library_found("cuBLASLt", gpus.blas, Status::warn, base::Phrase("Install cuBLASLt 12.4 or later into the active Python environment: pip install nvidia-cublas.")),
          library_found("cuDNN", gpus.cudnn, Status::warn, base::Phrase("Install cuDNN 9.10.2 or later into the active Python environment: pip install nvidia-cudnn-cu13 (or nvidia-cudnn-cu12); without it attention is computed by products in chunks.")),
          library_found("NCCL", gpus.nccl, several ? Status::warn : Status::note, base::Phrase("Install NCCL 2.28 or later into the active Python environment: pip install nvidia-nccl-cu13; without it messages between GPUs go over TCP."))};
}

}  // namespace troika::doctor
