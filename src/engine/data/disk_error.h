// A disk that refuses tokenized data. Unlike bad input it is no reason to discard what is done.
#pragma once

#include "base/error.h"
#include "base/say.h"

namespace troika::data {

class DiskError : public base::DataError {
 public:
  explicit DiskError(const base::Text& what) : DataError(base::say("{}; free some space, or choose another folder (--out, --data.cache)", what)) {}
};

}  // namespace troika::data
