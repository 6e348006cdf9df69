// Unicode Normalization Form C (Unicode Standard Annex 15), the normalizer "NFC" of a tokenizer.json.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "data/unicode_table.h"

namespace troika::data {

// Threads: const use is safe.
class Nfc {
 public:
  explicit Nfc(std::shared_ptr<const UnicodeTable> table) : table_(std::move(table)) {}

  // `text` in NFC: `text` itself when that changes nothing, else a view of `*storage`. Bytes that are not valid UTF-8 stay
  // as they are, and nothing is composed across them. Linear in the length (n log n for runs of combining marks).
  std::string_view normalize(std::string_view text, std::string* storage) const;

 private:
  std::size_t end_of_stretch(std::string_view text, std::size_t at) const;
  std::shared_ptr<const UnicodeTable> table_;
};

}  // namespace troika::data
