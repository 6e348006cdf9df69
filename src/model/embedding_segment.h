// Segment 0: token ids to vectors. Each tp rank looks up its part of the vocabulary.
#pragma once

#include <memory>

#include "config/settings.h"
#include "model/segment.h"
#include "model/segment_tools.h"

namespace troika::model {

std::unique_ptr<Segment> make_embedding_segment(const config::ModelSettings& model, const Groups& groups);

}  // namespace troika::model
