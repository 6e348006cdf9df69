#include "commands/data/inspect_samples.h"

#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "base/say.h"
#include "commands/data/arguments.h"
#include "commands/data/sample_text.h"
#include "commands/data/shown_progress.h"
#include "data/opened_samples.h"

namespace troika::commands {

namespace {

constexpr std::int64_t usual_samples = 3;

SampleStyle style_of(const InspectArguments& a, std::FILE* out) {
  SampleStyle style;
  if (a.ids) style.ids = TokenIds::shown;
  const bool colors = a.colors == Colors::automatic ? ::isatty(::fileno(out)) == 1 : a.colors == Colors::always;
  style.marks = colors ? LossMarks::color : LossMarks::brackets;
  return style;
}

data::OpenedSamples open_data(const config::Settings& s, const tokenizer::Tokenizer& tokenizer, base::Language language,
                              std::FILE* progress) {
  const bool training = !s.data.train.empty();
  if (!training && s.data.valid.empty()) throw base::ConfigError(base::say("data.train is not set; name text, JSON lines or a name of dataset_info.json with --data.train"));
  const std::string cache = s.data.cache.empty() ? s.train.out + "/data" : s.data.cache;
  return data::open_samples({training ? s.data.train : s.data.valid, cache, s.batch.seq_len, s.model.vocab,
                             training ? data::Reading::training : data::Reading::evaluation, s.train.seed},
                            s.data, tokenizer, shown_progress(base::say("tokenizing").in(language), progress));
}

std::vector<std::int64_t> numbers_of(const InspectArguments& a, std::int64_t samples) {
  if (a.sample && *a.sample >= samples)
    throw base::ConfigError(base::say("--sample {} is not there: the samples are 0 to {}", *a.sample, samples - 1));
  if (a.sample) return {*a.sample};
  std::vector<std::int64_t> numbers;
  const std::int64_t count = std::min(a.samples.value_or(usual_samples), samples);
  for (std::int64_t i = 0; i < count; ++i) numbers.push_back(i * samples / count);
  return numbers;
}

}  // namespace

void inspect_samples(const std::vector<std::string>& arguments, const config::Environment& environment,
                     base::Language language, std::FILE* out, std::FILE* progress) {
  InspectArguments a;
  const config::ParsedSettings parsed = config::parse_settings(arguments, environment, inspect_flags(a));
  const config::Settings& settings = parsed.settings;
  if (!a.tokenizer.empty()) throw base::ConfigError(base::say("--tokenizer is for prepared shards; that of a run is --data.tokenizer"));
  for (const auto& note : parsed.notes)
    if (progress != nullptr) std::fputs((base::say("note: {}", note).in(language) + "\n").c_str(), progress);
  const SampleStyle style = style_of(a, out);
  const auto tokenizer = tokenizer::open_tokenizer(settings.data.tokenizer);
  const data::OpenedSamples opened = open_data(settings, *tokenizer, language, progress);
  for (const base::Text& line : opened.report) std::fputs((line.in(language) + "\n").c_str(), out);
  for (const std::int64_t number : numbers_of(a, opened.samples->samples()))
    std::fputs(("\n" + sample_text(*opened.samples, number, *tokenizer, style, language)).c_str(), out);
}

}  // namespace troika::commands
