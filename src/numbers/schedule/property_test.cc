// Properties that must hold for every layout, not only for the chosen examples.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/draw_test_support.h"
#include "schedule/check/checker.h"
#include "schedule/build/builder.h"
#include "schedule/simulate/simulator.h"
#include "schedule/trace/summary.h"
#include "schedule/trace/trace_json.h"
#include "schedule/instruction/program.h"
#include "schedule/shape_test_support.h"
#include "schedule/simulate/table_costs_test_support.h"

namespace troika::schedule {
namespace {
using base::Draw;

struct Case {
  std::string schedule;
  StepShape shape;

  std::string text() const {
    const auto& s = shape;
    return schedule + " pp " + std::to_string(s.pp) + " v " + std::to_string(s.virtual_stages) + " dp " +
           std::to_string(s.dp) + " replicas " + std::to_string(s.replicas) + " zero " + std::to_string(s.zero) +
           " m " + std::to_string(s.microbatches) + " segments " + std::to_string(s.segment_begin.back()) +
           (s.tied ? " tied" : "") + (s.recompute == config::Recompute::full ? " recompute" : "") +
           (s.overlap == Overlap::on ? " overlap" : "") + (s.offload == config::Offload::host ? " offload" : "") +
           (s.first_trained > 0 ? " trained_from " + std::to_string(s.first_trained) : "");
  }
  int share() const { return shape.microbatches / shape.dp; }
};

std::vector<Case> equal_stages() {
  std::vector<Case> all;
  for (const std::string schedule : {"1f1b", "gpipe"}) {
    for (int pp = 1; pp <= 6; ++pp) {
      for (int dp = 1; dp <= 3; ++dp) {
        for (const int share : {1, 2, 3, 4, 5, 8, 13}) {
          Case c{schedule, shape_of(pp, dp, share * dp)};
          c.shape.overlap = Overlap::off;
          c.shape.tied = (pp + dp + share) % 2 == 0;
          c.shape.boundary_bytes = 100;
          all.push_back(c);
        }
      }
    }
  }
  return all;
}

Case draw_case(Draw* draw) {
  Case c;
  c.schedule = schedule_names()[static_cast<std::size_t>(draw->from(0, 3))];
  StepShape& s = c.shape;
  const bool interleaved = c.schedule == "interleaved";
  s.pp = draw->from(interleaved ? 2 : 1, 5);
  s.virtual_stages = interleaved ? draw->from(2, 3) : 1;
  s.dp = draw->from(1, 3);
  s.replicas = s.dp * draw->from(1, 2);
  s.microbatches = s.dp * draw->from(1, 9);
  s.zero = draw->from(0, 3);
  s.tied = draw->from(0, 1) == 1;
  s.recompute = draw->from(0, 1) == 1 ? config::Recompute::full : config::Recompute::none;
  s.overlap = draw->from(0, 2) > 0 ? Overlap::on : Overlap::off;
  s.offload = draw->from(0, 2) == 0 ? config::Offload::host : config::Offload::none;
  s.segment_begin = {0};
  for (int stage = 0; stage < s.pp * s.virtual_stages; ++stage)
    s.segment_begin.push_back(s.segment_begin.back() + draw->from(1, 5));
  s.boundary_bytes = draw->from(0, 100);
  s.tied_bytes = draw->from(0, 100);
  for (int g = 0; g < s.segment_begin.back(); ++g)
    s.segments.push_back({draw->from(0, 300), draw->from(0, 300), draw->from(0, 300)});
  const bool frozen = draw->from(0, 2) == 0;
  if (frozen && !s.tied) s.first_trained = draw->from(1, s.segment_begin.back() - 1);
  return c;
}

std::vector<Case> random_cases() {
  Draw draw("cases");
  std::vector<Case> all;
  for (int i = 0; i < 300; ++i) all.push_back(draw_case(&draw));
  return all;
}

CostModel random_costs(const Case& c, Draw* draw) {
  CostTable table;
  for (int s = 0; s < c.shape.pp * c.shape.virtual_stages; ++s) {
    for (const Kind kind : {Kind::fwd, Kind::refwd, Kind::bwd_input, Kind::bwd_weight, Kind::fetch, Kind::offload})
      table[{kind, s}] = draw->share();
    table[{Kind::bwd, s}] = 2 * draw->share();
  }
  return table_costs(table, {0.3 * draw->share(), 100 / (0.01 + draw->share())});
}

TEST(RandomLayout, PassesTheCheckerWithinTheBoundOfItsSchedule) {
  for (const Case& c : random_cases()) {
    SCOPED_TRACE(c.text());
    const Bounds promised = bounds(c.schedule, c.shape);
    const Report report = check(build(c.schedule, c.shape), promised);
    for (std::size_t rank = 0; rank < report.max_in_flight.size(); ++rank)
      EXPECT_LE(report.max_in_flight[rank], promised.max_in_flight[rank]);
  }
}

TEST(RandomLayout, StartsReceivesInTheOrderOfTheirSends) {
  for (const auto& cases : {random_cases(), equal_stages()}) {
    for (const Case& c : cases) EXPECT_EQ(receive_out_of_order(build(c.schedule, c.shape)).english, "") << c.text();
  }
}

TEST(RandomLayout, PrintsAndParsesBackToASoundProgram) {
  for (const Case& c : random_cases()) {
    SCOPED_TRACE(c.text());
    const Program program = build(c.schedule, c.shape);
    const Program parsed = parse_program(to_text(program));
    EXPECT_EQ(parsed.ranks, program.ranks);
    EXPECT_EQ(to_text(parsed), to_text(program));
    EXPECT_NO_THROW(check(parsed, {}));
  }
}

// Any costs and links: simulation ends, nothing overlaps on a rank, shares add up, nothing ends behind the rank, and
// running it again gives the same trace.
TEST(RandomLayout, SimulatesSoundly) {
  Draw draw("costs");
  for (const Case& c : random_cases()) {
    SCOPED_TRACE(c.text());
    const CostModel costs = random_costs(c, &draw);
    const Program program = build(c.schedule, c.shape);
    const StepTrace trace = simulate(program, costs);
    EXPECT_EQ(write_chrome(trace), write_chrome(simulate(program, costs)));
    for (const auto& rank : trace.ranks) {
      double busy_until = 0, last = 0;
      for (const auto& event : rank.events) {
        last = std::max(last, event.end_seconds);
        if (event.activity == Event::Activity::transfer) continue;
        EXPECT_GE(event.begin_seconds, busy_until);
        busy_until = event.end_seconds;
      }
      EXPECT_EQ(last, busy_until);
    }
    for (const auto& rank : summarize(trace).ranks) {
      const auto& t = rank.time;
      EXPECT_NEAR(t.compute_seconds + t.communication_seconds + t.bubble_seconds, t.span_seconds, 1e-9);
    }
  }
}

TEST(RandomLayout, OverlapNeverSendsOtherBytes) {
  for (Case c : random_cases()) {
    if (c.shape.zero == 3) continue;  // gathers that stay under way differ
    SCOPED_TRACE(c.text());
    const auto sent = [&](Overlap overlap) {
      c.shape.overlap = overlap;
      std::vector<std::int64_t> bytes;
      for (const auto& rank : build(c.schedule, c.shape).ranks) {
        bytes.push_back(0);
        for (const auto& i : rank) bytes.back() += i.bytes;
      }
      return bytes;
    };
    EXPECT_EQ(sent(Overlap::on), sent(Overlap::off));
  }
}

// A fast link, one on which a segment's gradients travel as long as its backward lasts, and a slow one.
TEST(EveryLayout, OverlapIsNeverSlowerOfEqualStages) {
  CostModel costs = table_costs({}, {});
  costs.seconds = [](int, const Instruction& i) {
    const double segments = i.segment >= 0 ? 1 : 2;
    return is_computation(i.kind) ? segments * (i.kind == Kind::bwd ? 2 : 1) : 0.0;
  };
  for (const std::string schedule : {"1f1b", "gpipe", "zb-h1"}) {
    for (int layout = 0; layout < 5 * 4 * 4; ++layout) {
      Case c{schedule, shape_of(layout % 5 + 1, 2, 2 * (layout / 5 % 4 + 1), 2)};
      c.shape.zero = layout / 20;
      c.shape.boundary_bytes = 100;
      c.shape.segments.assign(static_cast<std::size_t>(c.shape.segment_begin.back()), {1000, 1000, 1000});
      for (const double bytes_per_second : {4000.0, 500.0, 100.0}) {
        SCOPED_TRACE(c.text());
        costs.link = [&](int, int) { return Link{1e-3, bytes_per_second}; };
        const auto seconds = [&](Overlap overlap) {
          c.shape.overlap = overlap;
          return summarize(simulate(build(c.schedule, c.shape), costs)).step_seconds;
        };
        EXPECT_LE(seconds(Overlap::on), seconds(Overlap::off) + 1e-9);
      }
    }
  }
}

// Any number of microbatches works, also when the last group of an interleaved schedule is short.
TEST(EveryLayout, InterleavedHasNoDeadlockForAnyNumberOfMicrobatches) {
  for (int pp = 2; pp <= 6; ++pp) {
    for (int stages = 2; stages <= 4; ++stages) {
      for (int share = 1; share <= 20; ++share) {
        for (int dp = 1; dp <= 2; ++dp) {
          const Case c{"interleaved", shape_of(pp, dp, share * dp, 1, stages)};
          SCOPED_TRACE(c.text());
          const Bounds promised = bounds(c.schedule, c.shape);
          const Report report = check(build(c.schedule, c.shape), promised);
          if (share % pp == 0) {
            EXPECT_EQ(report.max_in_flight, promised.max_in_flight);
          }
          Case part = c;
          part.shape.first_trained = (share + dp) % (pp * stages);
          check(build(part.schedule, part.shape), promised);
        }
      }
    }
  }
}

TEST(EveryLayout, ZeroBubbleHoldsNoMoreThan1F1BOnItsFirstRankAndIdlesLess) {
  const CostModel costs = table_costs(
      {{{Kind::fwd, -1}, 1.0}, {{Kind::bwd, -1}, 2.0}, {{Kind::bwd_input, -1}, 1.0}, {{Kind::bwd_weight, -1}, 1.0}},
      {});
  for (int pp = 2; pp <= 8; ++pp) {
    for (int share = 1; share <= 20; ++share) {
      const Case c{"zb-h1", shape_of(pp, 1, share)};
      SCOPED_TRACE(c.text());
      const Bounds promised = bounds("zb-h1", c.shape);
      EXPECT_EQ(check(build("zb-h1", c.shape), promised).max_in_flight, promised.max_in_flight);
      const double split = summarize(simulate(build("zb-h1", c.shape), costs)).window_seconds;
      EXPECT_LT(split, summarize(simulate(build("1f1b", c.shape), costs)).window_seconds);
      if (share >= pp) {
        EXPECT_NEAR(split, 3.0 * share + pp - 1, 1e-9);  // idle: (pp-1) (F + B - W)
      }
    }
  }
}

TEST(EveryLayout, BoundsOf1F1BAndGpipeAreReached) {
  for (const Case& c : equal_stages()) {
    SCOPED_TRACE(c.text());
    const Bounds promised = bounds(c.schedule, c.shape);
    EXPECT_EQ(check(build(c.schedule, c.shape), promised).max_in_flight, promised.max_in_flight);
  }
}

TEST(EveryLayout, BubbleOfEqualStagesOnAFreeLinkIsTheFormula) {
  const CostModel costs = table_costs({{{Kind::fwd, -1}, 1.0}, {{Kind::bwd, -1}, 2.0}, {{Kind::step, -1}, 0.5}}, {});
  for (const Case& c : equal_stages()) {
    SCOPED_TRACE(c.text());
    const StepSummary summary = summarize(simulate(build(c.schedule, c.shape), costs));
    const double formula = static_cast<double>(c.shape.pp - 1) / (c.share() + c.shape.pp - 1);
    EXPECT_NEAR(summary.pipeline_bubble_share, formula, 1e-9);
    EXPECT_NEAR(summary.window_seconds, 3.0 * (c.share() + c.shape.pp - 1), 1e-9);
    EXPECT_NEAR(summary.total.communication_seconds, 0, 1e-9);
  }
}

TEST(EveryLayout, FastLinkStaysWithinThreePointsOfTheFormula) {
  const CostModel costs = table_costs({{{Kind::fwd, -1}, 0.010}, {{Kind::bwd, -1}, 0.020}}, {50e-6, 1e9});
  for (Case c : equal_stages()) {
    SCOPED_TRACE(c.text());
    c.shape.boundary_bytes = 100000;
    const StepSummary summary = summarize(simulate(build(c.schedule, c.shape), costs));
    const double formula = static_cast<double>(c.shape.pp - 1) / (c.share() + c.shape.pp - 1);
    EXPECT_NEAR(summary.pipeline_bubble_share, formula, 0.03);
  }
}

TEST(EveryLayout, ALargeOneIsCheckedToo) {
  StepShape shape = shape_of(8, 32, 32 * 32, 5, 2);
  shape.zero = 3;
  shape.recompute = config::Recompute::full;
  const Bounds promised = bounds("interleaved", shape);
  EXPECT_EQ(check(build("interleaved", shape), promised).max_in_flight, promised.max_in_flight);
}

// Places the stages anywhere: every pp rank has one at least.
StepShape with_stages_anywhere(StepShape shape, Draw* draw) {
  shape.pp_rank_of_stage.clear();
  for (int rank = 0; rank < shape.pp; ++rank) shape.pp_rank_of_stage.push_back(rank);
  for (int more = draw->from(0, 3); more > 0; --more) {
    shape.pp_rank_of_stage.push_back(draw->from(0, shape.pp - 1));
  }
  for (int k = 0; k < shape.pp; ++k) {
    const auto any = [&] {
      return static_cast<std::size_t>(draw->from(0, static_cast<int>(shape.pp_rank_of_stage.size()) - 1));
    };
    std::swap(shape.pp_rank_of_stage[any()], shape.pp_rank_of_stage[any()]);
  }
  shape.segment_begin = {0};
  shape.segments.clear();
  for (std::size_t s = 0; s < shape.pp_rank_of_stage.size(); ++s)
    shape.segment_begin.push_back(shape.segment_begin.back() + draw->from(1, 4));
  return shape;
}

TEST(RandomEvaluation, IsSoundWithOneMicrobatchInFlightAndParsesBack) {
  Draw draw("evaluations");
  for (const Case& c : random_cases()) {
    for (const StepShape& shape : {c.shape, with_stages_anywhere(c.shape, &draw)}) {
      SCOPED_TRACE(c.text());
      const Program program = build_evaluation(shape);
      const Report report = check(program, bounds_of_evaluation(program));
      EXPECT_EQ(report.max_in_flight, std::vector<int>(program.ranks.size(), 1));
      const Program parsed = parse_program(to_text(program));
      EXPECT_TRUE(parsed.evaluates());
      EXPECT_EQ(parsed.ranks, program.ranks);
      EXPECT_EQ(to_text(parsed), to_text(program));
    }
  }
}

// For any number of microbatches: the data between two segments, one message on its way out, two on their way in.
TEST(RandomEvaluation, HoldsNoMoreThanFourBordersAndTheHandoversOfAGroup) {
  for (const Case& c : random_cases()) {
    SCOPED_TRACE(c.text());
    StepShape shape = c.shape;
    shape.boundary_bytes = 100;
    const Program program = build_evaluation(shape);
    Bounds bounds = bounds_of_evaluation(program);
    bounds.saved_bytes.assign(static_cast<std::size_t>(program.segments()), 1000000);
    bounds.kept_bytes.assign(static_cast<std::size_t>(program.segments()), 100);
    for (const std::int64_t bytes : check(program, bounds).peak_activation_bytes) EXPECT_LE(bytes, 400);
  }
}

TEST(RandomEvaluation, NoInstructionIsDispensableAndNoneOfTrainingBelongsIn) {
  for (int zero = 0; zero <= 3; ++zero) {
    for (int stages = 1; stages <= 2; ++stages) {
      StepShape shape = shape_of(3, 2, 4, 2, stages);
      shape.tied = true;
      shape.zero = zero;
      const Program sound = build_evaluation(shape);
      for (std::size_t rank = 0; rank < sound.ranks.size(); ++rank) {
        for (std::size_t i = 0; i < sound.ranks[rank].size(); ++i) {
          Program broken = sound;
          broken.ranks[rank].erase(broken.ranks[rank].begin() + static_cast<std::ptrdiff_t>(i));
          EXPECT_THROW(check(broken, {}), base::BugError)
              << "zero " << zero << " without " << to_text(sound.ranks[rank][i]) << " on rank " << rank;
        }
      }
      Program as_training = sound;
      as_training.task = Task::training;
      EXPECT_THROW(check(as_training, {}), base::BugError);
      Program training = build(stages == 1 ? "1f1b" : "interleaved", shape);
      training.task = Task::evaluation;
      EXPECT_THROW(check(training, {}), base::BugError);
    }
  }
}

TEST(RandomEvaluation, DamagedOnesGiveErrorsAndNothingElse) {
  Draw draw("damaged evaluations");
  int refused = 0;
  for (const Case& c : random_cases()) {
    Program program = build_evaluation(c.shape);
    auto& rank = program.ranks[static_cast<std::size_t>(draw.from(0, static_cast<int>(program.ranks.size()) - 1))];
    const auto any = [&] { return static_cast<std::size_t>(draw.from(0, static_cast<int>(rank.size()) - 1)); };
    Instruction& i = rank[any()];
    const int what = draw.from(0, 3);
    if (what == 0) i.kind = static_cast<Kind>(draw.from(0, static_cast<int>(kind_count) - 1));
    if (what == 1) i.microbatch = draw.from(-1, 40);
    if (what == 2) std::swap(i, rank[any()]);
    if (what == 3) rank.insert(rank.begin() + static_cast<std::ptrdiff_t>(any()), rank[any()]);
    try {
      check(parse_program(to_text(program)), {});
    } catch (const base::BugError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 100);
}

// Removing any single instruction from a sound program makes it unsound; only recomputation may be left out.
TEST(EveryLayout, NoInstructionIsDispensable) {
  for (const auto& schedule : schedule_names()) {
    for (int zero = 0; zero <= 3; ++zero) {
      StepShape shape = shape_of(3, 2, 4, 2, stages_per_rank(schedule));
      shape.tied = zero % 2 == 0;
      shape.first_trained = shape.tied ? 0 : 3;
      shape.zero = zero;
      shape.offload = config::Offload::host;
      const Program sound = build(schedule, shape);
      for (std::size_t rank = 0; rank < sound.ranks.size(); ++rank) {
        for (std::size_t i = 0; i < sound.ranks[rank].size(); ++i) {
          Program broken = sound;
          broken.ranks[rank].erase(broken.ranks[rank].begin() + static_cast<std::ptrdiff_t>(i));
          EXPECT_THROW(check(broken, {}), base::BugError)
              << schedule << " zero " << zero << " without " << to_text(sound.ranks[rank][i]) << " on rank " << rank;
        }
      }
    }
  }
}

// Swapped, doubled, changed and moved instructions: an error or a sound program, but never anything else.
TEST(EveryLayout, DamagedProgramsGiveErrorsAndNothingElse) {
  Draw draw("damage");
  int refused = 0;
  for (const Case& c : random_cases()) {
    Program program = build(c.schedule, c.shape);
    auto& rank = program.ranks[static_cast<std::size_t>(draw.from(0, static_cast<int>(program.ranks.size()) - 1))];
    const auto any = [&] { return static_cast<std::size_t>(draw.from(0, static_cast<int>(rank.size()) - 1)); };
    for (int k = draw.from(1, 3); k > 0; --k) {
      Instruction& i = rank[any()];
      const int what = draw.from(0, 5);
      if (what == 0) i.kind = static_cast<Kind>(draw.from(0, static_cast<int>(kind_count) - 1));
      if (what == 1) i.microbatch = draw.from(-1, 40);
      if (what == 2) i.stage = draw.from(-1, 12);
      if (what == 3) i.segment = draw.from(-1, 40);
      if (what == 4) std::swap(i, rank[any()]);
      if (what == 5) rank.insert(rank.begin() + static_cast<std::ptrdiff_t>(any()), rank[any()]);
    }
    const Program parsed = parse_program(to_text(program));
    try {
      check(parsed, {});
    } catch (const base::BugError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 150);
}

// Any bytes in place of others, headers too.
TEST(EveryLayout, DamagedTextsGiveErrorsAndNothingElse) {
  Draw draw("bytes");
  const std::string bytes = "0123456789.,*| \n-_abcdefgprstw\r\xff";
  int refused = 0, done = 0;
  for (const Case& c : random_cases()) {
    const std::string sound = to_text(build(c.schedule, c.shape));
    for (int attempt = 0; attempt < 4; ++attempt, ++done) {
      std::string text = sound;
      const int reach = attempt % 2 == 0 ? 80 : static_cast<int>(text.size());  // the header, or anywhere
      for (int k = draw.from(1, 3); k > 0; --k) {
        const auto at = static_cast<std::size_t>(draw.from(0, std::min(reach, static_cast<int>(text.size())) - 1));
        text[at] = bytes[static_cast<std::size_t>(draw.from(0, static_cast<int>(bytes.size()) - 1))];
      }
      if (draw.from(0, 9) == 0) text.resize(text.size() / 2);
      try {
        check(parse_program(text), {});
      } catch (const base::Error&) {
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, done * 3 / 4);
}

}  // namespace
}  // namespace troika::schedule
