// Whether this build has the fast bodies for CPUs (room cpu). Where it has, tensors on the CPU use them, in fp32: halves are
// converted before and after.
#pragma once

#include <ATen/core/Tensor.h>

namespace troika::kernels {

#ifdef TROIKA_CPU_BODIES
inline constexpr bool has_cpu_bodies = true;
#else
inline constexpr bool has_cpu_bodies = false;
#endif

}  // namespace troika::kernels
