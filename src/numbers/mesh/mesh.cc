#include "mesh/mesh.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace troika::mesh {

const char* name(Axis axis) {
  switch (axis) {
    case Axis::dp:
      return "dp";
    case Axis::pp:
      return "pp";
    case Axis::tp:
      return "tp";
    case Axis::cp:
      return "cp";
  }
  throw base::BugError("unknown mesh axis");
}

int Shape::extent(Axis axis) const {
  return axis == Axis::dp ? dp : axis == Axis::pp ? pp : axis == Axis::tp ? tp : cp;
}

int Coordinate::along(Axis axis) const {
  return axis == Axis::dp ? dp : axis == Axis::pp ? pp : axis == Axis::tp ? tp : cp;
}

Coordinate coordinate_of(const Shape& shape, int world_rank) {
  if (world_rank < 0 || world_rank >= shape.world()) {
    throw base::BugError(fmt::format("rank {} is outside a world of {}", world_rank, shape.world()));
  }
  Coordinate c;
  c.tp = world_rank % shape.tp;
  c.cp = world_rank / shape.tp % shape.cp;
  c.dp = world_rank / (shape.tp * shape.cp) % shape.dp;
  c.pp = world_rank / (shape.tp * shape.cp * shape.dp);
  return c;
}

int world_rank_of(const Shape& shape, const Coordinate& c) {
  return ((c.pp * shape.dp + c.dp) * shape.cp + c.cp) * shape.tp + c.tp;
}

static Coordinate with(Coordinate c, Axis axis, int index) {
  (axis == Axis::dp ? c.dp : axis == Axis::pp ? c.pp : axis == Axis::tp ? c.tp : c.cp) = index;
  return c;
}

std::vector<int> group_of(const Shape& shape, Axis axis, int world_rank) {
  const Coordinate here = coordinate_of(shape, world_rank);
  std::vector<int> ranks;
  for (int i = 0; i < shape.extent(axis); ++i) ranks.push_back(world_rank_of(shape, with(here, axis, i)));
  return ranks;
}

std::string group_name(const Shape& shape, Axis axis, int world_rank) {
  return fmt::format("{}.{}", name(axis), group_of(shape, axis, world_rank).front());
}

std::vector<int> replicas_of(const Shape& shape, int world_rank) {
  Coordinate c = coordinate_of(shape, world_rank);
  std::vector<int> ranks;
  for (c.cp = 0; c.cp < shape.cp; ++c.cp) {
    for (c.dp = 0; c.dp < shape.dp; ++c.dp) ranks.push_back(world_rank_of(shape, c));
  }
  return ranks;
}

int replica_index(const Shape& shape, const Coordinate& c) { return c.cp * shape.dp + c.dp; }

int replicas_on_each_host(const Shape& shape, int ranks_per_host) {
  const int replicas = shape.dp * shape.cp;
  return ranks_per_host == 0 ? replicas : std::min(replicas, (ranks_per_host + shape.tp - 1) / shape.tp);
}

std::string replicas_name(const Shape& shape, int world_rank) {
  return fmt::format("replicas.{}", replicas_of(shape, world_rank).front());
}

int grid_rank_of(const Shape& shape, int world_rank) { return world_rank / (shape.tp * shape.cp); }

}  // namespace troika::mesh
