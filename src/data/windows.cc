#include "data/windows.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "data/loader.h"

namespace troika::data {

TokenWindows::TokenWindows(std::shared_ptr<const TokenStream> stream, std::int64_t seq_len)
    : stream_(std::move(stream)), seq_len_(seq_len) {
  if (seq_len < 1) throw base::BugError(fmt::format("a sample length of {} was asked", seq_len));
  if (stream_->tokens() < 2) {
    throw base::DataError(fmt::format("'{}' holds {} tokens, but an evaluation needs 2 at least: add text",
                                      stream_->path(), stream_->tokens()));
  }
}

std::int64_t TokenWindows::inputs_of(std::int64_t sample) const {
  return std::min(seq_len_, stream_->tokens() - 1 - sample * seq_len_);
}

void TokenWindows::read(std::int64_t sample, std::int32_t* inputs, std::int32_t* targets) const {
  if (sample < 0 || sample >= samples())
    throw base::BugError(fmt::format("sample {} asked from a data set of {}", sample, samples()));
  const std::int64_t first = sample * seq_len_, count = inputs_of(sample);
  stream_->read(first, count, inputs);
  stream_->read(first + 1, count, targets);
  std::fill(inputs + count, inputs + seq_len_, 0);
  std::fill(targets + count, targets + seq_len_, no_target);
}

std::vector<std::int64_t> TokenWindows::document_starts(std::int64_t sample) const {
  return stream_->document_starts(sample * seq_len_, inputs_of(sample));
}

std::string TokenWindows::fingerprint() const {
  return base::hash_bytes(fmt::format("windows {} {}", stream_->fingerprint(), seq_len_));
}

}  // namespace troika::data
