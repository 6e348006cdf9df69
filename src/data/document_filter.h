// Drops documents whose bytes were seen before.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_set>

namespace troika::data {

// XXH3 of a document, 128 bits: two different documents share one with a chance below 1e-18 among 1e10.
struct DocumentKey {
  std::uint64_t low = 0, high = 0;
  bool operator==(const DocumentKey& other) const { return low == other.low && high == other.high; }
};

DocumentKey document_key(std::string_view document);

// Fed with the parts of documents in order; the first of equal documents is kept.
class DocumentFilter {
 public:
  // Whether this part belongs to a kept document. `key` matters where `begins` is set.
  bool keeps(const DocumentKey& key, bool begins);
  std::int64_t dropped() const { return dropped_; }

 private:
  struct Hash {
    std::size_t operator()(const DocumentKey& key) const { return key.low; }
  };
  std::unordered_set<DocumentKey, Hash> seen_;
  bool keeping_ = true;
  std::int64_t dropped_ = 0;
};

}  // namespace troika::data
