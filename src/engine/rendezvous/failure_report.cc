#include "rendezvous/failure_report.h"

#include <fmt/format.h>

#include <cstdint>
#include <string_view>

#include "base/text.h"

namespace troika::rendezvous {

namespace {
constexpr std::string_view between = " failed: ";
}

std::string in_its_words(const std::string& name, const std::string& words) {
  return fmt::format("{}{}{}", name, between, words);
}

bool is_in_its_words(const FailureReport& report, const std::string& name) {
  return report.text.rfind(in_its_words(name, ""), 0) == 0;
}

std::string to_text(const FailureReport& report) { return fmt::format("{}\n{}", report.exit_code, report.text); }

FailureReport parse_failure_report(const std::string& text) {
  const auto end = text.find('\n');
  std::int64_t code = 0;
  if (end == std::string::npos || !base::parse_int(text.substr(0, end), &code)) return {75, text};
  return {static_cast<int>(code), text.substr(end + 1)};
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

}  // namespace troika::rendezvous
