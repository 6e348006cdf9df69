#include "schedule/instruction/instruction.h"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <vector>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"

namespace troika::schedule {

bool parse_kind(std::string_view text, Kind* kind) {
  for (const Traits& row : kinds) {
    if (text != row.name) continue;
    *kind = row.kind;
    return true;
  }
  return false;
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

static Kind parse_kind_or_refuse(std::string_view word, std::string_view whole) {
  Kind kind = Kind::norm;
  if (parse_kind(word, &kind)) return kind;
  std::vector<std::string> names;
  for (const Traits& row : kinds) names.emplace_back(row.name);
  const std::string near = base::nearest(word, names);
  refuse(whole, 0,
         base::say("'{}' is no kind of instruction{}", word,
                   near.empty() ? base::Text{} : base::say("; nearest is '{}'", near)));
}

Instruction parse_instruction(std::string_view text) {
  constexpr std::size_t longest = 60;  // a kind and three numbers are shorter
  if (text.size() > longest) refuse(text.substr(0, longest), longest, base::say("an instruction is never that long"));
  const std::size_t space = text.find(' ');
  Instruction instruction;
  instruction.kind = parse_kind_or_refuse(text.substr(0, space), text);
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
