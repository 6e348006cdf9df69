#include "train/rank_device.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "tensor/device.h"
#include "tensor/gpu_traits.h"
#include "tensor/tensor.h"

namespace troika::train {

static plan::CudaHere::Build build_of(tensor::CudaBuild build) {
  switch (build) {
    case tensor::CudaBuild::cpu_libtorch:
      return plan::CudaHere::Build::cpu_libtorch;
    case tensor::CudaBuild::without_kernels:
      return plan::CudaHere::Build::without_kernels;
    case tensor::CudaBuild::with_kernels:
      return plan::CudaHere::Build::with_kernels;
  }
  return plan::CudaHere::Build::unknown;
}

// A clone builds into build/PRESET.
static plan::CudaHere::Place place_of_this_program() {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  const bool in_clone = std::filesystem::exists(program.parent_path() / "../../quickstart.sh", error);
  return in_clone ? plan::CudaHere::Place::clone : plan::CudaHere::Place::installed;
}

plan::CudaHere cuda_of_this_process() {
  return {build_of(tensor::cuda_build()), host::nvidia_driver(), tensor::cuda_devices(), place_of_this_program()};
}

tensor::Device rank_device(const std::string& device, int local_rank, const plan::RanksOfHost& ranks) {
  if (config::word_or(device, config::DeviceKind::numbered) != config::DeviceKind::cpu)
    plan::check_device(device, ranks, cuda_of_this_process());
  return tensor::pick_device(device, local_rank);
}

int ranks_of_device(const std::string& device, int ranks_on_host) {
  const int devices = std::max(1, tensor::cuda_devices());
  if (config::word_or(device, config::DeviceKind::numbered) == config::DeviceKind::numbered) return ranks_on_host;
  return (ranks_on_host + devices - 1) / devices;
}

plan::ProductsChosen products_chosen(const tensor::Device& device) {
  return tensor::chooses_products_by_time(device) == tensor::ByTime::yes ? plan::ProductsChosen::by_time
                                                                         : plan::ProductsChosen::by_shape;
}

}  // namespace troika::train
