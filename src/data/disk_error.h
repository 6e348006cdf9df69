// A disk that refuses what is tokenized. Unlike bad input it is no reason to throw away what is done.
#pragma once

#include <string>

#include "base/error.h"

namespace troika::data {

class DiskError : public base::DataError {
 public:
  explicit DiskError(const std::string& what)
      : DataError(what + "; free some space, or choose another folder (--out, --data.cache)") {}
};

}  // namespace troika::data
