// The messages that all ranks of an attempt hear: why it ends, and before that which rank is behind.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/say.h"
#include "records/incident.h"
#include "rendezvous/identity.h"
#include "rendezvous/store.h"

namespace troika::rendezvous {

// Why an attempt ends; written to the store once, by the launcher or the failure monitor: the first one counts.
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

// Returns the report that counts: this one, or an earlier one.
FailureReport write_failure_report(StoreClient& client, const Identity& identity, const FailureReport& report);
bool read_failure_report(StoreClient& client, const Identity& identity, FailureReport* report);  // false: there is none

// The form in the store: the code, a newline, the incident. Also used for failed/<rank>.
std::string to_text(const FailureReport& report);
FailureReport parse_failure_report(const std::string& text);

inline constexpr const char* notices_key = "notices";

// The last notices of the failure monitor to all ranks while a run continues, for every log and the screen. Numbers rise, so that a reader knows which are new.
class Notices {
 public:
  void add(const records::Incident& notice);

  // The form in the store.
  std::string text() const;

 private:
  std::vector<std::string> lines_;
  std::int64_t number_ = 0;
};

// Those with numbers above `*last`, oldest first; `*last` becomes the highest number. What is malformed is left out.
std::vector<records::Incident> new_notices(const std::string& text, std::int64_t* last);

}  // namespace troika::rendezvous
