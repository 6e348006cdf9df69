#include "data/nfc.h"

#include <utf8proc.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "data/utf8.h"

namespace troika::data {

static int combining_class(utf8proc_int32_t c) { return utf8proc_get_property(c)->combining_class; }

// The canonical decomposition of all characters, marks in canonical order.
static std::vector<utf8proc_int32_t> decomposed(std::string_view text) {
  std::vector<utf8proc_int32_t> all;
  for (std::size_t at = 0; at < text.size();) {
    utf8proc_int32_t parts[8];
    int last_class = 0;
    const auto c = static_cast<utf8proc_int32_t>(next_code_point(text, &at));
    const auto how = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE);
    const utf8proc_ssize_t count = utf8proc_decompose_char(c, parts, 8, how, &last_class);
    if (count < 0 || count > 8) throw base::BugError("a character has no decomposition");
    all.insert(all.end(), parts, parts + count);
  }
  const auto is_mark = [](utf8proc_int32_t c) { return combining_class(c) != 0; };
  for (auto begin = all.begin(); begin != all.end();) {
    begin = std::find_if(begin, all.end(), is_mark);
    const auto end = std::find_if_not(begin, all.end(), is_mark);
    std::stable_sort(begin, end, [](auto a, auto b) { return combining_class(a) < combining_class(b); });
    begin = end;
  }
  return all;
}

static void append_normalized(std::string_view text, std::string* out) {
  std::vector<utf8proc_int32_t> all = decomposed(text);
  const auto composing = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
  const utf8proc_ssize_t count =
      utf8proc_normalize_utf32(all.data(), static_cast<utf8proc_ssize_t>(all.size()), composing);
  if (count < 0) throw base::BugError("text could not be composed");
  for (utf8proc_ssize_t i = 0; i < count; ++i)
    append_utf8(static_cast<std::uint32_t>(all[static_cast<std::size_t>(i)]), out);
}

// Behind the characters from `at` on that composition may change.
std::size_t Nfc::end_of_stretch(std::string_view text, std::size_t at) const {
  while (at < text.size() && base::utf8_character_bytes(text.substr(at)) != 0) {
    std::size_t behind = at;
    if (!table_->unsettled(next_code_point(text, &behind))) break;
    at = behind;
  }
  return at;
}

std::string_view Nfc::normalize(std::string_view text, std::string* storage) const {
  storage->clear();
  std::size_t copied = 0, settled = 0;  // where the settled character before `at` begins, else `at`
  for (std::size_t at = 0; at < text.size();) {
    if (static_cast<unsigned char>(text[at]) < 0x80) {
      settled = at++;
      continue;
    }
    std::size_t behind = at;
    const bool valid = base::utf8_character_bytes(text.substr(at)) != 0;
    if (!valid || !table_->unsettled(next_code_point(text, &behind))) {
      settled = valid ? at : at + 1;
      at = valid ? behind : at + 1;
      continue;
    }
    const std::size_t end = end_of_stretch(text, behind);
    storage->append(text, copied, settled - copied);
    append_normalized(text.substr(settled, end - settled), storage);
    copied = settled = at = end;
  }
  if (copied == 0) return text;
  storage->append(text, copied);
  return *storage;
}

}  // namespace troika::data
