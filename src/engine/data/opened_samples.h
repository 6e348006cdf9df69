// Opens the sources that data.train and data.valid name, each by its content.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/language.h"
#include "config/settings/settings.h"
#include "data/made_once.h"
#include "data/opened_source.h"
#include "data/samples.h"
#include "tokenizer/tokenizer.h"

namespace troika::data {

// All of them as one source.
struct OpenedSamples : OpenedSource {
  std::shared_ptr<const Samples> validation;  // what data.valid_share keeps; null without it
  std::vector<SourcePart> parts;              // of what is evaluated on: `samples` read so, else `validation`
};

struct OpenRequest {
  std::string stated;  // data.train or data.valid
  std::string cache;   // folder of what is tokenized
  std::int64_t seq_len = 0;
  std::int64_t vocab = 0;  // of the model; 0: the tokenizer's
  Reading reading = Reading::training;
  std::uint64_t seed = 0;  // decides which samples data.valid_share and fractions of sources take
};

// Weights, data.mix and data.valid_share count for training only; sources to evaluate on follow each other.
// A source of weight 0 is not opened. Each source is split by itself, so that no sample is in both parts (see
// validation_counts). It is split by samples: of a conversation that becomes several, or of a document of text, a
// part may be in each. ConfigError when there are not as many data.weights as sources; DataError as open_source and
// find_sources.
OpenedSamples open_samples(const OpenRequest& request, const config::DataSettings& settings,
                           const tokenizer::Tokenizer& tokenizer, const OnProgress& on_progress);

}  // namespace troika::data
