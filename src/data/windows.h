// Prepared tokens as samples of which none is left out, for evaluation.
#pragma once

#include <memory>

#include "data/dataset.h"
#include "data/samples.h"

namespace troika::data {

// Sample i of length T has the inputs [i*T, i*T + T) and the token after each of them, as TokenDataset has; the last sample
// ends with the stream and is filled up with input 0 and no target. So every token but the first is a target once.
// Threads: const use is safe.
class TokenWindows final : public Samples {
 public:
  // DataError when the stream has fewer than two tokens.
  TokenWindows(std::shared_ptr<const TokenStream> stream, std::int64_t seq_len);

  std::int64_t samples() const override { return (stream_->tokens() - 2) / seq_len_ + 1; }
  std::int64_t seq_len() const override { return seq_len_; }
  void read(std::int64_t sample, std::int32_t* inputs, std::int32_t* targets) const override;
  std::vector<std::int64_t> document_starts(std::int64_t sample) const override;
  std::string fingerprint() const override;  // over the stream's and seq_len

 private:
  std::int64_t inputs_of(std::int64_t sample) const;

  const std::shared_ptr<const TokenStream> stream_;
  const std::int64_t seq_len_;
};

}  // namespace troika::data
