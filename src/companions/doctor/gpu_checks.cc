#include <fmt/format.h>

#include "base/text.h"
#include "base/units.h"
#include "doctor/check.h"
#include "doctor/tree.h"
#include "host/nvidia.h"
#include "host/nvidia_neighbours.h"

namespace troika::doctor {
namespace {

constexpr int least_driver = 525;
constexpr std::int64_t little_gpu_memory = std::int64_t{2} << 30;

bool has_driver(const HostView& view) {
  return host::nvidia_driver_in(view.proc, view.dev) == host::NvidiaDriver::loaded;
}

std::optional<std::string> visible_devices(const HostView& view) {
  const auto found = view.environment.find("CUDA_VISIBLE_DEVICES");
  return found == view.environment.end() ? std::nullopt : std::optional<std::string>(found->second);
}

// What stands for a check whose subject a host without a driver has not, or that nobody measured; none: look.
std::vector<Finding> nothing_to_look_at(const HostView& view, const Told& wanted) {
  if (!has_driver(view)) return {well(tell(Text::gpu_none), wanted)};
  if (!view.measured || !view.measured->gpus) return {unchecked(tell(Text::not_measured))};
  return {};
}

Finding library_found(const std::string& name, const Gpus::Library& library, Status status, Text advice) {
  const Told wanted = tell(Text::gpu_libraries_wanted);
  if (library.trouble.empty()) return well(plain(fmt::format("{} {} ({})", name, library.version, library.file)), wanted);
  return found(status, tell(Text::gpu_library_unusable, name, library.trouble), wanted, tell(advice));
}

}  // namespace

std::vector<Finding> check_gpu_driver(const HostView& view) {
  const Told wanted = tell(Text::gpu_driver_wanted, least_driver);
  if (!has_driver(view)) return {well(tell(Text::gpu_none), wanted)};
  const std::optional<int> version = host::nvidia_driver_version_in(view.proc);
  if (!version) return {well(tell(Text::gpu_driver_untold), wanted)};
  const Told measured = tell(Text::gpu_driver_is, *version);
  if (*version >= least_driver) return {well(measured, wanted)};
  return {found(Status::warn, measured, wanted, tell(Text::gpu_driver_advice, least_driver))};
}

std::vector<Finding> check_gpu_cards(const HostView& view) {
  const Told wanted = tell(Text::gpu_cards_wanted, base::format_bytes(little_gpu_memory));
  if (std::vector<Finding> none = nothing_to_look_at(view, wanted); !none.empty()) return none;
  const Gpus& gpus = *view.measured->gpus;
  if (gpus.cards.empty())
    return {found(Status::warn, tell(Text::gpu_unusable, gpus.trouble), wanted, tell(Text::gpu_unusable_advice))};
  std::vector<Finding> findings;
  for (std::size_t i = 0; i < gpus.cards.size(); ++i) {
    const Gpus::Card& card = gpus.cards[i];
    if (!card.trouble.empty()) {
      findings.push_back(found(Status::warn, plain(card.trouble), wanted, tell(Text::gpu_card_advice, i)));
      continue;
    }
    const Told measured = tell(Text::gpu_card, i, card.name, card.major, card.minor, base::format_bytes(card.free_bytes));
    findings.push_back(card.free_bytes >= little_gpu_memory
                           ? well(measured, wanted)
                           : found(Status::warn, measured, wanted, tell(Text::gpu_memory_advice, i)));
  }
  return findings;
}

// By what Linux shows: a card that has come loose, or sits in a narrow slot, is as slow to reach as it has few lanes.
std::vector<Finding> check_gpu_links(const HostView& view) {
  const Told wanted = tell(Text::gpu_links_wanted);
  if (!has_driver(view)) return {well(tell(Text::gpu_none), wanted)};
  std::vector<Finding> findings;
  for (const host::NvidiaNeighbours& card : host::nvidia_neighbours_in(view.proc, view.sys, visible_devices(view))) {
    const std::string folder = view.sys + "/bus/pci/devices/" + card.address;
    const auto lanes = number_in(folder + "/current_link_width"), most = number_in(folder + "/max_link_width");
    const std::string near = host::describe(static_cast<int>(findings.size()), card);
    const std::string place = near.substr(near.find(": ") + 2);  // without the rank
    if (!lanes || !most) {
      findings.push_back(well(plain(place), wanted));
      continue;
    }
    const Told measured = tell(Text::gpu_link, place, *lanes, *most);
    findings.push_back(*lanes >= *most ? well(measured, wanted)
                                       : found(Status::warn, measured, wanted,
                                               tell(Text::gpu_link_advice, card.address, *lanes, *most)));
  }
  if (findings.empty()) return {unchecked(tell(Text::no_file, "/proc/driver/nvidia/gpus"))};
  return findings;
}

// Without cuDNN attention is computed all the same, but slower. Without NCCL messages between GPUs go over TCP, which one GPU has no need of.
std::vector<Finding> check_gpu_libraries(const HostView& view) {
  if (std::vector<Finding> none = nothing_to_look_at(view, tell(Text::gpu_libraries_wanted)); !none.empty()) return none;
  const Gpus& gpus = *view.measured->gpus;
  const bool several = gpus.cards.size() > 1 || view.want.hosts == Want::Hosts::several;
  return {library_found("CUDA", gpus.driver, Status::warn, Text::gpu_driver_library_advice),
          library_found("cuBLASLt", gpus.blas, Status::warn, Text::gpu_blas_advice),
          library_found("cuDNN", gpus.cudnn, Status::warn, Text::gpu_cudnn_advice),
          library_found("NCCL", gpus.nccl, several ? Status::warn : Status::note, Text::gpu_nccl_advice)};
}

}  // namespace troika::doctor
