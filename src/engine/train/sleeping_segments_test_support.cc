#include "train/sleeping_segments_test_support.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/file.h"
#include "model/decoder.h"
#include "schedule/trace/trace_json.h"
#include "tensor/tensor.h"

namespace troika::train {
namespace {

using Clock = std::chrono::steady_clock;

// Lasts as long as it is told at least.
class Lasting {
 public:
  explicit Lasting(double seconds)
      : end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds))) {}
  ~Lasting() { std::this_thread::sleep_until(end_); }

 private:
  const Clock::time_point end_;
};

class CountedSaved final : public model::Saved {
 public:
  CountedSaved(std::unique_ptr<Saved> saved, Held* held) : saved_(std::move(saved)), held_(held) { held_->enter(); }
  ~CountedSaved() override { held_->leave(); }
  std::int64_t bytes() const override { return saved_->bytes(); }
  Saved& real() { return *saved_; }

 private:
  std::unique_ptr<Saved> saved_;
  Held* const held_;
};

class SleepingBlock final : public model::Segment {
 public:
  SleepingBlock(std::unique_ptr<model::Segment> real, const BlockSeconds& seconds, Held* held)
      : real_(std::move(real)), seconds_(seconds), held_(held) {}

  model::ForwardResult forward(const model::SegmentBuffer& parameters, const tensor::Tensor& x_mD,
                               const model::Tokens& tokens, shape::SavedActivations activations) const override {
    const Lasting lasting(seconds_.forward);
    model::ForwardResult result = real_->forward(parameters, x_mD, tokens, activations);
    if (held_ != nullptr && result.saved != nullptr)
      result.saved = std::make_unique<CountedSaved>(std::move(result.saved), held_);
    return result;
  }

  tensor::Tensor backward_input(const model::SegmentBuffer& parameters, const tensor::Tensor& dy_mD,
                            const model::Tokens& tokens, model::Saved& saved) const override {
    const Lasting lasting(seconds_.input);
    return real_->backward_input(parameters, dy_mD, tokens, real(saved));
  }

  void backward_weight(const model::SegmentLeaves& leaves, const model::Tokens& tokens,
                       model::Saved& saved) const override {
    const Lasting lasting(seconds_.weight);
    real_->backward_weight(leaves, tokens, real(saved));
  }

 private:
  model::Saved& real(model::Saved& saved) const {
    return held_ == nullptr ? saved : static_cast<CountedSaved&>(saved).real();
  }

  const std::unique_ptr<model::Segment> real_;
  const BlockSeconds seconds_;
  Held* const held_;
};

}  // namespace

void Held::enter() {
  const int count = ++now;
  int seen = most;
  while (count > seen && !most.compare_exchange_weak(seen, count)) {
  }
}

Trainer::SegmentMaker sleeping_segments(const config::Settings& settings, const BlockSeconds& seconds,
                                        const std::vector<Held*>& held) {
  return [settings, seconds, held](const model::Parallelism& parallel) {
    auto segments = model::make_segments(settings.model, settings.batch.seq_len, tensor::Device(), parallel);
    for (std::size_t layer = 0; layer + 2 < segments.size(); ++layer) {
      auto& segment = segments[layer + 1];
      segment = std::make_unique<SleepingBlock>(std::move(segment), seconds, held.empty() ? nullptr : held.at(layer));
    }
    return segments;
  };
}

schedule::CostModel sleeping_costs(const plan::Plan& plan, const BlockSeconds& seconds, const schedule::Link& link) {
  using schedule::Instruction;
  using schedule::Kind;
  schedule::CostModel costs;
  costs.seconds = [&program = plan.program, seconds](int, const Instruction& i) {
    if (!schedule::is_computation(i.kind)) return 0.0;
    const int first = i.segment >= 0 ? i.segment : program.first_segment(i.stage);
    const int end = i.segment >= 0 ? i.segment + 1 : program.end_segment(i.stage);
    const int blocks = std::min(end, program.segments() - 1) - std::max(first, 1);
    const double each = i.kind == Kind::fwd || i.kind == Kind::refwd ? seconds.forward
                        : i.kind == Kind::bwd_input                  ? seconds.input
                        : i.kind == Kind::bwd_weight                 ? seconds.weight
                                                                     : seconds.input + seconds.weight;
    return std::max(blocks, 0) * each;
  };
  costs.link = [link](int, int) { return link; };
  costs.exchange_seconds = [link, others = plan.program.replicas - 1](const Instruction& i, const std::vector<int>&) {
    return i.bytes == 0 ? 0.0 : link.latency_seconds + static_cast<double>(i.bytes) / others / link.bytes_per_second;
  };
  return costs;
}

double least(const std::vector<double>& values) { return *std::min_element(values.begin(), values.end()); }

double span_of(const schedule::StepTrace& trace) {
  double begin = trace.ranks.at(0).events.at(0).begin_seconds, end = begin;
  for (const auto& timeline : trace.ranks) {
    for (const auto& event : timeline.events) {
      begin = std::min(begin, event.begin_seconds);
      end = std::max(end, event.end_seconds);
    }
  }
  return end - begin;
}

std::vector<schedule::StepTrace> timelines(const std::string& run_folder, int first, int last) {
  std::vector<schedule::StepTrace> traces;
  for (int step = first; step <= last; ++step) {
    const std::string path = run_folder + "/timeline/" + schedule::merged_trace_name(step);
    traces.push_back(schedule::read_chrome(base::read_file(path), path));
  }
  return traces;
}

}  // namespace troika::train
