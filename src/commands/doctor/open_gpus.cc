#include "commands/doctor/doctor.h"

#include "base/error.h"
#include "base/say.h"
#include "comm/nccl_api.h"
#include "gpu/blas.h"
#include "gpu/cudnn_api.h"
#include "gpu/device.h"
#include "gpu/driver.h"
#include "gpu/library.h"

namespace troika::commands {
namespace {
using doctor::Gpus;

// `version_of` loads what `name` names.
template <class VersionOf>
Gpus::Library look_for(const std::string& name, const VersionOf& version_of) {
  Gpus::Library library;
  try {
    library.version = version_of();
    library.file = gpu::Library(name).file();
  } catch (const base::ConfigError& error) {
    library.trouble = base::text_of(error);
  }
  return library;
}

Gpus::Card open_card(const gpu::NvidiaHere& here, int number) {
  Gpus::Card card;
  try {
    const tensor::Device device(*here.accelerator, number);
    const tensor::GpuTraits traits = here.accelerator->traits(device);
    card.name = traits.name;
    card.major = traits.major;
    card.minor = traits.minor;
    card.free_bytes = here.accelerator->free_bytes(device);
  } catch (const base::Error& error) {
    card.trouble = base::text_of(error);
  }
  return card;
}

}  // namespace

Gpus open_gpus() {
  Gpus gpus;
  gpus.driver = look_for(gpu::usual_driver, [] { return gpu::version_text(gpu::load_driver(gpu::usual_driver)->version); });
  const std::string blas = gpu::find_library(gpu::library_folders(), gpu::blas_libraries);
  gpus.blas = blas.empty() ? Gpus::Library{"", "", base::say("neither libcublasLt.so.13 nor libcublasLt.so.12")}
                           : look_for(blas, [&] { return gpu::blas_version(*gpu::load_blas(blas)); });
  const std::string cudnn = gpu::find_library(gpu::library_folders(), gpu::cudnn_libraries);
  gpus.cudnn = cudnn.empty() ? Gpus::Library{"", "", base::say("no libcudnn.so.9")}
                             : look_for(cudnn, [&] { return gpu::cudnn_version(*gpu::load_cudnn(cudnn)); });
  const std::string nccl = gpu::path_or_name(comm::nccl::usual_library);
  gpus.nccl = look_for(nccl, [&] { return comm::nccl::version_text(comm::nccl::load(nccl)->version); });
  const gpu::NvidiaHere& here = gpu::nvidia_here();
  gpus.trouble = here.missing;
  for (int i = 0; i < here.devices(); ++i) gpus.cards.push_back(open_card(here, i));
  return gpus;
}

}  // namespace troika::commands
