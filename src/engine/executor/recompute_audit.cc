#include "executor/recompute_audit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <set>

#include "base/cause.h"
#include "base/error.h"
#include "base/host_name.h"
#include "base/say.h"
#include "base/text.h"
#include "comm/collectives.h"
#include "kernels/flat.h"
#include "tensor/operations.h"

namespace troika::executor {
namespace {

bool have_equal_shares(const schedule::Program& program) {
  for (int dp_rank = 1; dp_rank < program.dp; ++dp_rank)
    if (program.share_size(dp_rank) != program.share_size(0)) return false;
  return true;
}

std::uint64_t mixed(std::uint64_t sum, std::uint64_t one) { return (sum ^ one) * 0x100000001b3ULL; }

std::uint64_t bits_of_loss(const kernels::LossSum& loss) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &loss.loss, sizeof bits);
  return mixed(bits, static_cast<std::uint64_t>(loss.tokens));
}

struct Line {
  std::int64_t place = 0;
  std::string bits, what;
};

Line parse_line(const std::string& text) {
  const std::vector<std::string> fields = base::split(text, '\t');
  Line line;
  base::parse_int(fields.at(0), &line.place);
  line.bits = fields.at(1);
  line.what = fields.at(2);
  return line;
}

// A result's name, as ranks send it each other, in words: a letter and the number or the parameter behind it.
constexpr char activations_behind = 'a', loss_of = 'l', gradients_before = 'd', gradient_of = 'g';

base::Text in_words(const std::string& what) {
  const std::string name = what.substr(1);
  switch (what.front()) {
    case activations_behind:
      return base::say("the activations after stage {}", name);
    case loss_of:
      return base::say("the loss of microbatch {}", name);
    case gradients_before:
      return base::say("the gradients of the activations before stage {}", name);
    default:
      return base::say("the gradient of {}", name);
  }
}

}  // namespace

RecomputeAudit::RecomputeAudit(const schedule::Program& program, const mesh::Shape& shape, int world_rank,
                               const Units& units, comm::Channel& world)
    : program_(program),
      shape_(shape),
      world_rank_(world_rank),
      units_(units),
      world_(world),
      shift_(have_equal_shares(program) ? 1 % program.dp : 0) {}

void RecomputeAudit::begin(Pass pass, std::int64_t step, const std::vector<int>& microbatches) {
  pass_ = pass;
  step_ = step;
  of_step_ = microbatches;
  if (of_step_.empty()) {
    of_step_.resize(static_cast<std::size_t>(program_.microbatches));
    std::iota(of_step_.begin(), of_step_.end(), 0);
  }
  if (pass == Pass::audit) std::rotate(of_step_.begin(), of_step_.begin() + shift_ * program_.share_size(0), of_step_.end());
  (pass == Pass::audit ? audit_ : now_) = {};
}

// An odd factor for each microbatch, so that two that change places are noticed and no bit is lost.
void RecomputeAudit::sent(StageMessage content, int microbatch, int stage, const tensor::Tensor& tensor) {
  if (pass_ == Pass::only) return;
  Trace& trace = pass_ == Pass::audit ? audit_ : now_;
  trace.sent[static_cast<int>(content)][stage] +=
      (2 * static_cast<std::uint64_t>(of_step(microbatch)) + 1) * static_cast<std::uint64_t>(tensor::value_of(kernels::bits_sum(tensor)));
}

int RecomputeAudit::stage_of(int segment) const {
  int stage = 0;
  while (program_.end_segment(stage) <= segment) ++stage;
  return stage;
}

void RecomputeAudit::observe(const std::map<int, kernels::LossSum>& losses) {
  if (pass_ == Pass::only) return;
  Trace& trace = pass_ == Pass::audit ? audit_ : now_;
  const int stages = program_.stages();
  for (const auto& [stage, bits] : trace.sent[static_cast<int>(StageMessage::activation)])
    trace.results.push_back({stage, bits, activations_behind + std::to_string(stage)});
  for (const auto& [microbatch, loss] : losses)
    trace.results.push_back({stages, bits_of_loss(loss), loss_of + std::to_string(microbatch)});
  for (const auto& [stage, bits] : trace.sent[static_cast<int>(StageMessage::gradient)])
    trace.results.push_back({2 * stages - stage, bits, gradients_before + std::to_string(stage)});
  for (auto at = units_.rbegin(); at != units_.rend(); ++at) {
    for (Bucket* bucket : at->second->trained()) {
      const std::vector<std::uint32_t>& shared = bucket->sum().shared_bits();
      const std::vector<std::uint32_t> sums = bucket->sum().sum_bits();
      const std::vector<shape::Slot>& slots = bucket->layout().slots;
      for (std::size_t slot = 0; slot < slots.size(); ++slot) {
        const std::string what = gradient_of + slots[slot].info.name;
        trace.results.push_back({2 * stages - stage_of(at->first), shared[slot], what});
        if (bucket->sum().same_in_every_order()) trace.sums.push_back({2 * stages + 1, sums[slot], what});
      }
    }
  }
  std::stable_sort(trace.results.begin(), trace.results.end(),
                   [](const Result& a, const Result& b) { return a.place < b.place; });
}

// direction 1: who computed in the audit what this rank computes in the step; -1: who computes in the step what this rank
// computed in the audit.
int RecomputeAudit::counterpart(int world_rank, int direction) const {
  mesh::Coordinate at = mesh::coordinate_of(shape_, world_rank);
  at.dp = (at.dp + shape_.dp - direction * shift_) % shape_.dp;
  return mesh::world_rank_of(shape_, at);
}

// A rank's result in the step is added and another's result for it in the audit subtracted: 0 where both are alike.
void RecomputeAudit::tell(int first_checksum, StepFacts* facts) const {
  if (pass_ != Pass::audited) return;
  const auto digest = [](const std::vector<Result>& results) {
    std::uint64_t sum = 0;
    for (const Result& one : results) sum = mixed(sum, one.bits);
    return sum;
  };
  const auto add = [&](int rank, int which, std::uint64_t value) {
    facts->add_checksum(rank, first_checksum + which, static_cast<std::int64_t>(value));
  };
  add(world_rank_, 0, digest(now_.results));
  add(counterpart(world_rank_, -1), 0, 0 - digest(audit_.results));
  add(world_rank_, 1, digest(now_.sums) - digest(audit_.sums));
}

void RecomputeAudit::compare(int first_checksum, const StepFacts& facts, bool finite) const {
  if (pass_ != Pass::audited || (!finite && !audit_finite_)) return;
  bool alike = true;
  for (int rank = 0; rank < shape_.world(); ++rank)
    alike = alike && facts.checksum(rank, first_checksum) == 0 && facts.checksum(rank, first_checksum + 1) == 0;
  if (alike) return;
  const std::vector<std::string> hosts = comm::all_gather_text(world_, base::host_name());
  const std::vector<std::string> audits = comm::all_gather_text(world_, lines_of(audit_));
  const std::vector<Difference> found = differences(audits, comm::all_gather_text(world_, lines_of(now_)));
  if (found.empty()) throw base::BugError(fmt::format("the audit of step {} differs, and nothing in it does", step_));
  throw base::PeerError(base::say("{}, detected in step {} by computing it twice; the update was not applied: test the memory and the processor of these hosts, or exclude one, and resume from the last checkpoint",
                                  sentence(found, hosts), step_),
                        base::Cause::changed_bits);
}

std::string RecomputeAudit::lines_of(const Trace& trace) const {
  std::string text;
  for (const std::vector<Result>* results : {&trace.results, &trace.sums})
    for (const Result& one : *results) text += fmt::format("{}\t{}\t{}\n", one.place, one.bits, one.what);
  return text;
}

// Where computing first parted, on every rank where it did at that place.
std::vector<RecomputeAudit::Difference> RecomputeAudit::differences(const std::vector<std::string>& audits,
                                                                    const std::vector<std::string>& now) const {
  std::vector<Difference> all;
  const int behind_results = 2 * program_.stages() + 1;
  for (int rank = 0; rank < shape_.world(); ++rank) {
    const int other = counterpart(rank, 1);
    const std::vector<std::string> lines = base::split(now[static_cast<std::size_t>(rank)], '\n');
    const std::vector<std::string> others = base::split(audits[static_cast<std::size_t>(other)], '\n');
    const std::vector<std::string> own = base::split(audits[static_cast<std::size_t>(rank)], '\n');
    for (std::size_t i = 0; i + 1 < lines.size(); ++i) {
      const Line line = parse_line(lines[i]);
      const bool sum = line.place == behind_results;
      if (line.bits == parse_line((sum ? own : others).at(i)).bits) continue;
      all.push_back({static_cast<int>(line.place), line.what, rank, sum ? rank : other});
      break;
    }
  }
  int first = behind_results;
  for (const Difference& one : all) first = std::min(first, one.place);
  all.erase(std::remove_if(all.begin(), all.end(), [first](const Difference& one) { return one.place > first; }),
            all.end());
  return all;
}

// The rank that takes part in every difference is to blame, where there is one such and another rank to tell it from.
base::Text RecomputeAudit::sentence(const std::vector<Difference>& found, const std::vector<std::string>& hosts) const {
  std::set<int> ranks, blamed;
  const auto dp_of = [this](int rank) { return mesh::coordinate_of(shape_, rank).dp; };
  std::map<int, int> taking_part;  // by dp rank, in how many of the differences
  for (const Difference& one : found) {
    ranks.insert({one.by, one.by_other});
    for (const int dp : std::set<int>{dp_of(one.by), dp_of(one.by_other)}) ++taking_part[dp];
  }
  for (const int rank : ranks)
    if (taking_part[dp_of(rank)] == static_cast<int>(found.size())) blamed.insert(rank);
  const auto names = [&hosts](const std::set<int>& of) {
    std::vector<std::string> each;
    for (const int rank : of) each.push_back(fmt::format("{} ({})", rank, hosts[static_cast<std::size_t>(rank)]));
    return of.size() == 1 ? base::say("rank {}", each.front()) : base::say("ranks {}", fmt::join(each, ", "));
  };
  const base::Text what = in_words(found.front().what);
  if (found.front().place == 2 * program_.stages() + 1)
    return base::say(
        "{} summed {} to different bits, though every rank computed the same: the bits changed between ranks or in its memory",
        names(ranks), what);
  if (ranks.size() == found.size() && found.front().by == found.front().by_other)
    return base::say("{} recomputed {} with different bits: its processor or memory is faulty", names(ranks), what);
  if (!blamed.empty() && blamed.size() < ranks.size() && found.size() > 1)
    return base::say(
        "{} computed {} with different bits than the other ranks that computed the same: its processor or memory is faulty",
        names(blamed), what);
  return base::say("{} computed {} with different bits: the processor or memory of one of them is faulty",
                   names(ranks), what);
}

}  // namespace troika::executor
