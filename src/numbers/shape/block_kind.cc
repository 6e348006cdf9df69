#include "shape/block_kind.h"

#include <algorithm>

#include "shape/architecture.h"

namespace troika::shape {

bool BlockKind::has(config::Projection projection) const {
  using config::Projection;
  const bool feeds_forward =
      projection == Projection::gate || projection == Projection::up || projection == Projection::down;
  return feeds_forward || attends();
}

BlockKind block_kind(const config::ModelSettings& model, int segment) {
  return architecture_of(model).block(model, segment - 1);
}

BlockKinds::BlockKinds(const config::ModelSettings& model) {
  for (int segment = 1; segment <= static_cast<int>(model.layers); ++segment) {
    const BlockKind kind = block_kind(model, segment);
    const auto found = std::find(kinds.begin(), kinds.end(), kind);
    of_block.push_back(static_cast<std::size_t>(found - kinds.begin()));
    if (found != kinds.end()) continue;
    kinds.push_back(kind);
    first.push_back(segment);
  }
}

}  // namespace troika::shape
