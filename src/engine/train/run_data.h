// What a run trains and evaluates on.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "data/samples.h"
#include "plan/plan.h"
#include "train/rank_context.h"

namespace troika::train {

struct RunData {
  std::shared_ptr<const data::Samples> samples, valid;  // valid: null without data.valid and data.valid_share
  std::vector<data::SourcePart> valid_sources;
  plan::DataFacts facts;
  config::DataSettings read;  // as the settings say, with the run's own tokenizer and chat template

  std::string fingerprint() const;
};

// Not collective; see open_data (rank_context.h). ConfigError without data.train.
RunData open_run_data(const RankContext& context);

// Of samples that are in memory, of a vocabulary of `vocab` tokens.
RunData data_of(std::shared_ptr<const data::Samples> samples, std::int64_t vocab, const config::DataSettings& settings);

}  // namespace troika::train
