// Byte-level byte-pair encoding (R. Sennrich et al. 2016; on bytes: GPT-2, A. Radford et al. 2019), as Hugging Face's
// tokenizer.json describes it: the same ids for the same text.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "data/added_tokens.h"
#include "data/pretokenizer.h"
#include "data/tokenizer.h"

namespace troika::data {

// A vocabulary as plain values.
struct BpeModel {
  std::vector<std::string> tokens;                            // bytes by id; "" where an id is not used
  std::vector<std::pair<std::int32_t, std::int32_t>> merges;  // pairs of ids, in order of rank
  std::vector<AddedToken> added;                              // found in the text before anything else
  std::vector<std::string> patterns = {qwen2_pattern};        // of the pre-tokenizer
  std::int32_t end_of_document = -1;
  bool whole_pieces_first = false;  // a piece that is a token is taken whole, whatever the merges say (`ignore_merges`)
};

// Threads: const use is safe. Each concurrent encode borrows a workspace with a cache of pieces; at most as many are
// kept as ever ran at once, each with at most some 10 MB. Invalid UTF-8: each invalid byte is a piece of its own, so
// the byte's token; the bytes come back on decoding.
class BpeTokenizer final : public Tokenizer {
 public:
  // Throws DataError when a byte has no token, a merge's result is no token, or a pattern is refused.
  explicit BpeTokenizer(BpeModel model);
  ~BpeTokenizer() override;

  std::vector<std::int32_t> encode(std::string_view text) const override;
  std::string id_to_bytes(std::int32_t id) const override;
  std::int64_t vocab_size() const override { return static_cast<std::int64_t>(model_.tokens.size()); }
  std::int32_t end_of_document_id() const override { return model_.end_of_document; }
  std::string fingerprint() const override;
  std::size_t next_cut(std::string_view text, std::size_t from) const override;

  const BpeModel& model() const { return model_; }

 private:
  struct Merge {
    std::int32_t rank, result;
  };
  struct Workspace;
  class Lease;

  void encode_plain(std::string_view text, Workspace* work, std::vector<std::int32_t>* ids) const;
  void encode_piece(std::string_view piece, Workspace* work, std::vector<std::int32_t>* ids) const;
  void merge_piece(std::string_view piece, Workspace* work, std::vector<std::int32_t>* ids) const;
  const Merge* find_merge(std::int32_t left, std::int32_t right) const;

  BpeModel model_;
  PreTokenizer pretokenizer_;
  AddedTokens added_;
  std::array<std::int32_t, 256> byte_ids_;
  std::unordered_map<std::uint64_t, Merge> merges_;         // by left id << 32 | right id
  std::unordered_map<std::string_view, std::int32_t> ids_;  // by bytes, views into model_.tokens
  mutable std::mutex mutex_;                                // guards idle_
  mutable std::vector<std::unique_ptr<Workspace>> idle_;
};

}  // namespace troika::data
