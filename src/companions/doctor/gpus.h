// The NVIDIA GPUs of a host as a run would use them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace troika::doctor {

struct Gpus {
  struct Card {
    std::string name;  // "NVIDIA H100 80GB HBM3"
    int major = 0, minor = 0;
    std::int64_t free_bytes = 0;
    std::string trouble;  // why it cannot be used; "": it can
  };
  struct Library {
    std::string file, version;
    std::string trouble;  // why a run cannot load it; "": it can
  };
  std::vector<Card> cards;  // cuda:0 and on
  std::string trouble;      // why there are none; "": there are some
  Library driver, blas, cudnn, nccl;
};

}  // namespace troika::doctor
