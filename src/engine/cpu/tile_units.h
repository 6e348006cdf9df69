// The matrix units of a processor, for bf16 (AMX).
#pragma once

namespace troika::cpu {

// Whether this processor has them and the system lets this process use them.
bool has_tile_units();

}  // namespace troika::cpu
