#include "rendezvous/notices.h"

#include <fmt/format.h>

#include "base/text.h"

namespace troika::rendezvous {

void Notices::add(const records::Incident& notice) {
  constexpr std::size_t kept = 8;
  lines_.push_back(fmt::format("{}\t{}", ++number_, to_json(notice)));
  if (lines_.size() > kept) lines_.erase(lines_.begin());
}

std::string Notices::text() const { return base::join(lines_, "\n"); }

std::vector<records::Incident> new_notices(const std::string& text, std::int64_t* last) {
  std::vector<records::Incident> notices;
  for (const std::string& line : base::split(text, '\n')) {
    const auto tab = line.find('\t');
    std::int64_t number = 0;
    if (tab == std::string::npos || !base::parse_int(line.substr(0, tab), &number) || number <= *last) continue;
    *last = number;
    notices.push_back(records::parse_incident(line.substr(tab + 1)));
  }
  return notices;
}

}  // namespace troika::rendezvous
