#include "model/decoder.h"

#include "model/block_segment.h"
#include "model/embedding_segment.h"
#include "model/head_segment.h"

namespace troika::model {

std::vector<std::unique_ptr<Segment>> make_segments(const config::ModelSettings& model, std::int64_t positions,
                                                    const c10::Device& device) {
  const kernels::RopeTable rope = kernels::make_rope_table(positions, model.head_dim, model.rope_theta, device);
  std::vector<std::unique_ptr<Segment>> segments;
  segments.push_back(make_embedding_segment(model));
  for (std::int64_t layer = 0; layer < model.layers; ++layer) segments.push_back(make_block_segment(model, rope));
  segments.push_back(make_head_segment(model));
  return segments;
}

}  // namespace troika::model
