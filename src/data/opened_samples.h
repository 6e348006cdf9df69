// Opens what data.train and data.valid name, by what is in it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "config/settings.h"
#include "data/progress.h"
#include "data/samples.h"
#include "data/tokenizer.h"

namespace troika::data {

struct OpenedSamples {
  std::shared_ptr<const Samples> samples;
  std::int64_t vocab = 0;      // every id is below: the tokenizer's, or what bounds pre-tokenized lines
  std::int64_t tokens = 0;     // in the data
  std::int64_t truncated = 0;  // samples of pre-tokenized lines that were longer than seq_len and are cut to it
};

// How data are read. The tokens of text and shards form one stream; training drops what does not fill the last sample,
// evaluation keeps it. Pre-tokenized lines are a sample each in both.
enum class Reading { training, evaluation };

struct OpenRequest {
  std::string path;   // text, JSONL of text or of token ids, a folder of text, prepared shards
  std::string cache;  // where text is prepared to, see open_or_prepare
  std::int64_t seq_len = 0;
  std::int64_t vocab = 0;  // of the model, which bounds ids of pre-tokenized lines; 0: the tokenizer's
  Reading reading = Reading::training;
};

// `settings` for text_key and workers. DataError as open_or_prepare and the kinds of samples.
OpenedSamples open_samples(const OpenRequest& request, const config::DataSettings& settings, const Tokenizer& tokenizer,
                           const OnProgress& on_progress);

}  // namespace troika::data
