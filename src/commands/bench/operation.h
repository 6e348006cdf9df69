// One operation of src/kernels at the shape that a model gives it, for `bench kernels`.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace troika::commands {

// The operation's body and the at:: body that judges it, on inputs of their own where they write into them. Both return
// what they computed.
struct Bodies {
  std::function<std::vector<tensor::Tensor>()> run, reference;
};

struct Operation {
  std::string name;                 // "linear forward qkv"
  std::string shape;                // "M 2048 I 256 O 512"
  std::int64_t calls = 0;           // in one step of a rank
  double flops = 0;                 // that the result needs: multiplies and adds of products and attention
  double bytes = 0;                 // that must be read and written at least once
  std::function<Bodies()> prepare;  // allocates, on the CPU
};

// max|a - b| / max|b|, the largest over all pairs; BugError when their numbers or shapes differ.
double relative_error(const std::vector<tensor::Tensor>& got, const std::vector<tensor::Tensor>& want);

}  // namespace troika::commands
