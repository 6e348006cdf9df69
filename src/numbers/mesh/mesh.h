// The axes of a run and the coordinates of its ranks. No messages here.
// World order: tp fastest, then cp, then dp, pp slowest, so that neighbours in tp share a host first.
#pragma once

#include <string>
#include <vector>

namespace troika::mesh {

enum class Axis { dp, pp, tp, cp };
const char* name(Axis axis);

struct Shape {
  int dp = 1, pp = 1, tp = 1, cp = 1;
  int world() const { return dp * pp * tp * cp; }
  int extent(Axis axis) const;
};

struct Coordinate {
  int dp = 0, pp = 0, tp = 0, cp = 0;
  int along(Axis axis) const;
  bool operator==(const Coordinate& o) const { return dp == o.dp && pp == o.pp && tp == o.tp && cp == o.cp; }
};

Coordinate coordinate_of(const Shape& shape, int world_rank);
int world_rank_of(const Shape& shape, const Coordinate& coordinate);

// The world ranks that differ from `world_rank` along `axis` only, in axis order; it is at index
// coordinate.along(axis).
std::vector<int> group_of(const Shape& shape, Axis axis, int world_rank);

// A name that all members of the group, and no others, share: "dp.1" is the dp group of the ranks with that index.
std::string group_name(const Shape& shape, Axis axis, int world_rank);

// The ranks that hold the same parameters: equal pp and tp, any dp and cp. Each at index replica_index.
std::vector<int> replicas_of(const Shape& shape, int world_rank);
int replica_index(const Shape& shape, const Coordinate& coordinate);  // cp * extent of dp + dp
// How many of the first ranks' replicas are on each host of so many ranks, in world order; 0: all are on one host.
int replicas_on_each_host(const Shape& shape, int ranks_per_host);
std::string replicas_name(const Shape& shape, int world_rank);

// Index into schedule::Program::ranks.
int grid_rank_of(const Shape& shape, int world_rank);

}  // namespace troika::mesh
