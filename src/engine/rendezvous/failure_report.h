// Why an attempt ends: one failure report, written to the store once by the launcher or the failure monitor. The first one
// stands.
#pragma once

#include <string>

#include "rendezvous/identity.h"
#include "rendezvous/store.h"

namespace troika::rendezvous {

struct FailureReport {
  int exit_code = 75;  // of the first cause
  std::string text;    // one sentence that names the failed rank
};

// What is reported of a rank that said itself what failed; `name` is how it is called.
std::string in_its_words(const std::string& name, const std::string& words);
bool is_in_its_words(const FailureReport& report, const std::string& name);

inline constexpr const char* failure_report_key = "failure_report";

// Returns the report that stands: this one, or an earlier one.
FailureReport write_failure_report(StoreClient& client, const Identity& identity, const FailureReport& report);
bool read_failure_report(StoreClient& client, const Identity& identity, FailureReport* report);  // false: there is none

// The form in the store: the code, a newline, the text. Also used for failed/<rank>.
std::string to_text(const FailureReport& report);
FailureReport parse_failure_report(const std::string& text);

}  // namespace troika::rendezvous
