#include "rendezvous/verdict.h"

#include <fmt/format.h>

#include <cstdint>

#include "base/text.h"

namespace troika::rendezvous {

std::string to_text(const Verdict& verdict) { return fmt::format("{}\n{}", verdict.exit_code, verdict.text); }

Verdict parse_verdict(const std::string& text) {
  const auto end = text.find('\n');
  std::int64_t code = 0;
  if (end == std::string::npos || !base::parse_int(text.substr(0, end), &code)) return {75, text};
  return {static_cast<int>(code), text.substr(end + 1)};
}

Verdict give_verdict(StoreClient& client, const Identity& identity, const Verdict& verdict) {
  return parse_verdict(client.compare_set(key_of(identity, "verdict"), "", to_text(verdict)));
}

bool read_verdict(StoreClient& client, const Identity& identity, Verdict* verdict) {
  std::string value;
  if (!client.try_get(key_of(identity, "verdict"), &value)) return false;
  *verdict = parse_verdict(value);
  return true;
}

}  // namespace troika::rendezvous
