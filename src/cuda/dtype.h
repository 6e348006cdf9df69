// What activations and weights are stored in. Kernels compute in fp32.
#pragma once

namespace troika::cuda {

enum class Dtype { fp32, bf16, fp16 };

}  // namespace troika::cuda
