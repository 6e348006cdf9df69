// One source of data.train or data.valid, opened by its content.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/language.h"
#include "config/settings/settings.h"
#include "data/chat_template.h"
#include "data/made_once.h"
#include "data/samples.h"
#include "data/source.h"
#include "tokenizer/tokenizer.h"

namespace troika::data {

// How data are read. The tokens of text and shards form one stream; training drops what does not fill the last sample,
// evaluation keeps it. Conversations and pre-tokenized lines are a sample each in both, or several with data.packing.
enum class Reading { training, evaluation };

struct OpenedSource {
  std::shared_ptr<const Samples> samples;
  std::int64_t vocab = 0;          // every id is below: the tokenizer's, or what bounds pre-tokenized lines
  std::int64_t tokens = 0;         // kept ids
  std::int64_t truncated = 0;      // sequences that were longer than seq_len and are cut to it
  std::vector<base::Text> report;  // what became of its records, plain lines
};

// The parameters that all sources are opened with.
struct Opening {
  const config::DataSettings& settings;
  const tokenizer::Tokenizer& tokenizer;
  std::function<const ChatTemplate&()> chat_template;  // asked for where there are conversations
  std::string cache;                                   // folder of what is tokenized
  std::int64_t seq_len = 0;
  std::int64_t vocab = 0;  // of the model, which bounds ids of pre-tokenized lines; 0: the tokenizer's
  Reading reading = Reading::training;
  OnProgress on_progress;
};

// DataError naming file, place and key. Text and conversations are prepared once (data/prepare.h).
OpenedSource open_source(const Source& source, const Opening& opening);

}  // namespace troika::data
