#include "shape/region.h"

#include <gtest/gtest.h>

#include <map>

#include "base/error.h"

namespace troika::shape {

static std::vector<std::int64_t> indices(const Region& r) {
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < r.count; ++i)
    for (std::int64_t k = 0; k < r.run; ++k) all.push_back(r.offset + i * r.stride + k);
  return all;
}

TEST(RegionIntersection, EqualsTheSearchThroughAllPairsOfRegions) {
  std::vector<Region> regions;
  for (std::int64_t offset : {0, 1, 5})
    for (std::int64_t run : {0, 1, 3, 4})
      for (std::int64_t stride : {4, 5, 7})
        for (std::int64_t count : {1, 2, 4})
          if (region_problem({offset, run, stride, count}, 40).empty()) regions.push_back({offset, run, stride, count});
  ASSERT_GT(regions.size(), 90U);
  for (const Region& a : regions)
    for (const Region& b : regions) {
      const auto a_indices = indices(a), b_indices = indices(b);
      std::map<std::int64_t, std::int64_t> place_in_b;
      for (std::size_t i = 0; i < b_indices.size(); ++i) place_in_b[b_indices[i]] = static_cast<std::int64_t>(i);
      std::vector<std::pair<std::int64_t, std::int64_t>> expected, got;
      for (std::size_t i = 0; i < a_indices.size(); ++i)
        if (place_in_b.count(a_indices[i]) > 0)
          expected.emplace_back(static_cast<std::int64_t>(i), place_in_b[a_indices[i]]);
      intersect(a, b, [&](std::int64_t in_a, std::int64_t in_b, std::int64_t elements) {
        for (std::int64_t i = 0; i < elements; ++i) got.emplace_back(in_a + i, in_b + i);
      });
      ASSERT_EQ(got, expected) << region_to_text(a, {40}) << " and " << region_to_text(b, {40});
    }
}

TEST(Region, AdjoiningRunsJoin) {
  const Region region = joined({2, 4, 4, 3});
  EXPECT_EQ(region_to_text(region, {}), "2,12,12,1;shape=");
  EXPECT_TRUE(is_whole({0, 4, 4, 3}, 12));
  EXPECT_FALSE(is_whole({0, 4, 8, 3}, 24));
}

TEST(Region, TextComesBack) {
  Region region;
  std::vector<std::int64_t> shape;
  region_from_text("3,2,10,4;shape=5,10", "here", &region, &shape);
  EXPECT_EQ(region_to_text(region, shape), "3,2,10,4;shape=5,10");
  region_from_text("0,1,1,1;shape=", "here", &region, &shape);
  EXPECT_TRUE(shape.empty());
}

TEST(Region, ImpossibleOnesAreDataErrors) {
  Region region;
  std::vector<std::int64_t> shape;
  for (const char* text :
       {"", "1,2,3;shape=4", "0,1,1,1", "a,1,1,1;shape=4", "0,5,5,1;shape=4", "-1,2,2,1;shape=4", "0,2,1,2;shape=4",
        "0,1,9223372036854775807,9;shape=4", "0,1,1,0;shape=4", "0,1,1,1;shape=-4", "0,1,1,1;shape=4,x",
        "9223372036854775807,1,1,1;shape=4", "0,1,1,1;shape=4611686018427387904,4"}) {
    EXPECT_THROW(region_from_text(text, "here", &region, &shape), base::DataError) << text;
  }
}

TEST(Region, ShapesMultiplyWithoutOverflow) {
  EXPECT_EQ(element_count({}), 1);
  EXPECT_EQ(element_count({3, 0, 5}), 0);
  EXPECT_THROW(element_count({std::int64_t{1} << 40, std::int64_t{1} << 40}), base::DataError);
}

TEST(Region, APartOfARegionIsItsElementsInOrder) {
  const Region columns{3, 4, 10, 5};
  const auto elements = [](const Region& r) {
    std::vector<std::int64_t> all;
    for (std::int64_t i = 0; i < r.count; ++i) {
      for (std::int64_t k = 0; k < r.run; ++k) all.push_back(r.offset + i * r.stride + k);
    }
    return all;
  };
  const auto whole = elements(columns);
  for (std::int64_t begin = 0; begin <= 20; ++begin) {
    for (std::int64_t count = 0; begin + count <= 20; ++count) {
      std::vector<std::int64_t> got;
      const auto parts = part_of_region(columns, begin, count);
      EXPECT_LE(parts.size(), 3u);
      for (const Region& part : parts) {
        EXPECT_EQ(region_problem(part, 60).english, "");
        for (const std::int64_t element : elements(part)) got.push_back(element);
      }
      EXPECT_EQ(got, std::vector<std::int64_t>(whole.begin() + begin, whole.begin() + begin + count));
    }
  }
}

}  // namespace troika::shape
