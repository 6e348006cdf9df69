// Methods of str that cut a text.
#include <algorithm>

#include "jinja/characters.h"
#include "jinja/methods.h"

namespace troika::jinja {

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

// By white space; what is left behind `most` words keeps its white space inside and behind.
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
  if (call.text(0).empty()) throw Failure{"split by an empty string"};
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
  if (call.text(0).empty()) throw Failure{"partition by an empty string"};
  return partitioned(call, split_by(call.self_text(), call.text(0), 1), false);
}

static Value partition_back(Call& call) {
  if (call.text(0).empty()) throw Failure{"rpartition by an empty string"};
  return partitioned(call, split_back_by(call.self_text(), call.text(0), 1), true);
}

static constexpr Routine methods[] = {{"split", "sep? maxsplit?", split},
                                      {"rsplit", "sep? maxsplit?", split_back},
                                      {"splitlines", "keepends?", split_lines},
                                      {"partition", "sep", partition},
                                      {"rpartition", "sep", partition_back}};

const Routine* find_split_method(std::string_view name) { return find(methods, name); }

}  // namespace troika::jinja
