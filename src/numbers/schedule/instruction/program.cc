// Shares of a program, and the text form of whole programs.
#include "schedule/instruction/program.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "schedule/check/checker.h"

namespace troika::schedule {

int Program::share_begin(int dp_rank) const {
  return shares.empty() ? dp_rank * share_size(0) : std::accumulate(shares.begin(), shares.begin() + dp_rank, 0);
}

int Program::dp_rank_of(int microbatch) const {
  if (shares.empty()) return microbatch / share_size(0);
  int dp_rank = 0;
  while (dp_rank + 1 < dp && microbatch >= share_begin(dp_rank + 1)) ++dp_rank;
  return dp_rank;
}

std::vector<int> Program::microbatches_of(int dp_rank) const {
  std::vector<int> share(static_cast<std::size_t>(share_size(dp_rank)));
  std::iota(share.begin(), share.end(), share_begin(dp_rank));
  return share;
}

static constexpr std::string_view separator = " | ";

static std::string list_text(const std::vector<int>& numbers) {
  std::vector<std::string> words;
  words.reserve(numbers.size());
  for (const int number : numbers) words.push_back(std::to_string(number));
  return base::join(words, ",");
}

std::string to_text(const Program& program) {
  const std::string from = program.first_trained > 0 ? fmt::format(" trained_from {}", program.first_trained) : "";
  const std::string shares = program.shares.empty() ? "" : " shares " + list_text(program.shares);
  std::string text =
      fmt::format("pp {} dp {} replicas {} zero {} microbatches {}{} stages {} segments {}{}{}{}\n", program.pp,
                  program.dp, program.replicas, program.zero, program.microbatches, shares,
                  list_text(program.pp_rank_of_stage), list_text(program.segment_begin), program.tied ? " tied" : "",
                  from, program.evaluates() ? " evaluation" : "");
  for (const auto& rank : program.ranks) {
    std::vector<std::string> words;
    words.reserve(rank.size());
    for (const auto& instruction : rank) words.push_back(to_text(instruction));
    text += base::join(words, separator) + "\n";
  }
  return text;
}

namespace {

// Reads the words of the first line one after the other.
class Header {
 public:
  explicit Header(std::string_view line) : line_(line), words_(base::split(line, ' ')) {}

  Program read() {
    Program program;
    program.pp = number("pp");
    program.dp = number("dp");
    program.replicas = number("replicas");
    program.zero = number("zero");
    program.microbatches = number("microbatches");
    if (next_ < words_.size() && words_[next_] == "shares") program.shares = list("shares", max_ranks);
    program.pp_rank_of_stage = list("stages", max_stages);
    program.segment_begin = list("segments", max_stages + 1);
    program.tied = take("tied");
    if (next_ < words_.size() && words_[next_] == "trained_from") program.first_trained = number("trained_from");
    take("all_load");  // of earlier versions, whose stages in the middle read tokens
    program.task = take("evaluation") ? Task::evaluation : Task::training;
    if (words_.size() > next_) refuse(base::say("word {}: only 'tied', 'trained_from' and 'evaluation' may follow the segments, in this order", next_ + 1));
    const base::Text wrong = wrong_sizes(program);
    if (!wrong.empty()) refuse(wrong);
    return program;
  }

 private:
  [[noreturn]] void refuse(const base::Text& reason) const {
    throw base::ConfigError(base::say("program text, line 1 '{}': {}; it looks like 'pp 2 dp 1 replicas 1 zero 0 microbatches 4 stages 0,1 segments 0,3,6 tied'", line_.substr(0, 200), reason));
  }

  const std::string& value_of(const char* key) {
    if (next_ + 1 >= words_.size() || words_[next_] != key) refuse(base::say("word {} must be '{}', and a value must follow", next_ + 1, key));
    next_ += 2;
    return words_[next_ - 1];
  }

  int parse(const char* key, const std::string& word) const {
    std::int64_t value = 0;
    if (!base::parse_int(word, &value) || value < 0 || value > max_microbatches) {
      refuse(base::say("word {} ('{}') must hold whole numbers from 0 to {}, not '{}'", next_, key, max_microbatches, word));
    }
    return static_cast<int>(value);
  }

  bool take(const char* word) {
    const bool there = next_ < words_.size() && words_[next_] == word;
    if (there) ++next_;
    return there;
  }

  int number(const char* key) { return parse(key, value_of(key)); }

  std::vector<int> list(const char* key, int most) {
    const auto words = base::split(value_of(key), ',');
    if (words.size() > static_cast<std::size_t>(most)) refuse(base::say("word {} ('{}') has more than {} numbers", next_, key, most));
    std::vector<int> numbers;
    for (const auto& word : words) numbers.push_back(parse(key, word));
    return numbers;
  }

  std::string_view line_;
  std::vector<std::string> words_;
  std::size_t next_ = 0;
};

}  // namespace

static std::vector<Instruction> parse_rank(const std::string& line, std::size_t line_number) {
  std::vector<Instruction> rank;
  if (line.empty()) return rank;
  for (std::size_t begin = 0;;) {
    const std::size_t end = line.find(separator, begin);
    try {
      rank.push_back(
          parse_instruction(std::string_view(line).substr(begin, end == std::string::npos ? end : end - begin)));
    } catch (base::Error& error) {
      error.add_context(base::say("in line {} of the program text, column {}, instruction {} of grid rank {}",
                                    line_number, begin + 1, rank.size(), line_number - 2));
      throw;
    }
    if (end == std::string::npos) return rank;
    begin = end + separator.size();
  }
}

Program parse_program(std::string_view text) {
  if (!text.empty() && text.back() == '\n') text.remove_suffix(1);
  const auto lines = base::split(text, '\n');
  Program program = Header(lines.empty() ? std::string_view() : std::string_view(lines[0])).read();
  const auto wanted = static_cast<std::size_t>(program.pp) * static_cast<std::size_t>(program.dp);
  if (lines.size() - 1 != wanted) {
    throw base::ConfigError(base::say("program text has {} rank lines, but pp {} x dp {} needs {}", lines.size() - 1, program.pp, program.dp, wanted));
  }
  for (std::size_t i = 1; i < lines.size(); ++i) program.ranks.push_back(parse_rank(lines[i], i + 1));
  return program;
}

std::string to_text(const Instruction& instruction) {
  const std::array<int, 3> parts = {instruction.microbatch, instruction.stage, instruction.segment};
  std::size_t used = parts.size();
  while (used > 0 && parts[used - 1] < 0) --used;
  std::string text = name(instruction.kind);
  for (std::size_t i = 0; i < used; ++i) {
    text += i == 0 ? ' ' : '.';
    text += parts[i] < 0 ? "*" : std::to_string(parts[i]);
  }
  return text;
}

[[noreturn]] static void refuse(std::string_view text, std::size_t position, const base::Text& reason) {
  throw base::ConfigError(base::say("instruction '{}', character {}: {}", text, position + 1, reason));
}

static int parse_index(std::string_view part, std::string_view whole, std::size_t position) {
  if (part == "*") return -1;
  std::int64_t value = 0;
  if (!base::parse_int(part, &value) || value < 0 || value > std::numeric_limits<int>::max()) {
    refuse(whole, position, base::say("'{}' is neither a whole number nor '*'; write it like 'fwd 4.1'", part));
  }
  return static_cast<int>(value);
}

static Kind parse_kind(std::string_view word, std::string_view whole) {
  std::vector<std::string> names;
  for (const Traits& row : kinds) {
    if (word == row.name) return row.kind;
    names.emplace_back(row.name);
  }
  const std::string near = base::nearest(word, names);
  refuse(whole, 0,
         base::say("'{}' is not an instruction{}", word,
                   near.empty() ? base::Text{} : base::say("; did you mean '{}'?", near)));
}

Instruction parse_instruction(std::string_view text) {
  constexpr std::size_t longest = 60;  // a kind and three numbers are shorter
  if (text.size() > longest) refuse(text.substr(0, longest), longest, base::say("an instruction is never that long"));
  const std::size_t space = text.find(' ');
  Instruction instruction;
  instruction.kind = parse_kind(text.substr(0, space), text);
  if (space == std::string_view::npos) return instruction;
  const std::array<int*, 3> fields = {&instruction.microbatch, &instruction.stage, &instruction.segment};
  std::size_t begin = space + 1;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::size_t dot = text.find('.', begin);
    *fields[i] = parse_index(text.substr(begin, dot == std::string_view::npos ? dot : dot - begin), text, begin);
    if (dot == std::string_view::npos) return instruction;
    begin = dot + 1;
  }
  refuse(text, begin, base::say("more than microbatch.stage.segment"));
}

}  // namespace troika::schedule
