// One transformer block: x + attention(norm(x)), then x + feed_forward(norm(x)). Each tp rank holds some query heads with
// the key/value heads that they read, and some columns of the feed-forward.
#pragma once

#include <memory>

#include "config/settings.h"
#include "model/positions.h"
#include "model/segment.h"
#include "model/segment_tools.h"
#include "shape/layout.h"

namespace troika::model {

// `segment`: its number in the model.
std::unique_ptr<Segment> make_block_segment(const config::ModelSettings& model, const Positions& positions,
                                            const Groups& groups, const shape::Trained& trained, int segment);

}  // namespace troika::model
