// What of a folder is not read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/language.h"

namespace troika::data {

enum class Why { binary, encoding, empty, link_out, link_nowhere, linked_folder, special, run, shards, no_records };

// Counted by reason, with the first name of each.
class LeftOut {
 public:
  void add(Why why, const std::string& name);
  std::int64_t count(Why why) const { return reasons_[static_cast<std::size_t>(why)].count; }
  bool empty() const;
  // "2 binary files ('a.png', ...), 1 link that leads out of the folder ('b')"; "" when there is nothing. Binary files
  // apart, which `troika data prepare` always counts.
  base::Text text() const;
  base::Text text_beside_binary() const;

 private:
  struct Reason {
    std::int64_t count = 0;
    std::string first;
  };
  base::Text text_from(std::size_t reason) const;

  std::array<Reason, 10> reasons_ = {};
};

}  // namespace troika::data
