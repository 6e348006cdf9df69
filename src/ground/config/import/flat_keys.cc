#include "config/import/flat_keys.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "config/fields.h"

namespace troika::config {

bool FlatKey::asks_nothing() const {
  if (kind == Kind::nothing) return true;
  if (kind == Kind::object) return false;
  return text.empty() || text == "none" || text == "None" || !parse_bool(text).value_or(true);
}

const FlatKey* FlatKeys::find(std::string_view name) const {
  for (const FlatKey& key : keys_) {
    if (normalised(key.name) == normalised(name)) return key.kind == FlatKey::Kind::nothing ? nullptr : &key;
  }
  return nullptr;
}

std::string FlatKeys::text(std::string_view name, const std::string& otherwise) const {
  const FlatKey* key = find(name);
  return key == nullptr ? otherwise : key->text;
}

std::vector<std::string_view> lines_of_table(std::string_view path) {
  const std::vector<Asset> tables = import_tables();
  const auto table = std::find_if(tables.begin(), tables.end(), [&](const Asset& asset) { return asset.path == path; });
  if (table == tables.end()) throw base::BugError(fmt::format("there is no table {}", path));
  return base::table_lines(table->bytes);
}

}  // namespace troika::config
