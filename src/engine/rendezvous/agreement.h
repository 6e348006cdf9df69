// Before any group exists, all ranks compare what must be equal, so that no message is ever sent with another size than
// the one that is received.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/language.h"
#include "rendezvous/identity.h"
#include "rendezvous/store.h"

namespace troika::rendezvous {

// Named values in a fixed order: hashes of settings, program, build, data. The fact named "settings" is YAML and
// explains the fact "settings hash": it is compared only when that one differs or is absent, field by field.
struct Facts {
  std::vector<std::pair<std::string, std::string>> values;
};

// Collective. On a difference every rank throws the same ConfigError naming the fact or field, the rank and both
// values. `round` tells several agreements of one attempt apart. Throws PeerError when a rank does not answer within
// `seconds`.
void agree(StoreClient& client, const Identity& identity, const std::string& round, const Facts& mine, double seconds);

// Empty when equal, else a sentence part: "optimizer.lr = 0.1 on rank 2 but 0.2 on rank 0".
base::Text difference(const Facts& first, const Facts& mine, int rank);

}  // namespace troika::rendezvous
