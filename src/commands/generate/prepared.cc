#include "commands/generate/prepared.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/error.h"
#include "base/say.h"
#include "comm/channel.h"
#include "commands/generate/recommended.h"
#include "model/dtype_of.h"
#include "train/rank_device.h"

namespace troika::commands {
namespace {

std::string tokenizer_name(const TextArguments& a, const weights::ModelSource& source) {
  const std::string name = a.tokenizer.empty() ? source.tokenizer() : a.tokenizer;
  if (name.empty())
    throw base::ConfigError(
        base::say("'{}' has no tokenizer.json; name the folder that has the model's with --tokenizer DIR", a.path));
  return name;
}

}  // namespace

Prepared prepare(const TextArguments& a, base::Language language) {
  Prepared prepared;
  const auto self = comm::make_self_channel("generate");
  prepared.source = weights::open_model(a.path, *self, a.base);
  prepared.tokenizer_name = tokenizer_name(a, *prepared.source);
  prepared.tokenizer = tokenizer::open_tokenizer(prepared.tokenizer_name);
  std::vector<base::Text> notes = prepared.source->notes();
  const inference::GenerationConfig recommendation = recommended(*prepared.source, a.advice, &prepared.advised_by);
  prepared.options = text_options(a, recommendation, *prepared.tokenizer);
  const base::Text foreign = inference::foreign_stop_ids(recommendation, prepared.source->model().vocab);
  if (!foreign.empty())
    notes.push_back(prepared.advised_by.empty() ? base::say("the model's config.json: {}", foreign)
                                                : base::say("'{}': {}", prepared.advised_by, foreign));
  for (const base::Text& note : notes) fmt::print(stderr, "{}\n", base::say("note: {}", note).in(language));
  return prepared;
}

void tell_advice(const Prepared& prepared, base::Language language) {
  if (prepared.advised_by.empty()) return;
  fmt::print(stderr, "{}\n", base::say("with {}: {}", prepared.advised_by, describe(prepared.options)).in(language));
}

inference::TextModel open_text_model(const TextArguments& a, const Prepared& prepared, std::int64_t context) {
  inference::TextModel::Options options;
  options.context = std::min(prepared.source->model().max_positions, context);
  options.device = train::rank_device(a.device, 0, {});
  options.dtype = model::dtype_of(a.precision);
  return {*prepared.source, options};
}

}  // namespace troika::commands
