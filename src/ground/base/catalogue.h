// The catalogue of translations: files of gettext, which are part of the program.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace troika::base {

struct Asset {
  std::string_view path;  // "zh.po", below src/texts
  std::string_view bytes;
};
std::vector<Asset> embedded_catalogues();

// By the words in English; by the context, the character 4 and the words where an entry has a context.
using Catalogue = std::unordered_map<std::string, std::string>;

// Entries without a translation and those marked fuzzy are left out. Reads what msgcat writes: no plural forms. BugError for other text.
Catalogue parse_catalogue(std::string_view po);

const Catalogue& chinese_catalogue();  // parsed at the first call

}  // namespace troika::base
