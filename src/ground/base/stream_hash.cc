#include "base/stream_hash.h"

#include <fmt/format.h>
#include <xxhash.h>

namespace troika::base {

void StreamHash::Free::operator()(XXH3_state_s* state) const { ::XXH3_freeState(state); }

StreamHash::StreamHash() : state_(::XXH3_createState()) { restart(); }

void StreamHash::add(const void* bytes, std::size_t count) { ::XXH3_64bits_update(state_.get(), bytes, count); }
void StreamHash::restart() { ::XXH3_64bits_reset(state_.get()); }
std::uint64_t StreamHash::digest() const { return ::XXH3_64bits_digest(state_.get()); }
std::string StreamHash::hex() const { return fmt::format("{:016x}", digest()); }

}  // namespace troika::base
