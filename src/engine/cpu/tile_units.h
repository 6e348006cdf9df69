// The matrix units of a processor: AMX of x86-64, which multiplies tiles of bf16 and sums in fp32.
#pragma once

namespace troika::cpu {

// Whether this processor has them for bf16 and the system lets this process use them.
bool has_tile_units();

}  // namespace troika::cpu
