#include "data/opened_samples.h"

#include "base/file.h"
#include "data/dataset.h"
#include "data/prepare.h"
#include "data/tokenized.h"
#include "data/windows.h"

namespace troika::data {

static bool is_json_lines(const std::string& path) {
  const std::string ending = ".jsonl";
  return path.size() >= ending.size() && path.compare(path.size() - ending.size(), ending.size(), ending) == 0 &&
         base::file_exists(path);
}

OpenedSamples open_samples(const OpenRequest& request, const config::DataSettings& settings, const Tokenizer& tokenizer,
                           const OnProgress& on_progress) {
  if (is_json_lines(request.path) && looks_tokenized(request.path)) {
    const std::int64_t vocab = request.vocab > 0 ? request.vocab : tokenizer.vocab_size();
    const auto samples = std::make_shared<const TokenizedSamples>(request.path, request.seq_len, vocab);
    return {samples, vocab, samples->tokens(), samples->truncated()};
  }
  const auto stream = open_or_prepare(settings, request.path, request.cache, tokenizer, on_progress);
  if (request.reading == Reading::training)
    return {std::make_shared<const TokenDataset>(stream, request.seq_len), stream->vocab_size(), stream->tokens(), 0};
  return {std::make_shared<const TokenWindows>(stream, request.seq_len), stream->vocab_size(), stream->tokens(), 0};
}

}  // namespace troika::data
