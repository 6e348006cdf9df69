// The bytes of a sequence file: header, and sizes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "datasets/sequence_file.h"

namespace troika::datasets {

inline constexpr std::size_t sequence_header_bytes = 128;

std::string encode_header(const SequenceHeader& header);
// DataError naming `path` when `file` does not begin with a whole, undamaged header of this format.
SequenceHeader decode_header(std::string_view file, const std::string& path);

// Of one sequence of `length` ids: the ids, then a bit each for loss. And back.
std::int64_t bytes_of(std::int64_t length, std::int64_t bytes_per_id);
std::int64_t length_of(std::int64_t bytes, std::int64_t bytes_per_id);

}  // namespace troika::datasets
