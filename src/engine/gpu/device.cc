#include "gpu/device.h"

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "gpu/library.h"
#include "gpu/nvidia.h"

namespace troika::gpu {
namespace {

std::int64_t stated_number(const std::string& word) {  // -1: none
  std::int64_t number = -1;
  const bool numbered = word.rfind("cuda:", 0) == 0 && base::parse_int(word.substr(5), &number) && number >= 0;
  return numbered ? number : -1;
}

NvidiaHere look_for_nvidia() {
  NvidiaHere here;
  try {
    if (has_device_code()) here.has_driver = !Library(usual_driver).path().empty();
    auto found = std::make_unique<Nvidia>(NvidiaParts{usual_driver, "", device_code()});
    for (int i = 0; i < found->devices(); ++i) here.capabilities.push_back(found->capability(i));
    const auto lacks = [](machine::Capability card) { return machine::lack_of_card(card).has_value(); };
    if (std::all_of(here.capabilities.begin(), here.capabilities.end(), lacks))
      here.missing = *machine::lack_of_card(here.capabilities.front());
    else
      here.accelerator = found.release();
  } catch (const base::ConfigError& error) {
    here.missing = base::text_of(error);
  }
  return here;
}

}  // namespace

const NvidiaHere& nvidia_here() {
  static const NvidiaHere here = look_for_nvidia();
  return here;
}

int device_number(const std::string& word, int local_rank, int devices) {
  const std::int64_t stated = stated_number(word);
  return stated >= 0 ? static_cast<int>(stated) : local_rank % devices;
}

tensor::Device pick_device(const std::string& word, int local_rank) {
  if (word == "cpu") return {};
  if (word != "auto" && word != "cuda" && stated_number(word) < 0)
    throw base::ConfigError(base::say("train.device is '{}', but it must be auto, cpu, cuda or cuda:N", word));
  const NvidiaHere& here = nvidia_here();
  if (here.accelerator == nullptr) {
    if (word == "auto") return {};
    throw base::ConfigError(base::say("train.device is '{}', but {}", word, here.missing));
  }
  const int number = device_number(word, local_rank, here.devices());
  if (number >= here.devices())
    throw base::ConfigError(base::say("train.device is '{}', but {}", word, base::say("the last device is cuda:{}", here.devices() - 1)));
  return {*here.accelerator, number};
}

}  // namespace troika::gpu
