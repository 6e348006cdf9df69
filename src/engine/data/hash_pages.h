// The hash of a mapped file that is read once for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/file.h"

namespace troika::data {

// base::hash_bytes of what stands from byte `first` on, up to `behind` or the end. What was read leaves the process's memory as the reading goes on, so that a
// large file is never in it as a whole.
std::string hash_and_drop(const base::MappedFile& file, std::size_t first, std::size_t behind = SIZE_MAX);

}  // namespace troika::data
