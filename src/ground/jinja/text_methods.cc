// Methods of str that give text.
#include <algorithm>

#include "base/say.h"
#include "base/text.h"
#include "jinja/characters.h"
#include "jinja/routine.h"
#include "jinja/operators.h"

namespace troika::jinja {

static Value stripped(const Call& call, Side side) {
  const bool by_set = !call.bound.empty() && call.argument(0) != nullptr && !call.argument(0)->is_none();
  const std::string* set = by_set ? &call.text(0) : nullptr;
  return call.rendering.text(std::string(strip(call.self_text(), set, side)));
}

static Value strip_both(Call& call) { return stripped(call, Side::both); }
static Value strip_left(Call& call) { return stripped(call, Side::left); }
static Value strip_right(Call& call) { return stripped(call, Side::right); }

static Value make_upper(Call& call) { return call.rendering.text(upper(call.self_text())); }
static Value make_lower(Call& call) { return call.rendering.text(lower(call.self_text())); }
static Value make_title(Call& call) { return call.rendering.text(title(call.self_text())); }
static Value make_capitalized(Call& call) { return call.rendering.text(capitalize(call.self_text())); }

// In front of each character and at the end, as Python replaces "".
static std::string spread(const std::string& text, const std::string& what, std::int64_t most) {
  std::string result;
  std::int64_t done = 0;
  for (const std::string_view character : characters(text)) {
    if (most < 0 || done++ < most) result += what;
    result += character;
  }
  return most < 0 || done < most ? result + what : result;
}

static Value replace(Call& call) {
  const std::string &text = call.self_text(), &from = call.text(0), &to = call.text(1);
  const std::int64_t most = call.argument(2) != nullptr && call.argument(2)->is_none() ? -1 : call.integer(2, -1);
  if (from.empty()) {
    call.rendering.charge(to.size(), text.size() + 1);
    return call.rendering.text(spread(text, to, most));
  }
  std::string result;
  std::size_t at = 0;
  for (std::int64_t done = 0; most < 0 || done < most; ++done) {
    const std::size_t found = text.find(from, at);
    if (found == std::string::npos) break;
    call.rendering.charge(to.size());
    result.append(text, at, found - at).append(to);
    at = found + from.size();
  }
  return call.rendering.text(result.append(text, at));
}

static Value join(Call& call) {
  std::string result;
  bool first = true;
  for (const Value& item : elements(*call.argument(0), call.rendering)) {
    if (item.text() == nullptr) throw Failure(base::say("join takes strings, not {}", type_name(item)));
    call.rendering.charge(call.self_text().size() + item.text()->size());
    if (!std::exchange(first, false)) result += call.self_text();
    result += *item.text();
  }
  return Value(std::move(result));
}

static Value remove_prefix(Call& call) {
  const std::string &text = call.self_text(), &prefix = call.text(0);
  return text.rfind(prefix, 0) == 0 ? call.rendering.text(text.substr(prefix.size())) : call.self;
}

static Value remove_suffix(Call& call) {
  const std::string &text = call.self_text(), &suffix = call.text(0);
  return base::ends_with(text, suffix) ? call.rendering.text(text.substr(0, text.size() - suffix.size())) : call.self;
}

static std::string filling(const Call& call, char c) {
  const std::int64_t missing = call.integer(0, 0) - static_cast<std::int64_t>(length(call.self_text()));
  const auto count = static_cast<std::size_t>(std::max<std::int64_t>(missing, 0));
  call.rendering.charge(count);
  return std::string(count, c);
}

static Value pad_right(Call& call) { return call.rendering.text(call.self_text() + filling(call, ' ')); }
static Value pad_left(Call& call) { return call.rendering.text(filling(call, ' ') + call.self_text()); }

static Value fill_zeros(Call& call) {
  const std::string& text = call.self_text();
  const std::size_t sign = !text.empty() && (text[0] == '-' || text[0] == '+') ? 1 : 0;
  return call.rendering.text(text.substr(0, sign) + filling(call, '0') + text.substr(sign));
}

static const Value& field(const Call& call, const std::string& name, std::size_t* next) {
  std::int64_t number = 0;
  const bool counts = name.empty(), numbered = !counts && base::parse_int(name, &number) && number >= 0;
  const std::size_t at = counts ? (*next)++ : static_cast<std::size_t>(number);
  if ((counts || numbered) && at < call.given.positional.size()) return call.given.positional[at];
  for (const auto& [key, value] : call.given.named)
    if (!counts && !numbered && key == name) return value;
  throw Failure(base::say("format has no value for '{{{}}}'; only names and numbers can be there", name));
}

static Value format(Call& call) {
  const std::string& text = call.self_text();
  std::string result;
  std::size_t next = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool doubled = at + 1 < text.size() && text[at] == text[at + 1];
    if (text[at] != '{' && text[at] != '}') {
      result += text[at];
    } else if (doubled) {
      result += text[at++];
    } else {
      const std::size_t end = text.find('}', at);
      if (text[at] == '}' || end == std::string::npos) throw Failure(base::say("format: a brace has no partner"));
      result += str(field(call, text.substr(at + 1, end - at - 1), &next), call.rendering);
      at = end;
    }
  }
  return call.rendering.text(std::move(result));
}

static constexpr Routine text_methods[] = {{"strip", "chars?", strip_both},
                                           {"lstrip", "chars?", strip_left},
                                           {"rstrip", "chars?", strip_right},
                                           {"upper", "", make_upper},
                                           {"lower", "", make_lower},
                                           {"title", "", make_title},
                                           {"capitalize", "", make_capitalized},
                                           {"replace", "old new count?", replace},
                                           {"join", "iterable", join},
                                           {"removeprefix", "prefix", remove_prefix},
                                           {"removesuffix", "suffix", remove_suffix},
                                           {"ljust", "width", pad_right},
                                           {"rjust", "width", pad_left},
                                           {"zfill", "width", fill_zeros},
                                           {"format", "*", format}};

const Routine* find_text_method(std::string_view name) {
  const Routine* found = find(text_methods, name);
  if (found == nullptr) found = find_split_method(name);
  return found == nullptr ? find_search_method(name) : found;
}

// Methods of str that cut a text.

static Value text_list(const Call& call, const std::vector<std::string_view>& parts) {
  std::vector<Value> values;
  for (const std::string_view part : parts) values.push_back(call.rendering.text(std::string(part)));
  return call.rendering.list(std::move(values));
}

static std::vector<std::string_view> split_by(std::string_view text, std::string_view between, std::size_t most) {
  std::vector<std::string_view> parts;
  for (std::size_t at; parts.size() < most && (at = text.find(between)) != std::string_view::npos;) {
    parts.push_back(text.substr(0, at));
    text.remove_prefix(at + between.size());
  }
  parts.push_back(text);
  return parts;
}

static std::vector<std::string_view> split_back_by(std::string_view text, std::string_view between, std::size_t most) {
  std::vector<std::string_view> parts;
  for (std::size_t at; parts.size() < most && (at = text.rfind(between)) != std::string_view::npos;) {
    parts.push_back(text.substr(at + between.size()));
    text = text.substr(0, at);
  }
  parts.push_back(text);
  std::reverse(parts.begin(), parts.end());
  return parts;
}

static std::size_t word_bytes(std::string_view text) {
  std::size_t bytes = 0;
  for (const std::string_view character : characters(text)) {
    if (is_space(character)) break;
    bytes += character.size();
  }
  return bytes;
}

// By white space; what is left behind `most` words keeps its white space inside and after.
static std::vector<std::string_view> words(std::string_view text, std::size_t most) {
  std::vector<std::string_view> all;
  for (text = strip(text, nullptr, Side::left); !text.empty(); text = strip(text, nullptr, Side::left)) {
    const std::size_t bytes = all.size() == most ? text.size() : word_bytes(text);
    all.push_back(text.substr(0, bytes));
    text.remove_prefix(bytes);
  }
  return all;
}

static std::vector<std::string_view> words_from_back(std::string_view text, std::size_t most) {
  const std::vector<std::string_view> all = words(text, std::string_view::npos);
  if (all.size() <= most) return all;
  std::vector<std::string_view> kept(all.end() - static_cast<std::ptrdiff_t>(most), all.end());
  const std::string_view last_left = all[all.size() - most - 1];
  const auto bytes = static_cast<std::size_t>(last_left.data() + last_left.size() - text.data());
  kept.insert(kept.begin(), text.substr(0, bytes));
  return kept;
}

static Value split_text(const Call& call, bool from_back) {
  const std::string& text = call.self_text();
  const std::int64_t most = call.integer(1, -1);
  const std::size_t cuts = most < 0 ? std::string_view::npos : static_cast<std::size_t>(most);
  if (call.argument(0) == nullptr || call.argument(0)->is_none())
    return text_list(call, from_back ? words_from_back(text, cuts) : words(text, cuts));
  if (call.text(0).empty()) throw Failure(base::say("split by an empty string"));
  return text_list(call, from_back ? split_back_by(text, call.text(0), cuts) : split_by(text, call.text(0), cuts));
}

static Value split(Call& call) { return split_text(call, false); }
static Value split_back(Call& call) { return split_text(call, true); }

static bool ends_line(std::string_view character) {
  const std::int32_t c = code_point(character);
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

static Value split_lines(Call& call) {
  std::vector<std::string_view> lines;
  std::string_view text = call.self_text();
  const bool keep_ends = call.flag(0, false);
  std::size_t begin = 0, at = 0;
  for (const std::string_view character : characters(text)) {
    const bool inside_pair = at > 0 && text[at - 1] == '\r' && character == "\n";
    if (inside_pair) begin = ++at;
    if (inside_pair && keep_ends) lines.back() = {lines.back().data(), lines.back().size() + 1};
    if (inside_pair) continue;
    at += character.size();
    if (!ends_line(character)) continue;
    lines.push_back(text.substr(begin, at - begin - (keep_ends ? 0 : character.size())));
    begin = at;
  }
  if (begin < text.size()) lines.push_back(text.substr(begin));
  return text_list(call, lines);
}

static Value partitioned(const Call& call, std::vector<std::string_view> parts, bool from_back) {
  const Value between = parts.size() > 1 ? Value(call.text(0)) : Value("");
  if (parts.size() == 1) parts.insert(from_back ? parts.begin() : parts.end(), "");
  return call.rendering.list(
      {call.rendering.text(std::string(parts[0])), between, call.rendering.text(std::string(parts[1]))},
      Sequence::Kind::tuple);
}

static Value partition(Call& call) {
  if (call.text(0).empty()) throw Failure(base::say("partition by an empty string"));
  return partitioned(call, split_by(call.self_text(), call.text(0), 1), false);
}

static Value partition_back(Call& call) {
  if (call.text(0).empty()) throw Failure(base::say("rpartition by an empty string"));
  return partitioned(call, split_back_by(call.self_text(), call.text(0), 1), true);
}

static constexpr Routine split_methods[] = {{"split", "sep? maxsplit?", split},
                                            {"rsplit", "sep? maxsplit?", split_back},
                                            {"splitlines", "keepends?", split_lines},
                                            {"partition", "sep", partition},
                                            {"rpartition", "sep", partition_back}};

const Routine* find_split_method(std::string_view name) { return find(split_methods, name); }

}  // namespace troika::jinja
