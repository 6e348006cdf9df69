// Segment 0: token ids to vectors.
#pragma once

#include <memory>

#include "config/settings.h"
#include "model/segment.h"

namespace troika::model {

std::unique_ptr<Segment> make_embedding_segment(const config::ModelSettings& model);

}  // namespace troika::model
