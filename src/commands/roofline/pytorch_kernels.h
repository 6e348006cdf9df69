// What PyTorch moves for the operations of a training step, kernel by kernel, counted by hand: the model as transformers
// writes it (modeling_qwen3.py and its relatives, modeling_gpt2.py with GELU as one kernel), bf16 parameters and
// activations under autograd, flash attention, fp32 logits in the loss, fp32 gradients, master weights and Adam state
// (as FSDP2's mixed precision keeps them). An array counts once for each kernel that reads or writes it.
//
// eager: one kernel for each ATen operation; torch.optim.AdamW with foreach. compiled: every chain of operations on
// elements and rows is one kernel, the residual's sum and the norm behind it too; sums over rows of the matrix, products
// and attention are kernels of their own; AdamW with fused=True.
#pragma once

#include <string_view>
#include <vector>

#include "plan/device_rates.h"
#include "shape/architecture.h"
#include "shape/operation_costs.h"

namespace troika::commands {

// What a kernel's bytes are counted for: each element of a width, in every row of the microbatch; of the embedding's table;
// of all parameters. heads: queries and keys.
enum class Per { D, heads, queries, keys, F, logit, table, parameter };

struct AtenKernel {
  std::string_view name;
  double bytes;  // for each element
  Per per;
};

struct PyTorchStep {
  const config::ModelSettings& model;
  std::int64_t M = 0;             // rows of a microbatch
  std::int64_t microbatches = 1;  // of a step
};

// Beside the product or attention itself, for all calls of one operation (two norms of a block are twice one).
struct PyTorchKernels {
  shape::Work call;  // of products and attention; else nothing
  std::vector<AtenKernel> kernels;
  double times = 1;
};
enum class PyTorchMode { eager, compiled };
PyTorchKernels pytorch_kernels(const PyTorchStep& step, const shape::OperationCost& ours, PyTorchMode mode);

double bytes_of(const PyTorchStep& step, const PyTorchKernels& kernels);
double seconds_of(const PyTorchStep& step, const PyTorchKernels& kernels, const plan::DeviceRates& rates);

}  // namespace troika::commands
