// Sequences that are token ids already: JSON lines {"input_ids": [...], "labels": [...]} (docs/formats/tokenized-jsonl.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/language.h"
#include "data/input_text.h"
#include "data/sequences.h"

namespace troika::data {

struct TokenizedLine {
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> labels;  // as long as ids, ignore_index where there is no loss; empty: the ids themselves
  bool has_masks = false;            // more than input_ids and labels decided this
};

// Reads one object. `labels` may be missing; in it -100 means no loss. Where loss_mask, assistant_masks, completion_mask or
// response_mask is 0 there is none either, nor anywhere where the record is not to be learnt (record_format.h). Ids of which
// attention_mask is 0 are left out; they must be at the ends. Other keys are ignored, but for masks that are not known. Every id
// and label must lie in [0, vocab). DataError naming `origin` ("line 3 of 'x.jsonl'") and what is wrong, contradictions among them.
TokenizedLine parse_tokenized_line(std::string_view line, std::int64_t vocab, base::Origin origin);

// Sequence i is the i-th line that has ids. The file is mapped; of every line its place and length are kept, 16 bytes.
// Threads: const use is safe.
class TokenizedLines final : public Sequences {
 public:
  // Reads and checks all of it. `scratch`: where a compressed file is decompressed to, see InputText. DataError
  // naming file and line.
  TokenizedLines(const std::string& path, std::int64_t vocab, const std::string& scratch = "");

  std::int64_t count() const override { return static_cast<std::int64_t>(lines_.size()); }
  std::int64_t length(std::int64_t sequence) const override;
  void read(std::int64_t sequence, std::int32_t* ids, std::int32_t* labels) const override;
  std::string fingerprint() const override { return fingerprint_; }
  base::Text origin(std::int64_t sequence) const;  // "line 3 of 'x.jsonl'"

 private:
  struct Line {
    std::size_t begin = 0;
    std::int64_t ids = 0;
  };
  void find_lines();
  const Line& line(std::int64_t sequence) const;
  void refuse_other_length(std::int64_t sequence, const TokenizedLine& parsed) const;

  const std::string path_;
  const std::int64_t vocab_;
  const InputText file_;
  std::vector<Line> lines_;
  std::string fingerprint_;
};

}  // namespace troika::data
