// Why an attempt ends: one failure report, written to the store once by the launcher or the failure monitor. The first one
// stands.
#pragma once

#include <string>
#include <utility>

#include "base/error.h"
#include "base/say.h"
#include "records/incident.h"
#include "rendezvous/identity.h"
#include "rendezvous/store.h"

namespace troika::rendezvous {

struct FailureReport {
  FailureReport() = default;
  FailureReport(int code, records::Incident what) : exit_code(code), incident(std::move(what)) {}
  // In words alone: an error of a launcher, or of a rank that says what failed.
  FailureReport(int code, base::Text words, base::Cause cause = base::Cause{})
      : exit_code(code), incident(records::told(std::move(words), cause)) {}

  int exit_code = base::exit_peer_lost;  // of the first cause
  records::Incident incident{};

  base::Text said() const { return records::said(incident); }
  std::string text() const { return records::english(incident); }
};

inline constexpr const char* failure_report_key = "failure_report";

// Returns the report that stands: this one, or an earlier one.
FailureReport write_failure_report(StoreClient& client, const Identity& identity, const FailureReport& report);
bool read_failure_report(StoreClient& client, const Identity& identity, FailureReport* report);  // false: there is none

// The form in the store: the code, a newline, the incident. Also used for failed/<rank>.
std::string to_text(const FailureReport& report);
FailureReport parse_failure_report(const std::string& text);

}  // namespace troika::rendezvous
