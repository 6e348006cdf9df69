// The model file of SentencePiece, tokenizer.model: a protocol buffer of type ModelProto (google/sentencepiece,
// src/sentencepiece_model.proto), as far as it decides the ids of a text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troika::tokenizer {

struct SentencePieceModel {
  struct Piece {
    enum class Type { normal = 1, unknown = 2, control = 3, user_defined = 4, unused = 5, byte = 6 };
    std::string text;
    float score = 0;
    Type type = Type::normal;
  };
  std::vector<Piece> pieces;  // by id

  enum class Kind { unigram = 1, bpe = 2, word = 3, character = 4 };
  Kind kind = Kind::unigram;
  bool byte_fallback = false, whitespace_as_suffix = false;
  std::int32_t bos = 1, eos = 2;  // ids; -1: none

  std::string character_map;  // precompiled; "" leaves characters as they are
  bool dummy_prefix = true, remove_extra_spaces = true, escape_spaces = true;
};

// Throws DataError that names `origin` for bytes that are no such message, a piece of an unknown type and a score that is no number.
SentencePieceModel parse_sentencepiece_model(std::string_view bytes, const std::string& origin);

}  // namespace troika::tokenizer
