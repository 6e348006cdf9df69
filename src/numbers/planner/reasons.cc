#include "planner/reasons.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "base/units.h"
#include "config/lora.h"
#include "machine/profiles.h"
#include "machine/rates.h"
#include "planner/layout.h"
#include "shape/adapter.h"
#include "shape/segment_costs.h"
#include "shape/layout.h"

namespace troika::planner {
namespace {

using base::say;
using base::Text;

constexpr double notable = 1.05;          // what changes less is not worth a word
constexpr double busy = 0.8, talk = 0.2;  // shares of a step: computing at least, communication at most
constexpr int most_hosts_tried = 8;

std::string percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

bool on_cores(const machine::Cluster& cluster) { return cluster.hosts.front().computes_on_cores(); }

std::int64_t available(const Question& q) {
  const machine::Placement placement(q.cluster, q.world, q.ranks_per_host);
  return placement.memory_of(0) - placement.kind_of_rank(0).program_bytes;
}

Question with_links(Question q, double factor) {
  q.cluster.network.bytes_per_second *= factor;
  for (machine::Host& host : q.cluster.hosts) host.inside.bytes_per_second *= factor;
  for (machine::PairLink& pair : q.cluster.pairs) pair.link.bytes_per_second *= factor;
  return q;
}

// The first `hosts` of them.
Question with_hosts(Question q, int hosts) {
  std::vector<machine::Host> kept;
  for (machine::Host host : q.cluster.hosts) {
    host.count = std::min(host.count, hosts);
    hosts -= host.count;
    if (host.count > 0) kept.push_back(host);
  }
  q.cluster.hosts = std::move(kept);
  q.world = on_cores(q.cluster) ? q.cluster.host_count() * std::max(1, q.ranks_per_host) : q.cluster.device_count();
  q.fixed.dp.reset();
  return q;
}

struct Help {
  double gain;
  Text sentence;
};

void try_links(const Question& q, const Estimate& best, std::vector<Help>& helps) {
  if (q.world == 1 || best.time.communication() == 0) return;
  const auto faster = estimate_layout(with_links(q, 2), best.layout);
  if (faster) helps.push_back({best.time.step / faster->time.step, say("links twice as fast")});
}

void try_batch(const Question& q, const Estimate& best, std::vector<Help>& helps) {
  Question larger = q;
  larger.global *= 2;
  Layout layout = best.layout;
  layout.global *= 2;
  const auto faster = estimate_layout(larger, layout);
  if (faster && faster->fits())
    helps.push_back({faster->tokens_per_second() / best.tokens_per_second(), say("a batch twice as large (--global-batch-size {}; changes results)", layout.global)});
}

void try_memory(const Question& q, const Estimate& best, std::vector<Help>& helps) {
  if (best.layout.recompute == config::Recompute::none && best.layout.offload == config::Offload::none) return;
  Layout layout = best.layout;
  layout.recompute = q.fixed.recompute.value_or(config::Recompute::none);
  layout.offload = q.fixed.offload.value_or(config::Offload::none);
  const auto faster = estimate_layout(q, layout);
  if (!faster) return;
  const auto lack = faster->memory.total() - faster->available_bytes;
  if (lack > 0)
    helps.push_back(
        {best.time.step / faster->time.step, say("{0} more memory on each {1}, which then needs no recomputation or offload", base::format_bytes(lack),
                                                 say(on_cores(q.cluster) ? base::Phrase("host") : base::Phrase("device")))});
}

void try_fewer_hosts(const Question& q, const Estimate& best, std::vector<Help>& helps) {
  if (const auto fewer = fastest_on_fewer_hosts(q, best.tokens_per_second()))
    helps.push_back(
        {fewer->estimate.tokens_per_second() / best.tokens_per_second(),
         say("fewer hosts: {0} of the {1} suffice as {2}", fewer->hosts, q.cluster.host_count(), text_of(fewer->estimate.layout))});
}

// In more replicas of the same.
void try_twice_as_many(const Question& q, const Estimate& best, std::vector<Help>& helps) {
  if (q.fixed.dp || best.layout.global % (2 * best.layout.dp * best.layout.micro) != 0) return;
  Question more = q;
  for (machine::Host& host : more.cluster.hosts) host.count *= 2;
  more.world *= 2;
  if (more.cluster.network.bytes_per_second == 0) more.cluster.network = q.cluster.hosts.front().inside;
  Layout layout = best.layout;
  layout.dp *= 2;
  const auto faster = estimate_layout(more, layout);
  if (faster) helps.push_back({best.time.step / faster->time.step, say("twice as many hosts, as more replicas of the same batch")});
}

}  // namespace

// Every smaller number of a few hosts may be laid out in a way of its own.
std::optional<OnFewerHosts> fastest_on_fewer_hosts(const Question& q, double tokens_per_second) {
  const int hosts = q.cluster.host_count();
  std::optional<OnFewerHosts> fastest;
  if (!on_cores(q.cluster) || hosts == 1 || hosts > most_hosts_tried || q.fixed.dp) return fastest;
  for (int fewer = hosts - 1; fewer >= 1; --fewer) {
    auto found = fastest_that_fits(with_hosts(q, fewer));
    if (!found || found->tokens_per_second() <= tokens_per_second) continue;
    tokens_per_second = found->tokens_per_second();
    fastest = OnFewerHosts{fewer, std::move(*found)};
  }
  return fastest;
}

std::vector<Text> reasons_of(const Question& q, const Estimate& e) {
  std::vector<Text> reasons;
  reasons.push_back(
      say(e.fits() ? base::Phrase("fits: {} of the {} that a rank has") : base::Phrase("does not fit: it needs {} of the {} that a rank has"), plan::text_of(e.memory), base::format_bytes(e.available_bytes)));
  const TimeSplit& t = e.time;
  std::vector<Text> parts{say("{} computing", percent(t.share(t.compute))),
                          say("{} optimizer", percent(t.share(t.optimizer)))};
  const auto part = [&](double seconds, base::Phrase what) {
    if (t.share(seconds) >= 0.005) parts.push_back(say(what, percent(t.share(seconds))));
  };
  part(t.tensor, base::Phrase("{} messages of tensor parallelism"));
  part(t.context, base::Phrase("{} messages of context parallelism"));
  part(t.pipeline, base::Phrase("{} messages between stages"));
  part(t.data, base::Phrase("{} exchanging gradients and parameters between replicas"));
  part(t.world, base::Phrase("{} computing the norm over all ranks"));
  part(t.bubble, base::Phrase("{} waiting for other ranks"));
  reasons.push_back(
      say("a step of {} tokens takes {}: {}", base::format_count(e.tokens), base::format_duration(t.step), base::join(parts, ", ", "，")));
  if (e.layout.pp > 1)
    reasons.push_back(say("{} stages of about {} layers with {} microbatches each: a bubble of {}", e.layout.pp * e.layout.virtual_stages,
                          q.settings.model.layers / (e.layout.pp * e.layout.virtual_stages), e.microbatches,
                          percent(t.share(t.bubble))));
  if (e.layout.recompute == config::Recompute::full) reasons.push_back(say("without full recomputation it would be faster, if it fits: each forward runs twice"));
  if (t.share(t.communication()) > talk)
    reasons.push_back(say("communication takes {}, more than a fifth of the step", percent(t.share(t.communication()))));
  else if (t.share(t.compute + t.optimizer) < busy)
    reasons.push_back(say("ranks compute {} of the time; four fifths is good", percent(t.share(t.compute + t.optimizer))));
  return reasons;
}

// Bytes that a training keeps between steps of these segments: of frozen ones the weights alone.
static double bytes_kept(const config::Settings& settings, int begin, int end, const BytesPerParameter& bytes) {
  const auto count = [](const std::vector<shape::ParameterInfo>& parameters) {
    std::int64_t elements = 0;
    for (const auto& info : parameters) elements += info.elements();
    return elements;
  };
  const shape::Trained trained{config::trained_segments(settings), settings.lora, settings.train.seed, settings.train.loss};
  std::int64_t all = 0, learnt = 0;
  for (int segment = begin; segment < end; ++segment) {
    const std::int64_t own = count(shape::segment_parameters(settings.model, segment));
    const std::int64_t adapters = count(shape::adapter_parameters(settings.model, settings.lora, segment));
    all += own + adapters;
    learnt += adapters + (trained.own(segment) ? own : 0);
  }
  const BytesPerParameter frozen{bytes.weights, 0, 0};
  return model_state_bytes(real(learnt), 1, 0, bytes) + model_state_bytes(real(all - learnt), 1, 0, frozen);
}

std::vector<Text> three_questions(const Question& q) {
  const config::ModelSettings& model = q.settings.model;
  const double have = real(available(q));
  const Text what = say(on_cores(q.cluster) ? base::Phrase("rank") : base::Phrase("device"));
  const BytesPerParameter bytes = bytes_of_training(q.settings.optimizer.name, q.fixed.precision.value_or(config::Precision::bf16));
  const double all = bytes_kept(q.settings, 0, shape::segment_count(model), bytes);
  shape::MicrobatchShape one{shape::MicrobatchRows::equal(1, q.settings.batch.seq_len)};
  one.precision = q.fixed.precision.value_or(config::Precision::bf16);
  const auto saved = shape::segment_saved_bytes(model, one, shape::SavedActivations::all).whole;
  double layer = 0, activations = 0;  // of the largest
  for (const int segment : shape::BlockKinds(model).first) {
    layer = std::max(layer, bytes_kept(q.settings, segment, segment + 1, bytes));
    activations = std::max(activations, real(saved[static_cast<std::size_t>(segment)]));
  }
  const auto text = [](double size) { return base::format_bytes(static_cast<std::int64_t>(size)); };
  const bool whole = all <= have, one_layer = layer + activations <= have;
  return {say(whole ? base::Phrase("one {} fits the model: parameters, gradients and optimizer take {} of {}") : base::Phrase("one {} cannot fit the model: parameters, gradients and optimizer take {} of {}"), what, text(all), text(have)),
          say(one_layer ? base::Phrase("one {} fits a layer: {} and {} of activations for a sequence") : base::Phrase("one {} cannot fit a layer: {} and {} of activations for a sequence, so layers must be split: tensor parallelism, or ZeRO 3"), what, text(layer), text(activations)),
          say(model.layers > 30 ? base::Phrase("{} layers are deep enough for stages of a pipeline") : base::Phrase("{} layers give few layers to each stage of a long pipeline"), model.layers)};
}

std::vector<Text> what_would_help(const Question& q, const Estimate& best) {
  std::vector<Help> helps;
  try_links(q, best, helps);
  try_batch(q, best, helps);
  try_memory(q, best, helps);
  try_fewer_hosts(q, best, helps);
  try_twice_as_many(q, best, helps);
  std::stable_sort(helps.begin(), helps.end(), [](const Help& a, const Help& b) { return a.gain > b.gain; });
  std::vector<Text> sentences;
  for (const Help& help : helps) {
    if (help.gain >= notable) sentences.push_back(say("{:.2f} times as fast: {}", help.gain, help.sentence));
  }
  return sentences;
}

Text what_is_lacking(const Question& q, const Answer& answer) {
  const Nearest& nearest = *answer.nearest;
  return say("no layout fits {}: the nearest, {}, needs at least {} of the {} that a rank has", describe(q), text_of(nearest.layout), base::format_bytes(nearest.need_bytes),
             base::format_bytes(nearest.have_bytes));
}

Text nothing_fits(const Question& q, const Answer& answer) {
  const Text text = what_is_lacking(q, answer);
  // Remedies: more of the same machines, or a smaller batch where the batch is the large part.
  Question more = q;
  more.fixed.dp.reset();
  for (int times = 2; times <= 64; times *= 2) {
    more.cluster.hosts.back().count = q.cluster.hosts.back().count * times;
    more.world = on_cores(more.cluster) ? more.cluster.host_count() * std::max(1, q.ranks_per_host)
                                        : more.cluster.device_count();
    if (more.cluster.network.bytes_per_second == 0) more.cluster.network = more.cluster.hosts.front().inside;
    more.global = q.global * (q.global % more.world == 0 ? 1 : times);
    if (const auto fits = fastest_that_fits(more))
      return say("{}; {} of these hosts would fit it, as {}", text, more.cluster.host_count(), text_of(fits->layout));
  }
  return say("{}; a smaller model, shorter sequences or machines with more memory would fit", text);
}

Text describe(const Question& q) {
  std::vector<Text> parts;
  for (const machine::Host& host : q.cluster.hosts) {
    const Text hosts = say(host.count == 1 ? base::Phrase("one host") : base::Phrase("{} hosts"), host.count);
    const std::string memory = base::format_bytes(host.memory_bytes);
    parts.push_back(host.computes_on_cores() ? say(host.cores == 1 ? base::Phrase("{} of {} core ({}), {}") : base::Phrase("{} of {} cores ({}), {}"), hosts,
                                                   host.cores, host.device, memory)
                                             : say("{} with {} x {}, {} each", hosts, host.devices, host.device, memory));
  }
  return base::join(parts, "; ", "；");
}

base::Text sources_of(const machine::Cluster& cluster) {
  std::vector<base::Text> all;
  for (const machine::Host& host : cluster.hosts) {
    base::Text source = machine::source_of(host);
    const auto is_same = [&](const base::Text& other) { return other.english == source.english; };
    if (!source.empty() && std::none_of(all.begin(), all.end(), is_same)) all.push_back(std::move(source));
  }
  return base::join(all, "; ", "；");
}

}  // namespace troika::planner
