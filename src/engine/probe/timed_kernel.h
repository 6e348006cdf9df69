// What `troika probe` times: the kernels of a training step, each with what the cost model counts for it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/language.h"
#include "config/choices.h"
#include "shape/operation_costs.h"
#include "tensor/tensor.h"

namespace troika::probe {

// The terms of machine::Rates.
enum class KernelKind { product, attention, between, stream, call };

using KernelBody = std::function<void()>;  // computes once

struct TimedKernel {
  base::Text name;  // "linear forward M 64 I 128 O 384"
  KernelKind kind = KernelKind::product;
  config::Precision precision = config::Precision::fp32;
  shape::Work work;  // of one call, as shape/operation_costs.h counts it
  double calls = 1;  // in the step that its kind's mean is of; of kind call: operations in the body
  std::function<KernelBody(const tensor::Device&)> prepare;  // allocates the operands on a device
};

// Both halves of a backward too. M 64 to 2048, widths 128 to 4096; none takes more than 2.2e9 operations.
std::vector<TimedKernel> product_kernels(config::Precision precision);

// Attention and what lies between products, of a block of a small and of a medium model with 1024 rows; calls are those of their
// steps, and the works add up to shape::block_operations, with the loss.
std::vector<TimedKernel> block_kernels(config::Precision precision);

// Attention of sequences shorter and longer than those of block_kernels: what a row costs, and what a pair of rows.
std::vector<TimedKernel> attention_kernels(config::Precision precision);

// Gradients of four microbatches as integers, and AdamW, over `elements` parameters.
std::vector<TimedKernel> stream_kernels(config::Precision precision, std::int64_t elements);

// Passes of blocks so small that their operations take the time of their calls: of the kernel, of its tensors, of the model's code
// around it.
std::vector<TimedKernel> call_kernels();

// Those of fp32, and of each other precision that the device has units for. The same list in every process of a host.
std::vector<TimedKernel> kernels_of(const tensor::Device& device);

// wall: time passes. of_thread: the calling thread's time on a processor, which other programs cannot take; for what one thread
// computes alone.
enum class Clock { wall, of_thread };

// Seconds of one call in the best of several batches until `seconds` have passed, at least one: what else the machine does makes
// a kernel slower and never faster.
double seconds_of_call(const KernelBody& run, const tensor::Device& device, Clock clock, double seconds);

// Tensors of one device and precision, full of a few thousand random numbers again and again: filled fast, and nothing that a
// processor computes faster than others.
class Operands {
 public:
  Operands(const tensor::Device& device, config::Precision precision);
  tensor::Tensor random(const tensor::Sizes& sizes) const;        // in the precision
  tensor::Tensor random_float(const tensor::Sizes& sizes) const;  // in fp32
  tensor::Tensor empty_float(const tensor::Sizes& sizes) const;   // uninitialised

 private:
  const tensor::Tensor numbers_;  // fp32
  const tensor::Dtype dtype_;
};

}  // namespace troika::probe
