// Which cards and drivers Troika's kernels run on.
#pragma once

#include <optional>
#include <string>

#include "base/language.h"

namespace troika::machine {

// What NVIDIA calls compute capability: 8.6 of an RTX 3090.
struct Capability {
  int major = 0, minor = 0;
};
inline constexpr Capability least_capability{8, 0};  // bf16 products and asynchronous copies begin there

std::string to_text(Capability capability);  // "8.6"

// Why a card of this capability runs none of the kernels; nothing where it does.
std::optional<base::Text> lack_of_card(Capability card);

// The oldest driver, by the number before the point, on which programs of this CUDA (12 of 12.8) run; nothing where that is not
// known.
std::optional<int> least_driver(int cuda);
// Why a program of this CUDA does not run on the driver; nothing where it does, or where that is not known.
std::optional<base::Text> lack_of_driver(int driver, int cuda);

}  // namespace troika::machine
