// Every operation that one training step of a model on one rank uses, in the order of a forward and backward.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/language.h"
#include "config/settings/settings.h"
#include "tensor/tensor.h"

namespace troika::bench {

// One operation of src/engine/kernels at the shape that a model gives it, for `bench kernels`.
using Body = std::function<void()>;  // on inputs of its own where it writes into them

struct Operation {
  base::Text name;                // "linear qkv forward"
  std::string shape;              // "M 2048 I 256 O 512"
  std::int64_t calls = 0;         // in one step of a rank
  double flops = 0;               // that the result needs: multiplies and adds of products and attention
  double bytes = 0;               // that must be read and written at least once
  std::function<Body()> prepare;  // allocates, on the device of the shapes
};

// The shapes of a step: L layers, M = B x T rows of a microbatch, `microbatches` of them.
struct StepShapes {
  config::ModelSettings model;  // vocabulary settled
  std::int64_t B = 1, T = 1, microbatches = 1;
  tensor::Dtype dtype = tensor::Dtype::fp32;                // of activations and of the parameters that are multiplied
  tensor::Device device = {};                               // where all tensors lie
  tensor::Tensor normal(const tensor::Sizes& sizes) const;  // normal_numbers of `dtype`
  tensor::Tensor ids(std::int64_t below) const;             // int64, [M]
  double element_bytes() const;
  std::int64_t M() const { return B * T; }
  std::int64_t per_layer() const { return model.layers * microbatches; }  // calls
};

// Random numbers, normally distributed; the same at every call. fp32. On a device they repeat after some millions.
tensor::Tensor normal_numbers(const tensor::Sizes& sizes, const tensor::Device& device = {});

using Operations = std::vector<Operation>;
void add_embedding(const StepShapes& s, Operations& operations);
void add_norms(const StepShapes& s, Operations& operations);
void add_linears(const StepShapes& s, Operations& operations);
void add_rotations(const StepShapes& s, Operations& operations);
void add_attention(const StepShapes& s, Operations& operations);
void add_activations(const StepShapes& s, Operations& operations);
void add_output_loss(const StepShapes& s, Operations& operations);
void add_flat(const StepShapes& s, Operations& operations);  // sums, squares, AdamW

Operations operations_of(const StepShapes& s);

}  // namespace troika::bench
