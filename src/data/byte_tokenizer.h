// One id per byte, and three marks behind them. Needs no file and no training.
#pragma once

#include "data/tokenizer.h"

namespace troika::data {

class ByteTokenizer final : public Tokenizer {
 public:
  static constexpr std::int32_t begin_id = 256;
  static constexpr std::int32_t end_id = 257;
  static constexpr std::int32_t pad_id = 258;

  std::vector<std::int32_t> encode(std::string_view text) const override;
  std::string id_to_bytes(std::int32_t id) const override;  // "" for the three marks
  std::int64_t vocab_size() const override { return 259; }
  std::int32_t end_of_document_id() const override { return end_id; }
  std::string fingerprint() const override;
  std::size_t next_cut(std::string_view text, std::size_t from) const override;
};

}  // namespace troika::data
