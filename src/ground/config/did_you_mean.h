// The end of an error that suggests near names.
#pragma once

#include <string>

#include "base/say.h"

namespace troika::config {

// "; did you mean save_steps?", or nothing where nothing is near.
inline base::Text did_you_mean(const std::string& near) {
  return near.empty() ? base::Text{} : base::say("; did you mean {}?", near);
}

}  // namespace troika::config
