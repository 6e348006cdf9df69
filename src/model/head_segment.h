// The last segment: final norm, output projection (the embedding's table when tied), cross-entropy.
#pragma once

#include <memory>

#include "config/settings.h"
#include "model/segment.h"

namespace troika::model {

std::unique_ptr<Segment> make_head_segment(const config::ModelSettings& model);

}  // namespace troika::model
