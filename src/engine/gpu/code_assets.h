// The device code that is part of this program, as the build made it (cmake/cuda.cmake).
#pragma once

#include <string_view>
#include <vector>

namespace troika::gpu {

struct Asset {
  std::string_view path;   // "code_86.zst", "text_80.zst"
  std::string_view bytes;  // compressed by zstd
};
std::vector<Asset> code_assets();  // by path

}  // namespace troika::gpu
