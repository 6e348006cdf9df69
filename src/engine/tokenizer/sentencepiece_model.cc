#include "tokenizer/sentencepiece_model.h"

#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/say.h"

namespace troika::tokenizer {
namespace {

// The fields of a message one after the other.
class MessageReader {
 public:
  MessageReader(std::string_view bytes, const std::string& origin) : bytes_(bytes), origin_(origin) {}

  // Reads the next field; false at the end.
  bool next() {
    if (bytes_.empty()) return false;
    const std::uint64_t tag = varint();
    number_ = tag >> 3;
    content_ = {};
    value_ = 0;
    switch (tag & 7) {
      case 0:
        value_ = varint();
        break;
      case 1:
        content_ = take(8);
        break;
      case 2:
        content_ = take(varint());
        break;
      case 5:
        content_ = take(4);
        break;
      default:
        refuse();
    }
    is_length_delimited_ = (tag & 7) == 2;
    return true;
  }

  std::uint64_t number() const { return number_; }
  std::int32_t integer() const { return static_cast<std::int32_t>(value_); }
  bool boolean() const { return value_ != 0; }
  float real() const {
    if (content_.size() != sizeof(float) || is_length_delimited_) refuse();
    float value = 0;
    std::memcpy(&value, content_.data(), sizeof value);
    return value;
  }
  std::string_view content() const {
    if (!is_length_delimited_) refuse();
    return content_;
  }
  MessageReader message() const { return {content(), origin_}; }

  [[noreturn]] void refuse() const {
    throw base::DataError(base::say("{}: not a model of SentencePiece, or damaged: copy the file again", origin_));
  }

 private:
  std::string_view take(std::uint64_t bytes) {
    if (bytes > bytes_.size()) refuse();
    const std::string_view taken = bytes_.substr(0, bytes);
    bytes_.remove_prefix(bytes);
    return taken;
  }

  std::uint64_t varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      const auto byte = static_cast<unsigned char>(take(1).front());
      value |= std::uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return value;
    }
    refuse();
  }

  std::string_view bytes_;
  const std::string& origin_;
  std::uint64_t number_ = 0, value_ = 0;
  std::string_view content_;
  bool is_length_delimited_ = false;
};

SentencePieceModel::Piece read_piece(MessageReader reader) {
  using Piece = SentencePieceModel::Piece;
  Piece piece;
  while (reader.next()) {
    if (reader.number() == 1) piece.text = std::string(reader.content());
    if (reader.number() == 2) piece.score = reader.real();
    if (reader.number() == 3) piece.type = static_cast<Piece::Type>(reader.integer());
  }
  const bool is_known = piece.type >= Piece::Type::normal && piece.type <= Piece::Type::byte;
  if (!is_known || std::isnan(piece.score)) reader.refuse();
  return piece;
}

void read_trainer(MessageReader reader, SentencePieceModel* model) {
  while (reader.next()) {
    if (reader.number() == 3) model->kind = static_cast<SentencePieceModel::Kind>(reader.integer());
    if (reader.number() == 24) model->whitespace_as_suffix = reader.boolean();
    if (reader.number() == 35) model->byte_fallback = reader.boolean();
    if (reader.number() == 41) model->bos = reader.integer();
    if (reader.number() == 42) model->eos = reader.integer();
  }
}

void read_normalizer(MessageReader reader, SentencePieceModel* model) {
  while (reader.next()) {
    if (reader.number() == 2) model->character_map = std::string(reader.content());
    if (reader.number() == 3) model->dummy_prefix = reader.boolean();
    if (reader.number() == 4) model->remove_extra_spaces = reader.boolean();
    if (reader.number() == 5) model->escape_spaces = reader.boolean();
  }
}

}  // namespace

SentencePieceModel parse_sentencepiece_model(std::string_view bytes, const std::string& origin) {
  SentencePieceModel model;
  MessageReader reader(bytes, origin);
  while (reader.next()) {
    if (reader.number() == 1) model.pieces.push_back(read_piece(reader.message()));
    if (reader.number() == 2) read_trainer(reader.message(), &model);
    if (reader.number() == 3) read_normalizer(reader.message(), &model);
  }
  if (model.pieces.empty()) reader.refuse();
  return model;
}

}  // namespace troika::tokenizer
