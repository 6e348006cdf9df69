// The checks that need one rank's instructions alone.
#include <algorithm>
#include <set>
#include <tuple>
#include <vector>

#include "base/say.h"
#include "schedule/check/checker.h"
#include "schedule/check/pass_record.h"

namespace troika::schedule {
namespace {

bool belongs_to(Task task, Kind kind) {
  const Tasks tasks = traits(kind).tasks;
  return tasks == Tasks::both || (tasks == Tasks::evaluation) == (task == Task::evaluation);
}

bool may_follow_summary(Kind kind) {
  return traits(kind).part == Part::update || traits(kind).part == Part::pipeline_or_update;
}

[[noreturn]] void refuse_missing(std::size_t rank, const Instruction& instruction, base::Phrase reason) {
  throw UnsoundProgram(
      base::say("step program, grid rank {}: '{}' is missing; {}", rank, to_text(instruction), base::say(reason)));
}

class RankCheck {
 public:
  RankCheck(const Program& program, int rank)
      : program_(program),
        rank_(static_cast<std::size_t>(rank)),
        dp_rank_(rank % program.dp),
        record_(program, rank),
        segments_(record_.slots()) {}

  void run() {
    const auto& instructions = program_.ranks[rank_];
    for (index_ = 0; index_ < instructions.size(); ++index_) {
      require(belongs_to(program_.task, instructions[index_].kind), program_.evaluates()
                                                                        ? base::Phrase("has no place in an evaluation")
                                                                        : base::Phrase("belongs only in an evaluation"));
      require(!summed_ || (!program_.evaluates() && may_follow_summary(instructions[index_].kind)),
              program_.evaluates() ? base::Phrase("comes after loss") : base::Phrase("comes after norm"));
      visit(instructions[index_]);
    }
    complete();
  }

 private:
  struct Segment {
    int last_weight = -1;  // microbatch
    bool gathered = false, used = false;
    bool reduced = false, totals = false, fetched = false, stepped = false, updated = false, offloaded = false;
  };

  void visit(const Instruction& i) {
    if (is_computation(i.kind)) return compute(i);
    if (is_message(i.kind)) message(i);
    if (traits(i.kind).part == Part::summary) return summary();
    switch (i.kind) {
      case Kind::gather_params:
        return gather_params(i);
      case Kind::free_params:
        return free_params(i);
      case Kind::reduce_grads:
        return reduce_grads(i);
      case Kind::gather_grads:
        return gather_grads(i);
      case Kind::reduce_tied:
        reduce_tied(i);
        break;
      case Kind::fetch:
        return fetch(i);
      case Kind::offload:
        return offload(i);
      case Kind::step:
        return step(i);
      default:
        break;
    }
    require(stands_.insert({i.kind, i.microbatch, i.stage, i.segment}).second, base::Phrase("appears twice"));
  }

  bool stands(Kind kind, int microbatch, int stage) const { return stands_.count({kind, microbatch, stage, -1}) != 0; }

  void require(bool holds, base::Phrase reason) const {
    if (!holds) refuse_at(program_, rank_, index_, base::say(reason));
  }

  void once(bool* done) const {
    require(!*done, base::Phrase("appears twice"));
    *done = true;
  }

  // Backwards of a whole stage go through its segments in reverse order.
  void compute(const Instruction& i) {
    const auto [begin, end] = segments_of(program_, i);
    for (int k = 0; k < end - begin; ++k) {
      if (has_pass(i.kind, forward_pass)) forward(i, begin + k);
      if (has_pass(i.kind, recompute_pass)) recompute(i, begin + k);
      if (has_pass(i.kind, input_pass)) backward_input(i, end - 1 - k);
      if (has_pass(i.kind, weight_pass)) backward_weight(i, end - 1 - k);
    }
  }

  void use_parameters(const Instruction& i, int segment) {
    Segment& state = segment_at(i.stage, segment);
    require(!program_.shards(3) || state.gathered,
            base::Phrase("the parameters of a segment it uses are not gathered here"));
    state.used = true;
  }

  void forward(const Instruction& i, int segment) {
    const int m = i.microbatch, s = i.stage;
    require(!record_.has(forward_pass, m, s, segment), base::Phrase("appears twice"));
    require(!reads_tokens(program_, s) || stands(Kind::load, m, -1),
            base::Phrase("no load of this microbatch precedes it"));
    if (segment > program_.first_segment(s)) {
      require(record_.has(forward_pass, m, s, segment - 1),
              base::Phrase("no forward of the segment before precedes it"));
    } else if (crosses_ranks(program_, s - 1)) {
      require(stands(Kind::recv_act, m, s), base::Phrase("no recv_act of this microbatch precedes it"));
    } else if (s > 0) {
      require(record_.all(forward_pass, m, s - 1), base::Phrase("no forward of the previous stage precedes it"));
    }
    use_parameters(i, segment);
    record_.set(forward_pass, m, s, segment);
  }

  void recompute(const Instruction& i, int segment) {
    const int m = i.microbatch, s = i.stage;
    require(record_.has(forward_pass, m, s, segment), base::Phrase("no forward of this microbatch precedes it"));
    require(!record_.has(input_pass, m, s, segment), base::Phrase("comes after its backward"));
    require(!record_.has(recompute_pass, m, s, segment), base::Phrase("appears twice"));
    use_parameters(i, segment);
    record_.set(recompute_pass, m, s, segment);
  }

  void backward_input(const Instruction& i, int segment) {
    const int m = i.microbatch, s = i.stage;
    require(record_.has(forward_pass, m, s, segment), base::Phrase("no forward of this microbatch precedes it"));
    require(!record_.has(input_pass, m, s, segment), base::Phrase("appears twice"));
    if (segment + 1 < program_.end_segment(s)) {
      require(record_.has(input_pass, m, s, segment + 1),
              base::Phrase("no backward of the segment behind precedes it"));
    } else if (crosses_ranks(program_, s)) {
      require(stands(Kind::recv_grad, m, s), base::Phrase("no recv_grad of this microbatch precedes it"));
    } else if (s + 1 < program_.stages()) {
      require(record_.all(input_pass, m, s + 1), base::Phrase("no backward of the next stage precedes it"));
    }
    use_parameters(i, segment);
    record_.set(input_pass, m, s, segment);
  }

  void backward_weight(const Instruction& i, int segment) {
    const int m = i.microbatch, s = i.stage;
    Segment& state = segment_at(s, segment);
    require(record_.has(input_pass, m, s, segment), base::Phrase("no bwd_input of this microbatch precedes it"));
    require(!record_.has(weight_pass, m, s, segment), base::Phrase("appears twice"));
    require(!state.reduced, base::Phrase("comes after reduce_grads of its segment"));
    if (program_.reduces_each_microbatch()) {
      require(last_is_reduced(s, segment),
              base::Phrase("comes before reduce_grads of the microbatch before, whose gradient it would overwrite"));
      require_shared_table(segment);
    }
    state.last_weight = m;
    record_.set(weight_pass, m, s, segment);
  }

  // A message can be sent only when its data is there.
  void message(const Instruction& i) {
    const Traits& row = traits(i.kind);
    const int left = left_stage(i);
    require(crosses_ranks(program_, left), base::Phrase("there is no stage on another rank on that side"));
    require(row.payload != Payload::gradient || has_backward(program_, left),
            base::Phrase("the stage before has no backward"));
    if (row.role != Role::send) return;
    if (row.payload == Payload::activation)
      require(record_.all(forward_pass, i.microbatch, i.stage),
              base::Phrase("no complete forward of this microbatch precedes it"));
    if (row.payload == Payload::gradient)
      require(record_.all(input_pass, i.microbatch, i.stage),
              base::Phrase("no complete backward of this microbatch precedes it"));
  }

  void gather_params(const Instruction& i) {
    require(program_.shards(1), base::Phrase("parameters are sharded only in ZeRO 1 to 3 with several replicas"));
    Segment& state = segment_at(i.stage, i.segment);
    if (!program_.shards(3)) {
      require(!program_.evaluates(), base::Phrase("in an evaluation parameters are gathered only in ZeRO 3"));
      require(state.stepped, base::Phrase("comes before step of its segment"));
      return once(&state.updated);
    }
    require(!summed_, base::Phrase("comes after norm"));
    require(!state.gathered, base::Phrase("appears twice, without free_params between"));
    state.gathered = true;
    state.used = false;
  }

  void free_params(const Instruction& i) {
    Segment& state = segment_at(i.stage, i.segment);
    require(state.gathered, base::Phrase("these parameters are not gathered here"));
    require(state.used, base::Phrase("these parameters were gathered and not used"));
    state.gathered = false;
  }

  void reduce_grads(const Instruction& i) {
    each_segment(i, [&](int s, int g, Segment& state) {
      if (program_.reduces_each_microbatch()) {
        require(!record_.has(PassRecord::reduced, i.microbatch, s, g), base::Phrase("appears twice"));
        require(record_.has(weight_pass, i.microbatch, s, g),
                base::Phrase("no weight backward of this microbatch precedes it"));
        return record_.set(PassRecord::reduced, i.microbatch, s, g);
      }
      once(&state.reduced);
      for (const int m : program_.microbatches_of(dp_rank_)) {
        require(record_.has(weight_pass, m, s, g),
                base::Phrase("not all weight backwards of its segments precede it"));
        const bool other =
            g > 0 || !is_shared_table(g) || record_.has(weight_pass, m, program_.stages() - 1, program_.segments() - 1);
        require(other,
                base::Phrase("not all weight backwards of the head, which uses the same table, precede it"));
        record_.set(PassRecord::reduced, m, s, g);
      }
    });
  }

  bool is_shared_table(int segment) const {
    const bool uses = segment == 0 || segment + 1 == program_.segments();
    return program_.tied && !program_.evaluates() && tied_on_one_rank(program_) && program_.segments() > 1 && uses;
  }

  bool last_is_reduced(int stage, int segment) const {
    const int last = segment_at(stage, segment).last_weight;
    return last < 0 || record_.has(PassRecord::reduced, last, stage, segment);
  }

  // Both uses write one gradient, one after the other.
  void require_shared_table(int segment) const {
    if (!is_shared_table(segment)) return;
    const bool embedding = segment == 0;
    const int stage = embedding ? program_.stages() - 1 : 0, other = embedding ? program_.segments() - 1 : 0;
    require(last_is_reduced(stage, other),
            base::Phrase("comes before reduce_grads of the table's other use on this rank"));
  }

  bool fully_reduced(int stage, int segment) const {
    const auto share = program_.microbatches_of(dp_rank_);
    return std::all_of(share.begin(), share.end(),
                       [&](int m) { return record_.has(PassRecord::reduced, m, stage, segment); });
  }

  void gather_grads(const Instruction& i) {
    require(program_.zero == 0 && program_.replicas > 1,
            base::Phrase("only ZeRO 0 with several replicas has totals to gather"));
    each_segment(i, [&](int s, int g, Segment& state) {
      require(state.reduced, base::Phrase("comes before reduce_grads of its segment"));
      require(!is_tied_segment(program_, g) || stands(Kind::reduce_tied, -1, s),
              base::Phrase("comes before reduce_tied of its segment"));
      once(&state.totals);
    });
  }

  void reduce_tied(const Instruction& i) {
    const auto wanted = tied_stages_of(program_, static_cast<int>(rank_));
    require(std::count(wanted.begin(), wanted.end(), i.stage) != 0,
            base::Phrase("this rank has no tied embedding to reduce for that stage"));
    require(!stands(Kind::reduce_tied, -1, i.stage), base::Phrase("appears twice"));
    require(fully_reduced(i.stage, i.stage == 0 ? 0 : program_.segments() - 1),
            base::Phrase("comes before reduce_grads of the tied segment"));
  }

  void summary() {
    const bool held = std::any_of(segments_.begin(), segments_.end(), [](const Segment& s) { return s.gathered; });
    require(!held, base::Phrase("gathered parameters are not freed before it"));
    summed_ = true;
  }

  void step(const Instruction& i) {
    require(summed_, base::Phrase("comes before norm"));
    each_segment(i, [&](int, int, Segment& state) { once(&state.stepped); });
  }

  void fetch(const Instruction& i) {
    Segment& state = segment_at(i.stage, i.segment);
    require(!state.stepped, base::Phrase("comes after step of its segment"));
    once(&state.fetched);
  }

  void offload(const Instruction& i) {
    Segment& state = segment_at(i.stage, i.segment);
    require(state.fetched, base::Phrase("no fetch of its segment precedes it"));
    require(state.stepped, base::Phrase("comes before step of its segment"));
    once(&state.offloaded);
  }

  void complete() const {
    const int rank = static_cast<int>(rank_);
    const auto stages = stages_of_rank(program_, rank);
    for (const int stage : stages) complete_passes(stage);
    for (const int stage : tied_stages_of(program_, rank)) {
      if (!stands(Kind::reduce_tied, -1, stage))
        refuse_missing(rank_, {Kind::reduce_tied, -1, stage, -1, 0},
                       base::Phrase("the two uses of the embedding would not be added"));
    }
    const Kind end = program_.evaluates() ? Kind::loss : Kind::norm;
    if (!summed_) refuse_missing(rank_, {end, -1, -1, -1, 0}, base::Phrase("every rank takes part in it once"));
    if (program_.evaluates()) return;
    for (const int stage : stages) {
      const SegmentRange range = trained_segments_of(program_, stage);
      for (int g = range.begin; g < range.end; ++g) complete_segment(stage, g);
    }
  }

  void complete_passes(int stage) const {
    for (const int m : program_.microbatches_of(dp_rank_)) {
      for (int g = program_.first_segment(stage); g < program_.end_segment(stage); ++g) {
        if (!record_.has(forward_pass, m, stage, g))
          refuse_missing(rank_, {Kind::fwd, m, stage, g, 0}, base::Phrase("every microbatch needs its forward"));
        if (program_.evaluates() || g < program_.first_trained) continue;
        if (!record_.has(input_pass, m, stage, g))
          refuse_missing(rank_, {Kind::bwd, m, stage, g, 0}, base::Phrase("every forward needs its backward"));
        if (!record_.has(weight_pass, m, stage, g))
          refuse_missing(rank_, {Kind::bwd_weight, m, stage, g, 0},
                         base::Phrase("bwd_input alone gives no weight gradient"));
        const int reduced = program_.reduces_each_microbatch() ? m : -1;
        if (!record_.has(PassRecord::reduced, m, stage, g))
          refuse_missing(rank_, {Kind::reduce_grads, reduced, stage, g, 0},
                         base::Phrase("the segment's gradients would not be summed"));
      }
    }
  }

  void complete_segment(int stage, int segment) const {
    const Segment& state = segment_at(stage, segment);
    const auto need = [&](bool holds, Kind kind, base::Phrase reason) {
      if (!holds) refuse_missing(rank_, {kind, -1, stage, segment, 0}, reason);
    };
    const bool several = program_.replicas > 1;
    need(state.totals || program_.zero != 0 || !several, Kind::gather_grads,
         base::Phrase("the replicas would not learn the totals"));
    need(state.stepped, Kind::step, base::Phrase("every segment is updated once"));
    const bool updates = program_.shards(1) && !program_.shards(3);
    need(state.updated || !updates, Kind::gather_params,
         base::Phrase("the replicas would not learn the updated parameters"));
    need(state.offloaded || !state.fetched, Kind::offload, base::Phrase("what was fetched must go back"));
  }

  template <class Rule>
  void each_segment(const Instruction& i, Rule rule) {  // rule(stage, segment, Segment&)
    const auto [begin, end] = segments_of(program_, i);
    for (int g = begin; g < end; ++g) rule(i.stage, g, segment_at(i.stage, g));
  }
  Segment& segment_at(int stage, int segment) { return segments_[record_.slot(stage, segment)]; }
  const Segment& segment_at(int stage, int segment) const { return segments_[record_.slot(stage, segment)]; }

  const Program& program_;
  const std::size_t rank_;
  const int dp_rank_;
  std::size_t index_ = 0;
  PassRecord record_;
  std::vector<Segment> segments_;                     // by slot of the record
  std::set<std::tuple<Kind, int, int, int>> stands_;  // kind, microbatch, stage, segment of instructions that may appear once
  bool summed_ = false;
};

}  // namespace

void check_rank(const Program& program, int rank) { RankCheck(program, rank).run(); }

}  // namespace troika::schedule
