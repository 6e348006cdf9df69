#include "diagnosis/rules.h"

#include <algorithm>

#include "base/text.h"
#include "diagnosis/texts.h"

namespace troika::diagnosis {

bool holds(const std::string& text, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return text.find(word) != std::string::npos; });
}

const std::string* first_with(const std::vector<std::string>& lines, std::initializer_list<std::string_view> words) {
  const auto found =
      std::find_if(lines.begin(), lines.end(), [&](const std::string& text) { return holds(text, words); });
  return found == lines.end() ? nullptr : &*found;
}

Text quoted(const std::string& text, std::string_view near) {
  constexpr std::size_t most = 400;
  std::string line = text.substr(0, text.find('\n'));
  for (const std::string& one : base::split(text, '\n'))
    if (!near.empty() && one.find(near) != std::string::npos) {
      line = one;
      break;
    }
  line = base::trim(line);
  if (line.size() > most) {
    std::size_t end = most;
    while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xc0U) == 0x80U) --end;  // no part of a character
    line = line.substr(0, end) + "...";
  }
  return verbatim(base::printable(line, 2 * most));
}

void add_place(const Facts& facts, std::vector<Text>* evidence) {
  if (!facts.death || facts.death->rank < 0) return;
  const Death& death = *facts.death;
  if (death.step >= 1 && !death.instruction.empty())
    evidence->push_back(say(texts.last_seen, death.rank, death.host, death.step, death.instruction));
  else if (death.step >= 1)
    evidence->push_back(say(texts.last_seen_at_step, death.rank, death.host, death.step));
  else
    evidence->push_back(say(texts.last_seen_before, death.rank, death.host));
}

}  // namespace troika::diagnosis
