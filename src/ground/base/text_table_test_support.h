// For the tests of tables of texts: a struct whose members are all base::Bilingual.
#pragma once

#include <cstring>
#include <type_traits>
#include <vector>

#include "base/language.h"

namespace troika::base {

// Every member, in order, so that none is left out of a test.
template <class Table>
std::vector<Bilingual> every_text_of(const Table& table) {
  static_assert(std::is_trivially_copyable_v<Table> && sizeof(Table) % sizeof(Bilingual) == 0);
  std::vector<Bilingual> all(sizeof(Table) / sizeof(Bilingual));
  std::memcpy(static_cast<void*>(all.data()), &table, sizeof(Table));
  return all;
}

}  // namespace troika::base
