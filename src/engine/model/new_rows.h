// Rows of several sequences in one pass, each sequence's positions following those that its cache holds.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/rope.h"
#include "model/key_value_cache.h"

namespace troika::model {

struct NewRows {
  // Rows [first, first + count); the caches have room for them. No cache appears twice.
  struct Part {
    KeyValueCache* cache = nullptr;
    std::int64_t first = 0, count = 0;
  };
  std::vector<Part> parts;
  kernels::RopeTable rope;  // a row for every row, where positions are rotary
};

}  // namespace troika::model
