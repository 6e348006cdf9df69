#include "train/run_data.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/file.h"
#include "train/tokenizer_copies.h"

namespace troika::train {

static std::string data_cache(const config::Settings& s) {
  return s.data.cache.empty() ? s.train.out + "/data" : s.data.cache;
}

static base::Text no_data(const config::Settings& s) {
  const std::string settings_of_run = s.model.path + "/config.yaml";
  if (!s.model.path.empty() && base::file_exists(settings_of_run))
    return base::say(
        "data.train is not set: '{}' is the folder of a run, with whose weights a training begins where --data.train "
        "PATH "
        "names its data; to continue that run give its settings: troika train {}",
        s.model.path, settings_of_run);
  return base::say("data.train is not set; name a text file, a folder or token shards with --data.train PATH");
}

// Samples of both kinds, and what a plan must know of them.
static RunData run_data(std::shared_ptr<const data::Samples> samples, std::shared_ptr<const data::Samples> valid,
                        plan::DataFacts facts, config::DataSettings read) {
  facts.samples = samples->samples();
  facts.fingerprint = samples->fingerprint();
  if (valid != nullptr) facts.valid_samples = valid->samples();
  facts.documents = data::documents_of(*samples, valid.get());
  return {std::move(samples), std::move(valid), {}, std::move(facts), std::move(read)};
}

RunData data_of(std::shared_ptr<const data::Samples> samples, std::int64_t vocab,
                const config::DataSettings& settings) {
  plan::DataFacts facts;
  facts.vocab = vocab;
  return run_data(std::move(samples), nullptr, facts, settings);
}

RunData open_run_data(const RankContext& context) {
  const config::Settings& s = context.resolved.settings;
  if (s.data.train.empty()) throw base::ConfigError(no_data(s));
  const config::DataSettings read = with_copies_of_run(s);
  if (const base::Text text = replaced_tokenizer(s.data, read); !text.empty())
    say(context, base::say("note: {}", text));
  const auto tokenizer = tokenizer::open_tokenizer(read.tokenizer);
  data::OpenedSamples train =
      open_data(context, {s.data.train, data_cache(s), data::Reading::training, read}, *tokenizer);
  plan::DataFacts facts;
  facts.vocab = train.vocab;
  facts.tokens = train.tokens;
  std::shared_ptr<const data::Samples> valid = train.validation;
  std::vector<data::SourcePart> valid_sources = train.parts;
  if (!s.data.valid.empty()) {
    const data::OpenedSamples opened =
        open_data(context, {s.data.valid, data_cache(s), data::Reading::evaluation, read}, *tokenizer);
    valid = opened.samples;
    valid_sources = opened.parts;
    facts.vocab = std::max(facts.vocab, opened.vocab);
  }
  RunData data = run_data(train.samples, valid, facts, read);
  data.valid_sources = valid_sources;
  return data;
}

std::string RunData::fingerprint() const {
  return facts.fingerprint + (valid == nullptr ? "" : " " + valid->fingerprint());
}

}  // namespace troika::train
