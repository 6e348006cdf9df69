#include "base/language.h"

#include <fmt/format.h>

#include "base/catalogue.h"
#include "base/error.h"
#include "base/say.h"

namespace troika::base {

Language language_of(const std::string& word, const std::string& locale) {
  if (word == "en") return Language::english;
  if (word == "zh") return Language::chinese;
  if (word != "auto")
    throw ConfigError(say("--lang must be en, zh or auto, not '{}'", word));
  return locale.rfind("zh", 0) == 0 ? Language::chinese : Language::english;
}

std::string_view Phrase::in(Language language) const {
  if (language == Language::english) return english_;
  const std::string key = context_.empty() ? std::string(english_) : std::string(context_).append("\x04").append(english_);
  const auto found = chinese_catalogue().find(key);
  return found == chinese_catalogue().end() ? std::string_view(english_) : std::string_view(found->second);
}

namespace {

// Appends the characters of a line `"..."`.
void append_unescaped(std::string_view quoted, std::string* text) {
  for (std::size_t i = 0; i < quoted.size(); ++i) {
    if (quoted[i] == '\\' && i + 1 < quoted.size()) {
      const char next = quoted[++i];
      text->push_back(next == 'n' ? '\n' : next == 't' ? '\t' : next);
    } else {
      text->push_back(quoted[i]);
    }
  }
}

struct Entry {
  std::string context, english, chinese;
  bool fuzzy = false;
};

void keep(const Entry& entry, Catalogue* all) {
  if (entry.english.empty() || entry.chinese.empty() || entry.fuzzy) return;
  all->emplace(entry.context.empty() ? entry.english : entry.context + '\x04' + entry.english, entry.chinese);
}

}  // namespace

Catalogue parse_catalogue(std::string_view po) {
  Catalogue all;
  Entry entry;
  std::string* open = nullptr;
  for (std::size_t begin = 0; begin < po.size();) {
    const std::size_t end = std::min(po.find('\n', begin), po.size());
    std::string_view line = po.substr(begin, end - begin);
    begin = end + 1;
    if (line.empty()) {
      keep(entry, &all);
      entry = {};
      open = nullptr;
      continue;
    }
    if (line.front() == '#') {
      entry.fuzzy = entry.fuzzy || line.find("fuzzy") != std::string_view::npos;
      continue;
    }
    for (const auto& [keyword, part] : {std::pair<std::string_view, std::string*>{"msgctxt ", &entry.context},
                                        {"msgid ", &entry.english},
                                        {"msgstr ", &entry.chinese}})
      if (line.substr(0, keyword.size()) == keyword) {
        open = part;
        line.remove_prefix(keyword.size());
      }
    if (open == nullptr || line.size() < 2 || line.front() != '"' || line.back() != '"')
      throw BugError(fmt::format("a catalogue has the line: {}", line));
    append_unescaped(line.substr(1, line.size() - 2), open);
  }
  keep(entry, &all);
  return all;
}

const Catalogue& chinese_catalogue() {
  static const Catalogue all = parse_catalogue(embedded_catalogues().front().bytes);
  return all;
}

}  // namespace troika::base
