#include "data/byte_tokenizer.h"

#include <algorithm>

#include "base/file.h"

namespace troika::data {

std::vector<std::int32_t> ByteTokenizer::encode(std::string_view text) const {
  std::vector<std::int32_t> ids(text.size());
  std::transform(text.begin(), text.end(), ids.begin(), [](char c) { return static_cast<unsigned char>(c); });
  return ids;
}

std::string ByteTokenizer::id_to_bytes(std::int32_t id) const {
  return id >= 0 && id < 256 ? std::string(1, static_cast<char>(id)) : std::string();
}

std::string ByteTokenizer::fingerprint() const { return base::hash_bytes("bytes 1: 256 bytes, bos, eos, pad"); }

std::size_t ByteTokenizer::next_cut(std::string_view text, std::size_t from) const {
  return std::min(from, text.size());
}

}  // namespace troika::data
