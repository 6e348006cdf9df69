// One operation of src/engine/kernels at the shape that a model gives it, for `bench kernels`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace troika::bench {

using Body = std::function<void()>;  // on inputs of its own where it writes into them

struct Operation {
  std::string name;                 // "linear forward qkv"
  std::string shape;                // "M 2048 I 256 O 512"
  std::int64_t calls = 0;           // in one step of a rank
  double flops = 0;                 // that the result needs: multiplies and adds of products and attention
  double bytes = 0;                 // that must be read and written at least once
  std::function<Body()> prepare;    // allocates, on the device of the shapes
};

}  // namespace troika::bench
