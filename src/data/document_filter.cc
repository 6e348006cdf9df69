#include "data/document_filter.h"

#include <xxhash.h>

namespace troika::data {

DocumentKey document_key(std::string_view document) {
  const XXH128_hash_t hash = XXH3_128bits(document.data(), document.size());
  return {hash.low64, hash.high64};
}

bool DocumentFilter::keeps(const DocumentKey& key, bool begins) {
  if (begins) {
    keeping_ = seen_.insert(key).second;
    if (!keeping_) ++dropped_;
  }
  return keeping_;
}

}  // namespace troika::data
