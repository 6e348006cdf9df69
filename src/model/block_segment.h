// One transformer block: x + attention(norm(x)), then x + feed_forward(norm(x)).
#pragma once

#include <memory>

#include "config/settings.h"
#include "kernels/qk_norm_rope.h"
#include "model/segment.h"

namespace troika::model {

std::unique_ptr<Segment> make_block_segment(const config::ModelSettings& model, const kernels::RopeTable& rope);

}  // namespace troika::model
