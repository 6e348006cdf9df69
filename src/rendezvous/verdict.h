// The verdict: why this attempt ends, written once to the store; the first one stands.
#pragma once

#include <string>

#include "rendezvous/identity.h"
#include "rendezvous/store.h"

namespace troika::rendezvous {

struct Verdict {
  int exit_code = 75;  // of the first cause
  std::string text;    // one sentence that names the guilty rank
};

// Returns the verdict that stands: this one, or an earlier one.
Verdict give_verdict(StoreClient& client, const Identity& identity, const Verdict& verdict);
bool read_verdict(StoreClient& client, const Identity& identity, Verdict* verdict);

// The form in the store: the code, a newline, the text. Also used for failed/<rank>.
std::string to_text(const Verdict& verdict);
Verdict parse_verdict(const std::string& text);

}  // namespace troika::rendezvous
