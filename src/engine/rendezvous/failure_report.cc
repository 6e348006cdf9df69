#include "rendezvous/failure_report.h"

#include <fmt/format.h>

#include "base/text.h"

namespace troika::rendezvous {

std::string to_text(const FailureReport& report) {
  return fmt::format("{}\n{}", report.exit_code, to_json(report.incident));
}

FailureReport parse_failure_report(const std::string& text) {
  const auto end = text.find('\n');
  std::int64_t code = 0;
  if (end == std::string::npos || !base::parse_int(text.substr(0, end), &code))
    return {base::exit_peer_lost, base::verbatim(text)};
  return {static_cast<int>(code), records::parse_incident(text.substr(end + 1))};
}

FailureReport write_failure_report(StoreClient& client, const Identity& identity, const FailureReport& report) {
  return parse_failure_report(client.compare_set(key_of(identity, failure_report_key), "", to_text(report)));
}

bool read_failure_report(StoreClient& client, const Identity& identity, FailureReport* report) {
  std::string value;
  if (!client.try_get(key_of(identity, failure_report_key), &value)) return false;
  *report = parse_failure_report(value);
  return true;
}

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
