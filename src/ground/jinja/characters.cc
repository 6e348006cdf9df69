#include "jinja/characters.h"

#include <utf8proc.h>

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace troika::jinja {

std::vector<std::string_view> characters(std::string_view text) {
  std::vector<std::string_view> all;
  all.reserve(text.size());
  while (!text.empty()) {
    const std::size_t bytes = std::max<std::size_t>(base::utf8_character_bytes(text), 1);
    all.push_back(text.substr(0, bytes));
    text.remove_prefix(bytes);
  }
  return all;
}

std::size_t length(std::string_view text) {
  std::size_t count = 0;
  for (; !text.empty(); ++count) text.remove_prefix(std::max<std::size_t>(base::utf8_character_bytes(text), 1));
  return count;
}

std::int32_t code_point(std::string_view character) {
  if (base::utf8_character_bytes(character) == 0) return -1;
  utf8proc_int32_t point = -1;
  utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(character.data()),
                   static_cast<utf8proc_ssize_t>(character.size()), &point);
  return point;
}

void append_code_point(std::int32_t code_point, std::string* text) {
  utf8proc_uint8_t bytes[4];
  const utf8proc_ssize_t count = utf8proc_encode_char(code_point, bytes);
  text->append(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(count));
}

bool is_space(std::string_view character) {
  const std::int32_t c = code_point(character);
  if (c < 0x80) return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 ||
         c == 0x202F || c == 0x205F || c == 0x3000;
}

static utf8proc_category_t category(std::string_view character) {
  const std::int32_t c = code_point(character);
  return c < 0 ? UTF8PROC_CATEGORY_CN : utf8proc_category(c);
}

bool is_cased(std::string_view character) {
  const utf8proc_category_t kind = category(character);
  return kind == UTF8PROC_CATEGORY_LU || kind == UTF8PROC_CATEGORY_LL || kind == UTF8PROC_CATEGORY_LT;
}

bool is_letter(std::string_view character) {
  const utf8proc_category_t kind = category(character);
  return is_cased(character) || kind == UTF8PROC_CATEGORY_LM || kind == UTF8PROC_CATEGORY_LO;
}

bool is_digit(std::string_view character) { return category(character) == UTF8PROC_CATEGORY_ND; }

template <class Map>
static std::string mapped(std::string_view text, const Map& map) {
  std::string result;
  result.reserve(text.size());
  for (const std::string_view character : characters(text)) {
    const std::int32_t c = code_point(character);
    if (c < 0) {
      result += character;
    } else {
      append_code_point(map(c, character), &result);
    }
  }
  return result;
}

std::string lower(std::string_view text) {
  return mapped(text, [](std::int32_t c, std::string_view) { return utf8proc_tolower(c); });
}

static constexpr std::int32_t sharp_s = 0xDF;

std::string upper(std::string_view text) {
  std::string result;
  for (const std::string_view character : characters(text)) {
    const std::int32_t c = code_point(character);
    if (c == sharp_s) {
      result += "SS";
    } else if (c < 0) {
      result += character;
    } else {
      append_code_point(utf8proc_toupper(c), &result);
    }
  }
  return result;
}

std::string title(std::string_view text) {
  bool inside = false;
  return mapped(text, [&](std::int32_t c, std::string_view character) {
    const std::int32_t result = inside ? utf8proc_tolower(c) : utf8proc_totitle(c);
    inside = is_cased(character);
    return result;
  });
}

std::string capitalize(std::string_view text) {
  bool first = true;
  return mapped(text, [&](std::int32_t c, std::string_view) {
    return std::exchange(first, false) ? utf8proc_totitle(c) : utf8proc_tolower(c);
  });
}

static std::string_view last_character(std::string_view text) {
  std::size_t begin = text.size() - 1;
  while (begin > 0 && text.size() - begin < 4 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
  const bool whole = base::utf8_character_bytes(text.substr(begin)) == text.size() - begin;
  return whole ? text.substr(begin) : text.substr(text.size() - 1);
}

std::string_view strip(std::string_view text, const std::string* set, Side side) {
  const auto goes = [&](std::string_view character) {
    if (set == nullptr) return is_space(character);
    const std::vector<std::string_view> wanted = characters(*set);
    return std::find(wanted.begin(), wanted.end(), character) != wanted.end();
  };
  const auto first = [&] { return text.substr(0, std::max<std::size_t>(base::utf8_character_bytes(text), 1)); };
  while (side != Side::right && !text.empty() && goes(first())) text.remove_prefix(first().size());
  while (side != Side::left && !text.empty() && goes(last_character(text)))
    text.remove_suffix(last_character(text).size());
  return text;
}

}  // namespace troika::jinja
