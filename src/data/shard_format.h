// The header of a token shard as bytes.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "data/shards.h"

namespace troika::data {

inline constexpr std::size_t shard_header_bytes = 80;

// Bytes the ids take, padding to a multiple of 8 included.
std::size_t padded_token_bytes(const ShardHeader& header);

// Size of the whole file.
std::size_t shard_file_bytes(const ShardHeader& header);

std::string encode_shard_header(const ShardHeader& header);

// Throws DataError naming `path` when `file` does not begin with a whole, undamaged header of this format.
ShardHeader decode_shard_header(std::string_view file, const std::string& path);

}  // namespace troika::data
