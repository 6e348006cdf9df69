#include "commands/data/sample_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/say.h"
#include "base/text.h"
#include "data/loader.h"

namespace troika::commands {
namespace {

struct Token {
  std::int32_t id = 0;
  bool has_loss = false;  // a position before it is taught to say it
};

using Tokens = std::vector<Token>;

// What fills a sample up is id 0 without loss at its end.
Tokens tokens_of(const data::Samples& samples, std::int64_t number) {
  const auto size = static_cast<std::size_t>(samples.seq_len());
  std::vector<std::int32_t> inputs(size), targets(size);
  samples.read(number, inputs.data(), targets.data());
  Tokens tokens;
  for (std::size_t t = 0; t < size; ++t) tokens.push_back({inputs[t], t > 0 && targets[t - 1] != data::ignore_index});
  while (tokens.size() > 1 && tokens.back().id == 0 && !tokens.back().has_loss) tokens.pop_back();
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

std::string ids_of(const Tokens& tokens, std::size_t begin, std::size_t end, const SampleStyle& style) {
  return "ids:" + marked(tokens, begin, end, style, [&](std::size_t from, std::size_t to) {
           std::string ids;
           for (std::size_t i = from; i < to; ++i) ids += fmt::format(" {}", tokens[i].id);
           return ids;
         });
}

std::int64_t with_loss(const Tokens& tokens) {
  return std::count_if(tokens.begin(), tokens.end(), [](const Token& token) { return token.has_loss; });
}

}  // namespace

std::string sample_text(const data::Samples& samples, std::int64_t number, const tokenizer::Tokenizer& tokenizer,
                        const SampleStyle& style, base::Language language) {
  const Tokens tokens = tokens_of(samples, number);
  std::vector<std::size_t> starts{0};
  for (const std::int64_t start : samples.document_starts(number))
    if (start < static_cast<std::int64_t>(tokens.size())) starts.push_back(static_cast<std::size_t>(start));
  std::string text =
      base::say("sample {} of {}: {} of {}, {} with loss, {}", number, samples.samples(),
                base::counted_text(static_cast<std::int64_t>(tokens.size()), "token"), samples.seq_len(),
                with_loss(tokens), base::counted_text(static_cast<std::int64_t>(starts.size()), "document"))
          .in(language) +
      "\n";
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const std::size_t end = i + 1 < starts.size() ? starts[i + 1] : tokens.size();
    if (i > 0) text += base::say("--- document {} of this sample, from position {} ---", i, starts[i]).in(language) + "\n";
    text += text_of(tokens, starts[i], end, tokenizer, style) + "\n";
    if (style.ids == TokenIds::shown) text += ids_of(tokens, starts[i], end, style) + "\n";
  }
  return text;
}

}  // namespace troika::commands
