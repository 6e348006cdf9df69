#include "gpu/device.h"

#include <fmt/format.h>

#include <memory>

#include "base/error.h"
#include "base/text.h"
#include "gpu/library.h"
#include "gpu/nvidia.h"

namespace troika::gpu {

static NvidiaHere look_for_nvidia() {
  NvidiaHere here;
  try {
    if (has_device_code()) here.has_driver = !Library(usual_driver).path().empty();
    here.accelerator = std::make_unique<Nvidia>(NvidiaParts{usual_driver, "", device_code()}).release();
  } catch (const base::ConfigError& error) {
    here.missing = error.what();
  }
  return here;
}

const NvidiaHere& nvidia_here() {
  static const NvidiaHere here = look_for_nvidia();
  return here;
}

tensor::Device pick_device(const std::string& word, int local_rank) {
  std::int64_t index = -1;  // of cuda:N
  const bool numbered = word.rfind("cuda:", 0) == 0 && base::parse_int(word.substr(5), &index) && index >= 0;
  if (word != "auto" && word != "cpu" && word != "cuda" && !numbered)
    throw base::ConfigError(fmt::format("train.device is '{}', but it must be auto, cpu, cuda or cuda:N", word));
  if (word == "cpu") return {};
  const NvidiaHere& here = nvidia_here();
  if (here.accelerator == nullptr) {
    if (word == "auto") return {};
    throw base::ConfigError(fmt::format("train.device is '{}', but {}", word, here.missing));
  }
  if (numbered && index >= here.devices())
    throw base::ConfigError(fmt::format("train.device is '{}', but the last device is cuda:{}", word, here.devices() - 1));
  return {*here.accelerator, numbered ? static_cast<int>(index) : local_rank % here.devices()};
}

}  // namespace troika::gpu
