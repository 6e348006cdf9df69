// base::philox4x32 in kernels.
#pragma once

#include <cstdint>

#include "cuda/block.h"

namespace troika::cuda {

struct PhiloxWords {
  std::uint32_t at[4];
};

TROIKA_HOST_DEVICE PhiloxWords philox4x32(PhiloxWords x, std::uint32_t key_0, std::uint32_t key_1) {
  TROIKA_UNROLL
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p_0 = std::uint64_t{0xD2511F53} * x.at[0], p_1 = std::uint64_t{0xCD9E8D57} * x.at[2];
    x = {{static_cast<std::uint32_t>(p_1 >> 32) ^ x.at[1] ^ key_0, static_cast<std::uint32_t>(p_1),
          static_cast<std::uint32_t>(p_0 >> 32) ^ x.at[3] ^ key_1, static_cast<std::uint32_t>(p_0)}};
    key_0 += 0x9E3779B9;
    key_1 += 0xBB67AE85;
  }
  return x;
}

}  // namespace troika::cuda
