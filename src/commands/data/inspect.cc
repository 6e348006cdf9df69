
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/say.h"
#include "base/terminal_text.h"
#include "base/text.h"
#include "base/units.h"
#include "commands/data/data.h"
#include "config/batch.h"
#include "data/batches.h"
#include "data/opened_samples.h"
#include "data/samples.h"
#include "data/token_stream.h"
#include "plan/lengths.h"
#include "shape/layout.h"
#include "tokenizer/tokenizer.h"

namespace troika::commands {

static constexpr std::int64_t shown_tokens = 64;  // of one document

static std::unique_ptr<tokenizer::Tokenizer> matching_tokenizer(const std::string& spec,
                                                                const data::TokenStream& stream) {
  if (spec.empty()) return nullptr;
  auto tokenizer = tokenizer::open_tokenizer(spec);
  if (tokenizer->fingerprint() == stream.tokenizer_fingerprint()) return tokenizer;
  throw base::DataError(base::say("the tokens in '{}' come from a tokenizer with the fingerprint {}, but '{}' has {}: give the one that 'troika data prepare' used", stream.path(), stream.tokenizer_fingerprint(), spec,
                                  tokenizer->fingerprint()));
}

static std::string shown(const std::vector<std::int32_t>& ids, const tokenizer::Tokenizer* tokenizer) {
  if (tokenizer == nullptr) return fmt::format("{}", fmt::join(ids, " "));
  return base::printable_json(nlohmann::json(base::valid_utf8(tokenizer->decode(ids))).dump());
}

// The document with this number in the whole stream.
static std::string shown_document(const data::TokenStream& stream, std::int64_t number,
                                  const tokenizer::Tokenizer* tokenizer, base::Language language) {
  std::int64_t index = number;
  for (const data::TokenShard& shard : stream.shards()) {
    if (index >= shard.header().documents) {
      index -= shard.header().documents;
      continue;
    }
    const std::int64_t begin = index == 0 ? 0 : shard.document_end(index - 1), size = shard.document_end(index) - begin;
    std::vector<std::int32_t> ids(static_cast<std::size_t>(std::min(size, shown_tokens)));
    shard.read(begin, static_cast<std::int64_t>(ids.size()), ids.data());
    return base::say("document {} ({}): {}{}", number, base::counted_text(size, "token"), shown(ids, tokenizer),
                     size > shown_tokens ? " ..." : "")
               .in(language) +
           "\n";
  }
  throw base::BugError(fmt::format("document {} is not in '{}'", number, stream.path()));
}

std::string inspect_shards(const std::string& path, std::int64_t samples, const std::string& tokenizer_spec,
                           base::Language language) {
  const data::TokenStream stream = data::TokenStream::open(path, data::Verify::contents);
  const auto tokenizer = matching_tokenizer(tokenizer_spec, stream);
  const auto line = [&](base::Phrase title, const std::string& value) {
    return fmt::format("  {:<11} {}\n", title.in(language), value);
  };
  std::string text = path + "\n" + line(base::Phrase("tokens"), fmt::to_string(stream.tokens()));
  const double average = static_cast<double>(stream.tokens()) / static_cast<double>(stream.documents());
  text += line(base::Phrase("documents"), base::say("{} ({:.1f} tokens on average)", stream.documents(), average).in(language));
  text += line(base::Phrase("vocabulary"), fmt::to_string(stream.vocab_size()));
  text += line(base::Phrase("tokenizer"), stream.tokenizer_fingerprint()) + line(base::Phrase("data"), stream.fingerprint());
  for (const data::TokenShard& shard : stream.shards()) {
    text += line(base::Phrase("shard"), base::say("{}: {}, {}, {}, contents verified", shard.path().substr(shard.path().rfind('/') + 1),
                                    base::counted_text(shard.header().tokens, "token"),
                                    base::counted_text(shard.header().documents, "document"),
                                    base::format_bytes(base::file_size(shard.path())))
                              .in(language));
  }
  const std::int64_t count = std::min(samples, stream.documents());
  for (std::int64_t i = 0; i < count; ++i)
    text += shown_document(stream, i * stream.documents() / count, tokenizer.get(), language);
  return text;
}

namespace {

// A sample as people read it.
enum class LossMarks { color, brackets };  // green, or between U+27E6 and U+27E7
enum class TokenIds { hidden, shown };

struct SampleStyle {
  LossMarks marks = LossMarks::brackets;
  TokenIds ids = TokenIds::hidden;
};

struct Token {
  std::int32_t id = 0;
  bool has_loss = false;  // a position before it is taught to say it
};

using Tokens = std::vector<Token>;

Tokens tokens_of(const data::Samples& samples, std::int64_t number) {
  const data::TokenBatch sample = data::read_batch(samples, {number}, number);
  Tokens tokens;
  for (std::size_t t = 0; t < sample.inputs.size(); ++t)
    tokens.push_back({sample.inputs[t], t > 0 && sample.targets[t - 1] != data::ignore_index});
  return tokens;
}

struct Marks {
  const char *begin, *end;
};

Marks marks_of(LossMarks marks) {
  return marks == LossMarks::color ? Marks{"\033[32m", "\033[0m"} : Marks{"\u27e6", "\u27e7"};
}

// The same for text and ids: stretches with and without loss, as `show` puts them.
template <class Show>
std::string marked(const Tokens& tokens, std::size_t begin, std::size_t end, const SampleStyle& style, Show&& show) {
  const Marks marks = marks_of(style.marks);
  std::string text;
  for (std::size_t at = begin; at < end;) {
    std::size_t behind = at + 1;
    while (behind < end && tokens[behind].has_loss == tokens[at].has_loss) ++behind;
    const std::string shown = show(at, behind);
    text += tokens[at].has_loss ? marks.begin + shown + marks.end : shown;
    at = behind;
  }
  return text;
}

std::string text_of(const Tokens& tokens, std::size_t begin, std::size_t end, const tokenizer::Tokenizer& tokenizer,
                    const SampleStyle& style) {
  return marked(tokens, begin, end, style, [&](std::size_t from, std::size_t to) {
    std::string bytes;
    for (std::size_t i = from; i < to; ++i) bytes += tokenizer.id_to_bytes(tokens[i].id);
    return base::printable(bytes, bytes.size());
  });
}

std::string ids_shown(const Tokens& tokens, std::size_t begin, std::size_t end, const SampleStyle& style) {
  return "ids:" + marked(tokens, begin, end, style, [&](std::size_t from, std::size_t to) {
           std::string ids;
           for (std::size_t i = from; i < to; ++i) ids += fmt::format(" {}", tokens[i].id);
           return ids;
         });
}

std::int64_t with_loss(const Tokens& tokens) {
  return std::count_if(tokens.begin(), tokens.end(), [](const Token& token) { return token.has_loss; });
}

// A line with numbers, then the text; what carries loss is marked, documents that a sample holds have a line between
// them. Control characters are escaped.
std::string sample_text(const data::Samples& samples, std::int64_t number, const tokenizer::Tokenizer& tokenizer,
                        const SampleStyle& style, base::Language language) {
  const Tokens tokens = tokens_of(samples, number);
  std::vector<std::size_t> starts{0};
  for (const std::int64_t start : samples.document_starts(number)) starts.push_back(static_cast<std::size_t>(start));
  std::string text =
      base::say("sample {} of {}: {} of {}, {} with loss, {}", number, samples.samples(),
                base::counted_text(static_cast<std::int64_t>(tokens.size()), "token"), samples.seq_len(),
                with_loss(tokens), base::counted_text(static_cast<std::int64_t>(starts.size()), "document"))
          .in(language) +
      "\n";
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::size_t end = i + 1 < starts.size() ? starts[i + 1] : tokens.size();
    if (i > 0)
      text += base::say("--- document {} of this sample, from position {} ---", i, starts[i]).in(language) + "\n";
    text += text_of(tokens, starts[i], end, tokenizer, style) + "\n";
    if (style.ids == TokenIds::shown) text += ids_shown(tokens, starts[i], end, style) + "\n";
  }
  return text;
}

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
  if (!training && s.data.valid.empty())
    throw base::ConfigError(
        base::say("data.train is not set; give text, JSON lines or a name from dataset_info.json with --data.train"));
  const std::string cache = s.data.cache.empty() ? s.train.out + "/data" : s.data.cache;
  return data::open_samples({training ? s.data.train : s.data.valid, cache, s.batch.seq_len, s.model.vocab,
                             training ? data::Reading::training : data::Reading::evaluation, s.train.seed},
                            s.data, tokenizer, shown_progress(base::say("tokenizing"), progress, language));
}

// The batch of a run of these settings; one sample a microbatch where they describe none, which is for train to refuse.
config::Batch batch_of(const config::Settings& s) {
  config::Findings findings;
  const config::Batch batch = config::solve_open_batch(s.batch, std::max<std::int64_t>(s.parallel.dp, 1), &findings);
  if (findings.errors.empty()) return batch;
  config::Batch single;
  single.seq_len = s.batch.seq_len;
  return single;
}

// Nothing where every sample is full.
std::string lengths_of_data(const data::OpenedSamples& opened, config::Settings settings, base::Language language) {
  if (opened.samples->are_full()) return "";
  if (settings.model.vocab == 0) settings.model.vocab = shape::padded_vocabulary(opened.vocab);
  return plan::lengths_text(data::lengths_of(*opened.samples, data::sampler_of(*opened.samples, settings),
                                             data::rules_of(batch_of(settings)), plan::position_costs(settings.model)),
                            language);
}

std::vector<std::int64_t> numbers_of(const InspectArguments& a, std::int64_t samples) {
  if (a.sample && *a.sample >= samples)
    throw base::ConfigError(base::say("there is no sample {} (--sample): the samples are 0 to {}", *a.sample, samples - 1));
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
  if (!a.tokenizer.empty())
    throw base::ConfigError(base::say("--tokenizer is for prepared shards; for a run, use --data.tokenizer"));
  for (const auto& note : parsed.notes)
    if (progress != nullptr) std::fputs((base::say("note: {}", note).in(language) + "\n").c_str(), progress);
  const SampleStyle style = style_of(a, out);
  const auto tokenizer = tokenizer::open_tokenizer(settings.data.tokenizer);
  const data::OpenedSamples opened = open_data(settings, *tokenizer, language, progress);
  for (const base::Text& line : opened.report) std::fputs((line.in(language) + "\n").c_str(), out);
  std::fputs(lengths_of_data(opened, settings, language).c_str(), out);
  for (const std::int64_t number : numbers_of(a, opened.samples->samples()))
    std::fputs(("\n" + sample_text(*opened.samples, number, *tokenizer, style, language)).c_str(), out);
}

}  // namespace troika::commands
