#include "diagnosis/rules.h"

#include <algorithm>

#include "base/say.h"
#include "base/text.h"
#include "records/incident.h"

namespace troika::diagnosis {

const Told* first_with(const std::vector<Told>& told, Causes causes) {
  const auto found = std::find_if(told.begin(), told.end(), [&](const Told& one) {
    return std::find(causes.begin(), causes.end(), one.what.cause) != causes.end();
  });
  return found == told.end() ? nullptr : &*found;
}

const Told* told_or_logged(const Facts& facts, Causes causes) {
  const Told* told = first_with(facts.told, causes);
  return told != nullptr ? told : first_with(facts.last_lines, causes);
}

static std::string one_line(const std::string& text) {
  constexpr std::size_t most = 400;
  std::string line = base::trim(text.substr(0, text.find('\n')));
  if (line.size() > most) {
    std::size_t end = most;
    while (end > 0 && (static_cast<unsigned char>(line[end]) & 0xc0U) == 0x80U) --end;  // no part of a character
    line = line.substr(0, end) + "...";
  }
  return base::printable(line, 2 * most);
}

Evidence quoted(const Told& told) {
  const Text both = records::in_both(told.text, told.what);
  return {{one_line(both.english), one_line(both.chinese)}, Evidence::Of::quotation};
}

void add_place(const Facts& facts, std::vector<Evidence>* evidence) {
  if (!facts.death || facts.death->rank < 0) return;
  const Death& death = *facts.death;
  if (death.step >= 1 && death.at != records::Doing{})
    evidence->push_back(say("rank {} on {} was last seen at step {}, {}", death.rank, death.host, death.step,
                            Text{records::said(base::Language::english, death.at),
                                 records::said(base::Language::chinese, death.at)}));
  else if (death.step >= 1)
    evidence->push_back(say("rank {} on {} was last seen at step {}", death.rank, death.host, death.step));
  else
    evidence->push_back(say("rank {} on {} had not begun a step", death.rank, death.host));
}

}  // namespace troika::diagnosis
