#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "shape/layout.h"
#include "shape/layout_test_support.h"
#include "shape/segment_costs.h"

namespace troika::shape {
namespace {

TEST(SegmentLayout, OfOneRankHoldsEveryParameterWhole) {
  for (const config::ModelSettings& m : {narrow(true), narrow(false), narrow_as("qwen2", true),
                                         narrow_as("llama", false), narrow_gpt2(true), narrow_gpt2(false)}) {
    for (int segment = 0; segment < segment_count(m); ++segment) {
      const auto infos = segment_parameters(m, segment);
      const SegmentLayout layout = segment_layout(m, segment);
      ASSERT_EQ(layout.slots.size(), infos.size());
      for (std::size_t i = 0; i < infos.size(); ++i) {
        EXPECT_EQ(layout.slots[i].info.name, infos[i].name);
        EXPECT_TRUE(is_whole(layout.slots[i].region, infos[i].elements()));
        EXPECT_EQ(local_shape(layout.slots[i]), infos[i].shape);
      }
    }
  }
}

TEST(SegmentLayout, SlotsFollowEachOtherWithoutGaps) {
  for (const config::ModelSettings& m : uneven_models()) {
    for (const int size : {1, 2, 3, 4, 5, 6}) {
      for (int rank = 0; rank < size; ++rank) {
        for (int segment = 0; segment < segment_count(m); ++segment) {
          const SegmentLayout layout = segment_layout(m, segment, {rank, size});
          EXPECT_EQ(layout.segment, segment);
          std::int64_t offset = 0;
          for (const Slot& slot : layout.slots) {
            EXPECT_EQ(slot.offset, offset) << slot.info.name;
            EXPECT_EQ(region_problem(slot.region, slot.info.elements()).english, "") << slot.info.name;
            EXPECT_EQ(element_count(local_shape(slot)), slot.elements()) << slot.info.name;
            EXPECT_LE(slot.first_holder, rank);
            EXPECT_GT(slot.end_holder, rank);
            offset += slot.elements();
          }
          EXPECT_EQ(layout.elements, offset);
        }
      }
    }
  }
}

TEST(SegmentLayout, FirstHoldersTogetherHoldEveryElementOnce) {
  for (const config::ModelSettings& m : uneven_models()) {
    for (const int size : {1, 2, 3, 4, 5, 6}) {
      std::map<std::string, std::vector<int>> held;
      for (const auto& info : all_parameters(m)) held[info.name].assign(static_cast<std::size_t>(info.elements()), 0);
      for (int rank = 0; rank < size; ++rank) {
        for (int segment = 0; segment < segment_count(m); ++segment) {
          for (const Slot& slot : segment_layout(m, segment, {rank, size}).slots) {
            if (slot.first_holder != rank) continue;
            for (std::int64_t i = 0; i < slot.region.count; ++i) {
              for (std::int64_t k = 0; k < slot.region.run; ++k)
                ++held[slot.info.name][static_cast<std::size_t>(slot.region.offset + i * slot.region.stride + k)];
            }
          }
        }
      }
      for (const auto& [name, counts] : held)
        EXPECT_EQ(std::count(counts.begin(), counts.end(), 1), static_cast<std::ptrdiff_t>(counts.size()))
            << name << " over " << size;
    }
  }
}

TEST(SegmentLayout, HoldersOfASlotHoldTheSameElements) {
  for (const config::ModelSettings& m : uneven_models()) {
    for (const int size : {2, 3, 4, 5, 6}) {
      std::map<std::string, std::set<int>> holders;  // by name and region
      std::map<std::string, std::pair<int, int>> told;
      for (int rank = 0; rank < size; ++rank) {
        for (const Slot& slot : segment_layout(m, 1, {rank, size}).slots) {
          const std::string key = slot.info.name + region_to_text(slot.region, slot.info.shape);
          holders[key].insert(rank);
          const std::pair<int, int> range{slot.first_holder, slot.end_holder};
          EXPECT_EQ(told.emplace(key, range).first->second, range) << key;
        }
      }
      for (const auto& [key, ranks] : holders) {
        EXPECT_EQ(*ranks.begin(), told.at(key).first) << key;
        EXPECT_EQ(*ranks.rbegin() + 1, told.at(key).second) << key;
        EXPECT_EQ(static_cast<int>(ranks.size()), told.at(key).second - told.at(key).first) << key;
      }
    }
  }
}

TEST(SegmentLayout, KeyHeadsAreCutWhereTheirHoldersChange) {
  config::ModelSettings m = narrow(true);
  m.heads = 9;
  m.kv_heads = 3;
  std::vector<std::pair<int, int>>
      holders;  // rank 1 of 2 has query heads 4 to 8, so key heads 1 (shared) and 2 (its own)
  for (const Slot& slot : segment_layout(m, 1, {1, 2}).slots) {
    if (slot.info.name == "model.layers.0.self_attn.k_proj.weight")
      holders.emplace_back(slot.first_holder, slot.end_holder);
  }
  EXPECT_EQ(holders, (std::vector<std::pair<int, int>>{{0, 2}, {1, 2}}));
}

TEST(SegmentLayout, RowsThatOneProductReadsAreAdjacent) {
  for (const int size : {1, 2}) {
    const SegmentLayout layout = segment_layout(narrow(true), 1, {size - 1, size});
    std::map<std::string, std::int64_t> offset;
    for (const Slot& slot : layout.slots)
      offset[slot.info.name.substr(std::string("model.layers.0.").size())] = slot.offset;
    EXPECT_EQ(offset["self_attn.k_proj.weight"], offset["self_attn.q_proj.weight"] + 96 / size * 64);
    EXPECT_EQ(offset["self_attn.v_proj.weight"], offset["self_attn.k_proj.weight"] + 48 / size * 64);
    EXPECT_EQ(offset["mlp.up_proj.weight"], offset["mlp.gate_proj.weight"] + 192 / size * 64);
  }
}

TEST(SegmentLayout, TheBiasesOfQwen2StandBehindTheRowsOfTheirProductAndAreCutAlike) {
  config::ModelSettings m = narrow_as("qwen2", true);
  m.heads = 9;
  m.kv_heads = 3;
  std::vector<std::string> order;
  std::map<std::string, std::vector<std::pair<int, int>>> holders;
  const SegmentLayout layout = segment_layout(m, 1, {1, 2});
  for (const Slot& slot : layout.slots) {
    const std::string name = slot.info.name.substr(std::string("model.layers.0.").size());
    if (order.empty() || order.back() != name) order.push_back(name);
    holders[name].emplace_back(slot.first_holder, slot.end_holder);
    if (name == "self_attn.k_proj.bias") {
      EXPECT_EQ(slot.elements(), m.head_dim);
      EXPECT_EQ(slot.found, Found::of_own_heads);
    }
  }
  EXPECT_EQ(std::vector<std::string>(order.begin() + 1, order.begin() + 7),
            (std::vector<std::string>{"self_attn.q_proj.weight", "self_attn.k_proj.weight", "self_attn.v_proj.weight",
                                      "self_attn.q_proj.bias", "self_attn.k_proj.bias", "self_attn.v_proj.bias"}));
  EXPECT_EQ(holders["self_attn.k_proj.bias"], (std::vector<std::pair<int, int>>{{0, 2}, {1, 2}}));
  for (const std::string part : {"q", "k", "v"})
    EXPECT_EQ(holders["self_attn." + part + "_proj.bias"], holders["self_attn." + part + "_proj.weight"]) << part;
}

TEST(SegmentLayout, QueriesKeysAndValuesOfGpt2AreOneSlotOfTheSameColumnsOfEach) {
  const config::ModelSettings m = narrow_gpt2(true);
  const auto slots = segment_layout(m, 1, {1, 4}).slots;
  const auto slot = std::find_if(slots.begin(), slots.end(),
                                 [](const Slot& s) { return s.info.name == "transformer.h.0.attn.c_attn.weight"; });
  ASSERT_NE(slot, slots.end());
  EXPECT_EQ(local_shape(*slot), (std::vector<std::int64_t>{64, 3 * 16}));
  std::vector<std::int64_t> first_row;
  for (std::int64_t i = 0; i < 3; ++i) first_row.push_back(slot->region.offset + i * slot->region.stride);
  EXPECT_EQ(first_row, (std::vector<std::int64_t>{16, 64 + 16, 128 + 16}));
  EXPECT_EQ(slot->region.run, 16);
  const auto bias = slot + 1;
  EXPECT_EQ(bias->info.name, "transformer.h.0.attn.c_attn.bias");
  EXPECT_EQ(bias->elements(), 3 * 16);
  EXPECT_EQ(bias->region.offset, 16);
  EXPECT_EQ(bias->region.stride, 64);
}

TEST(SegmentLayout, TheTiedUseHasTheSlotsOfTheEmbedding) {
  const SegmentLayout layout = tied_layout(narrow(true), {1, 2});
  ASSERT_EQ(layout.slots.size(), 1U);
  EXPECT_EQ(layout.slots[0].info.name, "model.embed_tokens.weight");
  EXPECT_EQ(layout.slots[0].region.offset, 129 * 64);
  EXPECT_EQ(layout.elements, 130 * 64);
  EXPECT_EQ(tied_layout(narrow_gpt2(true), {1, 2}).elements, (130 + 40) * 64);
}

TEST(SegmentLayout, MoreRanksThanHeadsAreRefused) {
  EXPECT_THROW(segment_layout(narrow(true), 1, {0, 5}), base::ConfigError);
}

TEST(SegmentCosts, CountTheProductsOfEachSegment) {
  const config::ModelSettings m = narrow(true);
  const auto costs = segment_costs(m, 32);
  ASSERT_EQ(costs.size(), 4U);
  EXPECT_EQ(costs[1], 64.0 * (96 + 2 * 48) + 96 * 64 + 3 * 64 * 192 + 2 * 96 * 32);
  EXPECT_EQ(costs[2], costs[1]);
  EXPECT_EQ(costs[3], 64.0 * 259);
  EXPECT_LT(costs[0], costs[1] / 100);
}

TEST(SegmentCosts, OfGpt2HaveOneProductLessInTheFeedForward) {
  const auto costs = segment_costs(narrow_gpt2(true), 32);
  EXPECT_EQ(costs[1], 64.0 * 3 * 64 + 64 * 64 + 2 * 64 * 192 + 2 * 64 * 32);
}

}  // namespace
}  // namespace troika::shape
