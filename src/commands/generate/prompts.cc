#include "commands/generate/prompts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/say.h"
#include "base/cause.h"
#include "base/terminal_text.h"
#include "base/text.h"

namespace troika::commands {
namespace {

PromptLine parse_line(const std::string& line, int number, const std::string& path) {
  const base::Text origin = base::say("line {} of '{}'", number, path);
  PromptLine one{base::parse_json(line, origin), "", number};
  if (!one.object.is_object()) throw base::DataError(base::say("{} is not a JSON object", origin));
  for (const char* key : {"prompt", "text"}) {
    const auto found = one.object.find(key);
    if (found == one.object.end()) continue;
    if (!found->is_string()) throw base::DataError(base::say("{}: {} is not a string", origin, key));
    one.prompt = found->get<std::string>();
    return one;
  }
  throw base::DataError(base::say("{} has neither a key \"prompt\" nor \"text\"", origin));
}

}  // namespace

std::vector<PromptLine> read_prompts(const std::string& path) {
  std::vector<PromptLine> prompts;
  int number = 0;
  for (const std::string& line : base::split(base::read_file(path), '\n')) {
    ++number;
    if (!base::trim(line).empty()) prompts.push_back(parse_line(line, number, path));
  }
  if (prompts.empty()) throw base::DataError(base::say("'{}' holds no prompts", path));
  return prompts;
}

void describe(const inference::Text& text, const std::string& completion, nlohmann::json* object) {
  (*object)["completion"] = base::valid_utf8(completion);
  (*object)["tokens"] = text.tokens();
  (*object)["finish"] = text.finish() == inference::Finish::stop ? "stop" : "length";
}

std::string to_line(const nlohmann::json& object) {
  return base::printable_json(object.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)) + "\n";
}

OrderedLines::OrderedLines(const std::string& path) : path_(path), file_(std::fopen(path.c_str(), "w")) {
  if (file_ == nullptr) throw base::DataError(base::say("cannot write '{}': {}", path, base::system_cause(errno)));
}

OrderedLines::~OrderedLines() { std::fclose(file_); }

void OrderedLines::add(std::size_t index, std::string line) {
  waiting_.emplace(index, std::move(line));
  for (auto first = waiting_.begin(); first != waiting_.end() && first->first == next_; first = waiting_.erase(first)) {
    const std::string& text = first->second;
    if (std::fwrite(text.data(), 1, text.size(), file_) != text.size() || std::fflush(file_) != 0)
      throw base::DataError(base::say("cannot write '{}': {}", path_, base::system_cause(errno)));
    ++next_;
  }
}

BatchProgress::BatchProgress(std::size_t total, base::Language language)
    : total_(total), language_(language), begin_(base::monotonic_seconds()), last_(begin_) {}

void BatchProgress::show(std::size_t done) {
  const double now = base::monotonic_seconds();
  if (now - last_ < 1 && done < total_) return;
  last_ = now;
  fmt::print(stderr, "{}\n",
             base::say("{}/{} texts, {}, {:.1f} tokens/s", done, total_,
                       base::counted_text(static_cast<std::int64_t>(tokens_), "token"),
                       static_cast<double>(tokens_) / std::max(now - begin_, 1e-9))
                 .in(language_));
}

namespace {
using Ids = std::vector<std::int32_t>;

Ids with_begin(Ids ids, const Ids& begin) {
  const bool has_it = ids.size() >= begin.size() && std::equal(begin.begin(), begin.end(), ids.begin());
  if (!has_it) ids.insert(ids.begin(), begin.begin(), begin.end());
  return ids;
}

}  // namespace

Ids ids_of(const std::string& prompt, const tokenizer::Tokenizer& tokenizer, const config::ModelSettings& model,
           base::Origin what) {
  Ids ids = with_begin(tokenizer.encode(prompt), tokenizer.begin_ids());
  const std::int32_t end = tokenizer.end_of_document_id();
  if (ids.empty() && end >= 0) ids = {end};
  if (ids.empty())
    throw base::ConfigError(base::say("{} is empty, and the tokenizer has no token to begin a text with", what));
  check_ids(ids, model.vocab, what);
  if (static_cast<std::int64_t>(ids.size()) >= model.max_positions)
    throw base::ConfigError(base::say("{} has {} tokens, but the model has {} positions; shorten it to {} at most",
                                      what, ids.size(), model.max_positions, model.max_positions - 1));
  return ids;
}

void check_ids(const Ids& ids, std::int64_t vocab, base::Origin what) {
  for (const std::int32_t id : ids) {
    if (id >= vocab)
      throw base::ConfigError(
          base::say("{} has the token {}, but the model has only {} tokens; use another tokenizer", what, id, vocab));
  }
}

}  // namespace troika::commands
