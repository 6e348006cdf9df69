// gzip (RFC 1952) and Zstandard (RFC 8878), by zlib and libzstd.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "data/input_text.h"

namespace troika::data {

// Takes the next bytes; false: no more are wanted.
using TakeBytes = std::function<bool(std::string_view bytes)>;

// Decompresses `content`, all members or frames one after the other. DataError naming `path` for damage, for an end in
// the middle and for anything else behind the end.
void decompress(std::string_view content, Compression compression, const std::string& path, const TakeBytes& take);

}  // namespace troika::data
