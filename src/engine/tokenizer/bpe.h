// Byte-pair encoding (R. Sennrich et al. 2016) of bytes (GPT-2, A. Radford et al. 2019) or of characters (SentencePiece, T. Kudo
// and J. Richardson 2018), as Hugging Face's tokenizer.json describes it: the same ids for the same text
// (docs/formats/tokenizer.md).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tokenizer/added_tokens.h"
#include "tokenizer/bpe_tables.h"
#include "tokenizer/merger.h"
#include "tokenizer/normalizer.h"
#include "tokenizer/piece_cuts.h"
#include "tokenizer/pretokenizer.h"
#include "tokenizer/text_decoder.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/unicode.h"

namespace troika::tokenizer {

// What the tokens of a vocabulary are.
enum class Alphabet {
  bytes,       // any bytes; merging begins with bytes
  characters,  // text, as U+2581 for a space, and names of bytes; merging begins with the characters of normalized text
};

// A vocabulary as plain values.
struct BpeModel {
  Alphabet alphabet = Alphabet::bytes;
  std::vector<std::string> tokens;  // by id, by which text is merged; "" where an id is not used
  std::vector<std::pair<std::int32_t, std::int32_t>> merges;  // pairs of ids, in order of rank; of equal pairs the last
  std::vector<AddedToken> added;      // found in the text before anything else; what their ids are shown as
  std::vector<std::int32_t> outside;  // ids that no merge makes: of tokens that no bytes spell, and of marks
  std::vector<NormalizerStep> normalizers;
  std::vector<Cut> cuts;                                // pre-tokenizers, before those of `patterns`
  std::vector<std::string> patterns = {qwen2_pattern};  // of pre-tokenizers that only cut
  std::int32_t end_of_document = -1;
  std::vector<std::int32_t> begin;  // Tokenizer::begin_ids
  bool whole_pieces_first = false;  // a piece that is a token is taken whole, whatever the merges say (`ignore_merges`)
  bool prefix_space = false;        // text between added tokens that begins with no space gets one (`add_prefix_space`)
  std::int32_t unknown = -1;        // what a byte that no token spells becomes (`unk_token`); -1: it is dropped
  bool fuse_unknown = false;        // such bytes in a row become one (`fuse_unk`)

  // Of characters only.
  std::vector<DecoderStep> decoders;
  bool byte_fallback = false;         // a character without a token becomes the tokens of its bytes
  std::vector<std::int32_t> order;    // Merger's; empty: each merge has a rank of its own
  bool added_without_prefix = false;  // normalized added tokens are found without what normalizers put before a text
};

// By id below `size`: whether it is among `ids`.
std::vector<bool> marked(std::size_t size, const std::vector<std::int32_t>& ids);

// By byte: whether no token spells it, so that text loses it or has `unknown` in its place.
LackingBytes lacking_bytes_of(const BpeModel& model);

// By byte: its token (`byte_fallback`), or -1.
std::array<std::int32_t, 256> byte_tokens_of(const BpeModel& model);

// What `id` is shown as: the content of the added token with that id, else the token. "" outside the vocabulary.
std::string text_of_token(const BpeModel& model, std::int32_t id);

// Threads: const use is safe. Each concurrent encode borrows a workspace; at most as many are kept as ever ran at once, each
// with caches of pieces (at most 5 MiB) and buffers that grow with the longest text and piece it met. Invalid UTF-8: each
// invalid byte is a piece of its own, so the byte's token; the bytes come back on decoding, of characters as U+FFFD.
class BpeTokenizer final : public Tokenizer {
 public:
  // Throws DataError when no byte (of bytes) has a token, a merge's result is no token, or a pattern is refused.
  explicit BpeTokenizer(BpeModel model);
  ~BpeTokenizer() override;

  std::vector<std::int32_t> encode(std::string_view text) const override {
    return encode_allowed(text, {}, Before::nothing);
  }
  std::vector<Stretch> control_tokens(std::string_view text) const override;
  std::vector<std::int32_t> encode_with_plain(std::string_view text, const std::vector<Stretch>& plain,
                                              Before before) const override;
  Before before_next(const std::vector<std::int32_t>& ids) const override;
  std::string id_to_bytes(std::int32_t id) const override;
  std::int64_t vocab_size() const override { return static_cast<std::int64_t>(model_.tokens.size()); }
  std::int32_t end_of_document_id() const override { return model_.end_of_document; }
  std::vector<std::int32_t> begin_ids() const override { return model_.begin; }
  std::string fingerprint() const override;
  std::size_t next_cut(std::string_view text, std::size_t from) const override;
  std::int64_t lacking_bytes() const override;
  std::int64_t dropped_bytes(std::string_view text) const override;
  std::unique_ptr<GrowingText> begin_text(Before before) const override;

  const BpeModel& model() const { return model_; }

 private:
  using Ids = std::vector<std::int32_t>;
  struct Workspace;
  class Lease;
  class DecodedText;

  std::string name_of(std::int32_t id) const;
  void take_added();
  void make_tables();
  void make_byte_tables();
  void find_cuts();
  Ids encode_allowed(std::string_view text, const AddedTokens::Allows& allows, Before before) const;
  Ids encode_with(std::string_view text, const AddedTokens::Allows& allows, Before before, Workspace* work) const;
  void encode_section(std::string_view text, const AddedTokens::Allows& allows, Before before, Workspace* work,
                      Ids* ids) const;
  void encode_plain(std::string_view text, Before before, Workspace* work, Ids* ids) const;
  void encode_cut(std::string_view text, Workspace* work, Ids* ids) const;
  void encode_characters(std::string_view text, Workspace* work, Ids* ids) const;
  void encode_pieces(const PieceRun& pieces, const char* readable_end, Workspace* work, Ids* ids) const;
  std::int32_t* encode_new(std::string_view piece, const ShortPieces::Key& key, std::size_t place, Workspace* work,
                           std::int32_t* ids) const;
  std::int32_t* encode_long(std::string_view piece, const char* readable_end, Workspace* work, std::int32_t* ids) const;
  template <class Cache>
  std::int32_t* encode_cached(std::string_view piece, const char* readable_end, Cache* cache, Workspace* work,
                              std::int32_t* ids) const;
  Merger::Merged merge(std::string_view piece, Workspace* work, std::int32_t* ids) const;

  BpeModel model_;
  std::shared_ptr<const UnicodeTable> unicode_;
  Normalizer normalizer_;
  PieceCuts cuts_;
  PreTokenizer pretokenizer_;
  TextDecoder decoder_;
  AddedTokens added_, normalized_added_,
      spelled_added_;  // the last: the second as they are in text that is not normalized
  std::unordered_set<std::int32_t> added_ids_;
  std::unordered_map<std::int32_t, std::string>
      shown_;  // added tokens that are shown as other bytes than model_.tokens
  std::unordered_map<std::int32_t, std::string>
      decoded_names_;  // of characters: normalized added tokens, which decode as they are looked for
  LackingBytes lacking_;
  TokenTable ids_;
  Merger merger_;
  std::array<bool, 256> cuts_before_{};  // by character: text may be cut between a newline and it
  mutable std::mutex mutex_;  // guards idle_
  mutable std::vector<std::unique_ptr<Workspace>> idle_;
};

// Training on counted words; data/prepare.h counts those of files.
struct BpeTrainerOptions {
  std::int64_t vocab_size = 8192;  // 256 bytes + merges + <|endoftext|>; at least 257
  std::int64_t min_count = 2;      // a pair seen less often is not merged
  std::int64_t workers = 0;        // threads that count words; 0: all cores
  std::string pattern = qwen2_pattern;
  std::string text_key = "text";
  // So much is counted of different pieces that are longer than 256 bytes, the first of them: text without breaks, as DNA or
  // Japanese, is few and long ones, and training on it takes about 40 bytes of memory for each of its bytes.
  std::size_t most_long_bytes = std::size_t{32} << 20;
};

// How often each piece of the pre-tokenizer occurs. Iterate only after sorting.
using WordCounts = std::unordered_map<std::string, std::int64_t>;

// The merges depend on the counts alone: each round takes the pair with the highest count, of equals the one whose left
// bytes, then right bytes, are smallest (compared as unsigned bytes). Fewer tokens than asked for when pairs run out.
// Ids: bytes in alphabet order, merges in order, <|endoftext|> last. Throws ConfigError for a vocabulary below 257.
BpeModel train_bpe(const WordCounts& words, const BpeTrainerOptions& options);

}  // namespace troika::tokenizer
