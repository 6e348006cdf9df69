// Processes that time the same kernel at the same time, each with threads and cores of its own.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "probe/child.h"
#include "probe/member.h"

namespace troika::probe {

class Team {
 public:
  // Returns when all stand. PeerError, here and later, when one of them ended.
  Team(const std::vector<Membership>& members, const std::map<std::string, std::string>& environment);

  // Seconds of one call of the number'th of kernels_of(): the mean of the members, which run for `seconds` at the same time.
  double time(std::size_t number, double seconds);

  std::int64_t resident_bytes() const { return resident_bytes_; }  // of the first, with the program loaded

 private:
  std::vector<std::unique_ptr<Child>> members_;
  std::int64_t resident_bytes_ = 0;
};

}  // namespace troika::probe
