// Text <-> token ids.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace troika::config {
struct Settings;
}

namespace troika::tokenizer {

struct Stretch {
  std::size_t begin = 0, end = 0;  // in bytes of a text
};

// What is in front of a text that is encoded or decoded by itself: it is a whole text, follows an added token, or continues
// a text. Tokenizers of SentencePiece's kind put a space before a text, and take it away again.
enum class Before { nothing, mark, text };

// The text of ids that come one by one. One thread at a time; the tokenizer must outlive it.
class GrowingText {
 public:
  virtual ~GrowingText() = default;
  // Returns the bytes that have become certain; they may end inside a character.
  virtual std::string add(std::int32_t id) = 0;
  // What would follow if no more ids came.
  virtual std::string rest() const { return ""; }
};

// Threads: const use is safe from any number of threads.
// Contract: decode(encode(x)) == x for every sequence of bytes, valid UTF-8 or not. A tokenizer.json may ask for less:
// with an NFC normalizer it is NFC(x) (bytes that are not valid UTF-8 stay, and nothing is composed across them); an added
// token with lstrip or rstrip swallows the white space beside it; with add_prefix_space a space may come in front; an id that
// the vocabulary spells in bytes and the added tokens as other text decodes to that text; bytes that no token spells are
// dropped, or become the file's `unk_token`.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // The ids of `text`; no begin or end marks are added. Every id is in [0, vocab_size()).
  virtual std::vector<std::int32_t> encode(std::string_view text) const = 0;

  // The control tokens that `text` spells, in order: added tokens that are marks, not text (`special` in a tokenizer.json).
  virtual std::vector<Stretch> control_tokens(std::string_view /*text*/) const { return {}; }

  // As encode, but what touches one of `plain`, which are in order, is no control token: its letters are text like any other.
  // `before` is in front of `text`.
  virtual std::vector<std::int32_t> encode_with_plain(std::string_view text, const std::vector<Stretch>& /*plain*/,
                                                      Before /*before*/) const {
    return encode(text);
  }

  // What is in front of a text that follows `ids`.
  virtual Before before_next(const std::vector<std::int32_t>& ids) const {
    return ids.empty() ? Before::nothing : Before::text;
  }

  // The bytes one id stands for within a text; of an added token its text. Ids outside the vocabulary (a model's vocabulary may be larger) stand for nothing: "".
  virtual std::string id_to_bytes(std::int32_t id) const = 0;

  virtual std::int64_t vocab_size() const = 0;

  // The id that ends a document in training data; -1: none.
  virtual std::int32_t end_of_document_id() const = 0;

  // The ids that the tokenizer puts in front of a text for a model (Llama 3: <|begin_of_text|>), in order: those before the
  // text in the `single` template of a tokenizer.json. encode adds none of them. Every id is in [0, vocab_size()).
  virtual std::vector<std::int32_t> begin_ids() const { return {}; }

  // 16 hex digits over everything that decides the ids: equal fingerprints, equal encodings.
  virtual std::string fingerprint() const = 0;

  // The smallest p >= from with encode(text) == encode(text[0, p)) followed by encode(text[p, end)), which has
  // Before::text; text.size() when no such place is known. So a long document is tokenized by many threads without a change
  // of ids.
  virtual std::size_t next_cut(std::string_view text, std::size_t from) const = 0;

  // How many of the 256 bytes encode() drops, as no token spells them.
  virtual std::int64_t lacking_bytes() const { return 0; }

  // How many bytes encode(text) drops. Takes as long as encode() where `text` has such bytes.
  virtual std::int64_t dropped_bytes(std::string_view) const { return 0; }

  // A text that has begun with what is `before`; the ids of encode_with_plain(x, {}, before) give x.
  virtual std::unique_ptr<GrowingText> begin_text(Before before) const;

  // The text of all ids. The bytes may end inside a UTF-8 character.
  std::string decode(const std::vector<std::int32_t>& ids) const;
};

// `spec`: "bytes", a folder with tokenizer.json or else tokenizer.model, or such a file. Throws DataError when it is missing
// or asks for what is not supported (the part is named).
std::unique_ptr<Tokenizer> open_tokenizer(const std::string& spec);

// One id per byte, and three special tokens after them. Needs no file and no training.
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

// How many tokens a model knows, before its data are open.
// model.vocab, or else the size of data.tokenizer, rounded up as a model's is. Errors as open_tokenizer's.
std::int64_t vocabulary_of(const config::Settings& settings);

// Nothing where there is no such tokenizer here: the ranks report that.
std::optional<std::int64_t> vocabulary_here(const config::Settings& settings);

}  // namespace troika::tokenizer
