#include <zstd.h>

#include <cstdlib>

#include "base/error.h"
#include "gpu/library.h"

namespace troika::gpu {

static std::string expanded(std::string_view bytes) {
  std::string image(ZSTD_getFrameContentSize(bytes.data(), bytes.size()), '\0');
  if (ZSTD_decompress(image.data(), image.size(), bytes.data(), bytes.size()) != image.size())
    throw base::BugError("the device code of this program can't be read");
  return image;
}

std::vector<DeviceCode> device_code() {
  std::vector<DeviceCode> all;
  for (const Asset& asset : code_assets()) {
    const auto number = asset.path.find('_') + 1;
    all.push_back({std::atoi(std::string(asset.path.substr(number)).c_str()), asset.path.rfind("text", 0) == 0,
                   [bytes = asset.bytes] { return expanded(bytes); }});
  }
  return all;
}

bool has_device_code() { return !code_assets().empty(); }

const DeviceCode* code_for(const std::vector<DeviceCode>& all, int capability) {
  const DeviceCode* best = nullptr;
  for (const DeviceCode& one : all) {
    const bool runs = one.capability <= capability && (one.is_text || one.capability / 10 == capability / 10);
    if (!runs) continue;
    const bool better = best == nullptr || (best->is_text && !one.is_text) ||
                        (best->is_text == one.is_text && one.capability > best->capability);
    if (better) best = &one;
  }
  return best;
}

}  // namespace troika::gpu
