#include "optimizer/optimizer.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/exact_math.h"
#include "tensor/operations.h"

namespace troika::optimizer {

double square_of_part(const shape::ShardPlan& plan, std::size_t part, const std::vector<double>& chunk_squares) {
  const shape::Range chunks = plan.chunks_of_part(part);
  return std::accumulate(chunk_squares.begin() + chunks.begin, chunk_squares.begin() + chunks.end(), 0.0);
}

double norm_of(const std::vector<double>& squares_in_name_order) {
  return std::sqrt(std::accumulate(squares_in_name_order.begin(), squares_in_name_order.end(), 0.0));
}

// Each in a file of its name.
std::unique_ptr<const UpdateRule> adamw(const config::OptimizerSettings& settings);

std::unique_ptr<const UpdateRule> update_rule(const config::OptimizerSettings& settings) {
  switch (settings.name) {
    case config::Optimizer::adamw:
      return adamw(settings);
  }
  throw base::BugError("an optimizer without a rule");
}

Optimizer::Optimizer(const std::vector<Stretch>& stretches, const tensor::Tensor& values,
                     const config::OptimizerSettings& settings, const shape::StatePlace& place, Checksums checksums,
                     tensor::Streams& streams, tensor::Ledger& ledger)
    : values_(values),
      rule_(update_rule(settings)),
      buffers_(shape::shape_of(settings.name).buffers),
      has_master_(values.dtype() != tensor::Dtype::fp32),
      checksums_(checksums),
      state_(shape::shape_of(settings.name).tensors(static_cast<std::int64_t>(values.element_bytes())),
             values.elements(), place, streams, ledger) {
  for (const Stretch& stretch : stretches)
    stretches_.push_back({stretch.count, stretch.decays ? settings.weight_decay : 0});
}

void Optimizer::master_changed() {
  known_.clear();
  if (has_master_) kernels::round_into(master().to(values_.device()), values_);
}

// The first of the sums that differs.
std::optional<StateFault> Optimizer::difference(const Sums& found, const Sums& left, std::size_t stretch) const {
  const auto differs = std::mismatch(found.begin(), found.end(), left.begin()).first;
  if (differs == found.end()) return std::nullopt;
  const auto index = static_cast<std::size_t>(differs - found.begin());
  if (index == 0) return StateFault{base::Phrase("the parameter").english(), stretch};
  if (index <= buffers_.size()) return StateFault{buffers_[index - 1].title, stretch};
  return StateFault{base::Phrase("the values").english(), stretch};
}

namespace {

// The stretches' parts in a piece of the buffer, and the index of the first.
struct StretchesOfPiece {
  std::size_t first = 0;
  std::vector<kernels::DecayStretch> parts;
};

StretchesOfPiece within(const std::vector<kernels::DecayStretch>& stretches, const shape::Range& piece) {
  StretchesOfPiece result;
  std::int64_t begin = 0;
  for (const kernels::DecayStretch& stretch : stretches) {
    const shape::Range part = shape::common({begin, stretch.count}, piece);
    if (part.count > 0) {
      result.parts.push_back({part.count, stretch.weight_decay});
    } else if (result.parts.empty()) {
      ++result.first;
    }
    begin += stretch.count;
  }
  return result;
}

}  // namespace

std::optional<StateFault> Optimizer::step(const tensor::Tensor& gradient, const Update& update) {
  constexpr std::int64_t piece_elements = std::int64_t{1} << 18;
  const std::int64_t elements = values_.elements(), most = state_.by_pieces() ? piece_elements : elements;
  SumsOfStep sums;
  if (checksums_ == Checksums::on) {
    sums.read.assign(stretches_.size(), Sums(summed()));
    sums.written = sums.read;
  }
  for (std::int64_t begin = 0; begin < elements; begin += most) {
    const shape::Range piece{begin, std::min(most, elements - begin)};
    const auto [first, parts] = within(stretches_, piece);
    const UpdateTensors tensors = tensors_of(gradient, piece);
    if (checksums_ == Checksums::off) {
      rule_->apply(update, parts, tensors);
    } else {
      add_sums(rule_->apply_summed(update, parts, tensors), first, &sums);
    }
    state_.done(piece.begin, piece.count);
  }
  std::optional<StateFault> fault;
  for (std::size_t i = 0; i < known_.size() && !fault; ++i) fault = difference(sums.read[i], known_[i], i);
  known_ = std::move(sums.written);
  return fault;
}

UpdateTensors Optimizer::tensors_of(const tensor::Tensor& gradient, const shape::Range& piece) {
  const auto part = [&](const tensor::Tensor& flat) { return flat.narrow(0, piece.begin, piece.count); };
  const int count = static_cast<int>(buffers_.size());
  UpdateTensors tensors{part(has_master_ ? state_.present(count) : values_), part(gradient), {}, {}};
  for (int i = 0; i < count; ++i) tensors.state.push_back(part(state_.present(i)));
  if (has_master_) tensors.rounded = part(values_);
  return tensors;
}

// Adds the sums of the stretches from `first` on.
void Optimizer::add_sums(const tensor::Tensor& of_stretches, std::size_t first, SumsOfStep* sums) {
  const tensor::Tensor here = of_stretches.cpu();
  const std::int64_t* next = here.data<std::int64_t>();
  const auto add_to = [&](Sums& to) {
    for (std::uint32_t& sum : to) sum += static_cast<std::uint32_t>(*next++);
  };
  const std::size_t end = first + static_cast<std::size_t>(here.size(0));
  for (std::size_t stretch = first; stretch < end; ++stretch) {
    add_to(sums->read[stretch]);
    add_to(sums->written[stretch]);
  }
}

static std::uint32_t sum_of(const tensor::Tensor& flat, std::int64_t begin, std::int64_t count) {
  return static_cast<std::uint32_t>(tensor::value_of(kernels::bits_sum(flat.narrow(0, begin, count))));
}

std::optional<StateFault> Optimizer::find_fault() const {
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < known_.size(); ++i) {
    const std::int64_t count = stretches_[i].count;
    const auto sum = [&](const tensor::Tensor& flat) { return sum_of(flat, begin, count); };
    Sums now{sum(master())};
    for (std::size_t buffer = 0; buffer < buffers_.size(); ++buffer) now.push_back(sum(this->buffer(buffer)));
    now.push_back(has_master_ ? sum(values_) : 0);
    const auto fault = difference(now, known_[i], i);
    state_.done(begin, count);
    if (fault) return fault;
    begin += count;
  }
  return std::nullopt;
}

std::vector<std::uint32_t> Optimizer::value_sums() const {
  std::vector<std::uint32_t> sums;
  for (const Sums& of_stretch : known_) sums.push_back(has_master_ ? of_stretch.back() : of_stretch.front());
  return sums;
}

namespace {

using config::LrDecay;
using config::LrSchedule;

double part_of(std::int64_t done, std::int64_t all) {
  return std::min(1.0, static_cast<double>(done) / static_cast<double>(std::max<std::int64_t>(1, all)));
}

// The remaining share of the way from lr to min_lr.
double left_of(LrDecay shape, double done) {
  switch (shape) {
    case LrDecay::linear:
      return 1 - done;
    case LrDecay::cosine:
      return 0.5 * (1 + base::cos(3.14159265358979323846 * done));
    case LrDecay::sqrt:
      return 1 - std::sqrt(done);
  }
  return 0;
}

}  // namespace

double learning_rate(const config::OptimizerSettings& settings, std::int64_t step, std::int64_t steps) {
  const bool at_start = settings.lr_at == config::LrAt::start, wsd = settings.lr_schedule == LrSchedule::wsd;
  const std::int64_t at = at_start ? step - 1 : step, warmup = settings.warmup_steps;
  const double lr = settings.lr, floor = std::min(settings.min_lr, lr);
  if (warmup > 0 && at <= warmup) {
    const double share = static_cast<double>(at) / static_cast<double>(warmup);
    return wsd && at_start ? floor + (lr - floor) * share : lr * share;
  }
  if (settings.lr_schedule == LrSchedule::constant) return lr;
  if (wsd) {
    const std::int64_t begin = steps - settings.decay_steps;
    return at <= begin ? lr : floor + (lr - floor) * left_of(settings.decay, part_of(at - begin, settings.decay_steps));
  }
  const LrDecay shape = settings.lr_schedule == LrSchedule::linear ? LrDecay::linear : LrDecay::cosine;
  return floor + (lr - floor) * left_of(shape, part_of(at - warmup, steps - warmup));
}

bool changes_nothing(const config::OptimizerSettings& settings, std::int64_t first, std::int64_t last,
                     std::int64_t steps) {
  if (settings.lr == 0) return true;
  for (std::int64_t step = first; step <= last; ++step)
    if (learning_rate(settings, step, steps) != 0) return false;
  return true;
}

}  // namespace troika::optimizer
