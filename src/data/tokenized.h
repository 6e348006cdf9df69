// Samples that are token ids already: JSON lines {"input_ids": [...], "labels": [...]} (docs/formats/tokenized-jsonl.md).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "data/samples.h"

namespace troika::data {

struct TokenizedLine {
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> labels;  // as long as ids, no_target where there is no loss; empty: the ids themselves
  bool truncated = false;            // the line had more ids; these are the first `most_ids`
};

// Reads one object. `labels` may be missing; in it -100 means no loss. Other members are passed over. Every id and label of
// the line, cut off or not, must lie in [0, vocab). DataError naming `origin` ("line 3 of 'x.jsonl'") and what is wrong.
TokenizedLine parse_tokenized_line(std::string_view line, std::int64_t vocab, std::int64_t most_ids,
                                   const std::string& origin);

// Whether the first line of a .jsonl file that is not empty is an object with input_ids. A line that
// cannot be parsed counts by what stands before the fault; whatever reads the file says what is wrong.
bool looks_tokenized(const std::string& path);

// Sample i is the i-th line that is not empty, at most seq_len of its ids. The target of a position is the label of the next
// one; the last position and what fills the sample up (input 0) have none. The file is mapped, and its lines' places are
// kept: 8 bytes a sample. Threads: const use is safe.
class TokenizedSamples final : public Samples {
 public:
  // Reads and checks all of it. DataError naming file and line, or when no position of the file has a target.
  TokenizedSamples(const std::string& path, std::int64_t seq_len, std::int64_t vocab);

  std::int64_t samples() const override { return static_cast<std::int64_t>(lines_.size()); }
  std::int64_t seq_len() const override { return seq_len_; }
  void read(std::int64_t sample, std::int32_t* inputs, std::int32_t* targets) const override;
  std::vector<std::int64_t> document_starts(std::int64_t) const override { return {}; }
  std::string fingerprint() const override { return fingerprint_; }

  std::int64_t truncated() const { return truncated_; }  // lines cut to seq_len
  std::int64_t tokens() const { return tokens_; }        // kept ids of all samples

 private:
  TokenizedLine parse(std::int64_t sample) const;

  const std::string path_;
  const std::int64_t seq_len_, vocab_;
  const base::MappedFile file_;
  std::vector<std::size_t> lines_;  // where each begins
  std::int64_t truncated_ = 0, tokens_ = 0;
  std::string fingerprint_;
};

}  // namespace troika::data
