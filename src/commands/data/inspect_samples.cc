#include "commands/data/inspect_samples.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "commands/data/sample_text.h"
#include "commands/data/shown_progress.h"
#include "commands/own_flags.h"
#include "datasets/opened_samples.h"

namespace troika::commands {

const char* const inspect_usage =
    "troika data inspect - what a run would train on\n"
    "\n"
    "usage: troika data inspect [CONFIG.yaml] --data.train FILE [settings of train] [flags]\n"
    "       troika data inspect SHARDS [--samples N] [--tokenizer bytes|DIR]\n"
    "\n"
    "Opens the data as `troika train` with the same settings does, into the same cache, and shows samples as text; "
    "what\n"
    "carries loss is green, or stands between \u27e6 and \u27e7. data.valid is shown where data.train is not given. "
    "With\n"
    "prepared SHARDS: verifies them and shows documents.\n"
    "\n"
    "  --samples N      so many, evenly spread (default 3)\n"
    "  --sample INDEX   this one\n"
    "  --ids            token ids too\n"
    "  --color WHEN     auto, always or never\n";

namespace {

struct InspectFlags {
  std::int64_t samples = 3;
  std::int64_t sample = -1;  // below 0: evenly spread ones
  SampleStyle style;
};

LossMarks marks_of(const std::string& when, std::FILE* out) {
  if (when == "always") return LossMarks::color;
  if (when == "never") return LossMarks::brackets;
  if (when != "auto") throw base::ConfigError(fmt::format("--color may be auto, always or never, not '{}'", when));
  return ::isatty(::fileno(out)) == 1 ? LossMarks::color : LossMarks::brackets;
}

std::int64_t take_count(Words& words, const std::string& flag, std::int64_t otherwise) {
  const std::optional<std::string> text = take_value(words, flag);
  std::int64_t value = otherwise;
  if (text && (!base::parse_int(*text, &value) || value < 0))
    throw base::ConfigError(fmt::format("{} must be a whole number from 0, not '{}'", flag, *text));
  return value;
}

InspectFlags take_flags(Words& words, std::FILE* out) {
  InspectFlags flags;
  flags.samples = take_count(words, "--samples", flags.samples);
  flags.sample = take_count(words, "--sample", flags.sample);
  if (take_word(words, "--ids")) flags.style.ids = TokenIds::shown;
  flags.style.marks = marks_of(take_value(words, "--color").value_or("auto"), out);
  return flags;
}

datasets::OpenedSamples open_data(const config::Settings& s, const data::Tokenizer& tokenizer, std::FILE* progress) {
  const bool training = !s.data.train.empty();
  if (!training && s.data.valid.empty())
    throw base::ConfigError(
        "data.train is not set; name text, JSON lines or a name of dataset_info.json with --data.train");
  const std::string cache = s.data.cache.empty() ? s.train.out + "/data" : s.data.cache;
  return datasets::open_samples({training ? s.data.train : s.data.valid, cache, s.batch.seq_len, s.model.vocab,
                                 training ? datasets::Reading::training : datasets::Reading::evaluation, s.train.seed},
                                s.data, tokenizer, shown_progress("tokenizing", progress));
}

std::vector<std::int64_t> numbers_of(const InspectFlags& flags, std::int64_t samples) {
  if (flags.sample >= samples)
    throw base::ConfigError(
        fmt::format("--sample {} is not there: the samples are 0 to {}", flags.sample, samples - 1));
  if (flags.sample >= 0) return {flags.sample};
  std::vector<std::int64_t> numbers;
  const std::int64_t count = std::min(flags.samples, samples);
  for (std::int64_t i = 0; i < count; ++i) numbers.push_back(i * samples / count);
  return numbers;
}

}  // namespace

void inspect_samples(const std::vector<std::string>& arguments, const config::Environment& environment, std::FILE* out,
                     std::FILE* progress) {
  Words words = arguments;
  const InspectFlags flags = take_flags(words, out);
  const config::Settings settings = config::parse_settings(words, environment).settings;
  const auto tokenizer = data::open_tokenizer(settings.data.tokenizer);
  const datasets::OpenedSamples opened = open_data(settings, *tokenizer, progress);
  for (const std::string& line : opened.report) std::fputs((line + "\n").c_str(), out);
  for (const std::int64_t number : numbers_of(flags, opened.samples->samples()))
    std::fputs(("\n" + sample_text(*opened.samples, number, *tokenizer, flags.style)).c_str(), out);
}

}  // namespace troika::commands
