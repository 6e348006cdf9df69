#include "schedule/instruction.h"

#include <fmt/format.h>

#include <array>
#include <limits>

#include "base/error.h"
#include "base/text.h"

namespace troika::schedule {

static constexpr std::array<const char*, kind_count> names = {
    "load",        "fwd",       "refwd",     "bwd",           "bwd_input",   "bwd_weight",   "send_act",
    "recv_act",    "send_grad", "recv_grad", "gather_params", "free_params", "reduce_grads", "gather_grads",
    "reduce_tied", "norm",      "fetch",     "offload",       "step",        "loss"};

const char* name(Kind kind) { return names[static_cast<std::size_t>(kind)]; }

bool parse_kind(std::string_view text, Kind* kind) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (text != names[i]) continue;
    *kind = static_cast<Kind>(i);
    return true;
  }
  return false;
}

bool is_communication(Kind kind) {
  switch (kind) {
    case Kind::send_act:
    case Kind::recv_act:
    case Kind::send_grad:
    case Kind::recv_grad:
    case Kind::gather_params:
    case Kind::reduce_grads:
    case Kind::gather_grads:
    case Kind::reduce_tied:
    case Kind::norm:
    case Kind::loss:
      return true;
    default:
      return false;
  }
}

bool is_computation(Kind kind) {
  switch (kind) {
    case Kind::fwd:
    case Kind::refwd:
    case Kind::bwd:
    case Kind::bwd_input:
    case Kind::bwd_weight:
      return true;
    default:
      return false;
  }
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

[[noreturn]] static void refuse(std::string_view text, std::size_t position, const std::string& reason) {
  throw base::ConfigError(fmt::format("instruction '{}', character {}: {}", text, position + 1, reason));
}

static int parse_index(std::string_view part, std::string_view whole, std::size_t position) {
  if (part == "*") return -1;
  std::int64_t value = 0;
  if (!base::parse_int(part, &value) || value < 0 || value > std::numeric_limits<int>::max()) {
    refuse(whole, position, fmt::format("'{}' is neither a whole number nor '*'; write it like 'fwd 4.1'", part));
  }
  return static_cast<int>(value);
}

static Kind parse_kind_or_refuse(std::string_view word, std::string_view whole) {
  Kind kind = Kind::norm;
  if (parse_kind(word, &kind)) return kind;
  const std::string near = base::nearest(word, {names.begin(), names.end()});
  refuse(whole, 0,
         fmt::format("'{}' is no kind of instruction{}", word, near.empty() ? "" : "; nearest is '" + near + "'"));
}

Instruction parse_instruction(std::string_view text) {
  constexpr std::size_t longest = 60;  // a kind and three numbers are shorter
  if (text.size() > longest) refuse(text.substr(0, longest), longest, "an instruction is never that long");
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
  refuse(text, begin, "more than microbatch.stage.segment");
}

}  // namespace troika::schedule
