// Why a text is not JSON, in words.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/error.h"
#include "base/origin.h"

namespace troika::base {

// The error for a text that a parser refused at `byte`, counted from 1, the last that it read; one more than there are: at the end.
// Names the usual causes: a comma too many or too few, Python's words and quotes, NaN, comments, half a surrogate pair, an
// encoding that is not UTF-8, a value cut off or followed by another.
DataError json_fault(std::string_view text, std::size_t byte, Origin origin);

}  // namespace troika::base
