// Settings that are one word of a closed list: an enum each. The list of its words is below it, in the order of the
// enumerators; parsing, printing, help, documentation and the agreement between ranks use that list. A new value
// is an enumerator and its word.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/exact_math.h"

namespace troika::config {

template <std::size_t n>
using Words = std::array<std::string_view, n>;

// model.architecture: the model's family.
enum class Family { qwen3, qwen2, llama, mistral, gpt2, gemma3_text, smollm3, granite };
constexpr Words<8> words_of(Family) { return {"qwen3", "qwen2", "llama", "mistral", "gpt2", "gemma3_text", "smollm3", "granite"}; }

// model.rope_scaling: how rotary frequencies are stretched.
// dynamic changes nothing up to max_positions, which no sequence exceeds here.
enum class RopeScaling { none, linear, llama3, yarn, dynamic };
constexpr Words<5> words_of(RopeScaling) { return {"none", "linear", "llama3", "yarn", "dynamic"}; }

// data.format
enum class DataFormat { automatic, text, alpaca, sharegpt, messages, tokenized };
constexpr Words<6> words_of(DataFormat) { return {"auto", "text", "alpaca", "sharegpt", "messages", "tokenized"}; }

// data.mix: what the weights of sources mean. concat: an epoch holds a source `weight` times. under, over: weights are
// shares of the epoch, which ends when the first, the last source is used up.
enum class Mix { concat, under, over };
constexpr Words<3> words_of(Mix) { return {"concat", "under", "over"}; }

// data.loss_on: the tokens of a conversation that carry loss.
enum class LossOn { answers, last_answer, all };
constexpr Words<3> words_of(LossOn) { return {"answers", "last_answer", "all"}; }

// data.too_long: what becomes of a conversation of more than batch.seq_len tokens.
enum class TooLong { cut, drop, error };
constexpr Words<3> words_of(TooLong) { return {"cut", "drop", "error"}; }

// data.control_tokens: a control token of the tokenizer that is in the text of a message.
enum class ControlTokens { keep, text, refuse };
constexpr Words<3> words_of(ControlTokens) { return {"keep", "text", "refuse"}; }

// parallel.schedule. A schedule is a row here and the function of that name in schedule/build/schedules.cc.
#define TROIKA_SCHEDULES(row) \
  row(gpipe, "gpipe") row(one_f_one_b, "1f1b") row(interleaved, "interleaved") row(zb_h1, "zb-h1")
#define TROIKA_ENUMERATOR(name, word) name,
#define TROIKA_WORD(name, word) std::string_view(word),
enum class Schedule { TROIKA_SCHEDULES(TROIKA_ENUMERATOR) };
constexpr auto words_of(Schedule) { return std::array{TROIKA_SCHEDULES(TROIKA_WORD)}; }
#undef TROIKA_ENUMERATOR
#undef TROIKA_WORD

// parallel.stage_balance: what stages are cut by.
enum class StageBalance { model, measured };
constexpr Words<2> words_of(StageBalance) { return {"model", "measured"}; }

// parallel.layout: whether dp, pp and the like are as stated, or chosen by prediction.
enum class LayoutChoice { stated, automatic };
constexpr Words<2> words_of(LayoutChoice) { return {"stated", "auto"}; }

// parallel.recompute: activation checkpointing.
enum class Recompute { none, full, selective };
constexpr Words<3> words_of(Recompute) { return {"none", "full", "selective"}; }

// parallel.offload: where optimizer state lies between steps.
enum class Offload { none, host, file };
constexpr Words<3> words_of(Offload) { return {"none", "host", "file"}; }

// parallel.reproducible
enum class Reproducible { run, bits, layout, off };
constexpr Words<4> words_of(Reproducible) { return {"run", "bits", "layout", "off"}; }
// Whether sums of gradients are in fp32, in the order that a layout gives them.
constexpr bool adds_in_floats(Reproducible r) { return r == Reproducible::layout || r == Reproducible::off; }
constexpr base::Repeatable repeatable(Reproducible r) { return r == Reproducible::off ? base::Repeatable::no : base::Repeatable::yes; }

// train.products: where the algorithms of products on a GPU come from, the library's recommendation or the device's clock.
enum class Products { recommended, measured };
constexpr Words<2> words_of(Products) { return {"recommended", "measured"}; }

// optimizer.lr_schedule
enum class LrSchedule { cosine, linear, constant, wsd };
constexpr Words<4> words_of(LrSchedule) { return {"cosine", "linear", "constant", "wsd"}; }

// optimizer.decay: the shape of the decay at the end of wsd.
enum class LrDecay { linear, cosine, sqrt };
constexpr Words<3> words_of(LrDecay) { return {"linear", "cosine", "sqrt"}; }

// train.loss: of the logits.
enum class Loss { cross_entropy };
constexpr Words<1> words_of(Loss) { return {"cross_entropy"}; }

// optimizer.name
enum class Optimizer { adamw };
constexpr Words<1> words_of(Optimizer) { return {"adamw"}; }

// optimizer.lr_at: the end of a step, or its start, is where it takes its rate from the schedule.
enum class LrAt { end, start };
constexpr Words<2> words_of(LrAt) { return {"end", "start"}; }

// precision.compute, and the type of weights in files.
enum class Precision { fp32, bf16, fp16 };
constexpr Words<3> words_of(Precision) { return {"fp32", "bf16", "fp16"}; }
constexpr std::int64_t bytes_of(Precision precision) { return precision == Precision::fp32 ? 4 : 2; }

// train.on_nonfinite: what a step does whose loss or gradients are no numbers, without a loss scale to blame.
enum class OnNonfinite { stop, skip, rollback };
constexpr Words<3> words_of(OnNonfinite) { return {"stop", "skip", "rollback"}; }

// A feature that is used where it costs little, always or never: checkpoint.async, train.checksums.
enum class OnOff { automatic, on, off };
constexpr Words<3> words_of(OnOff) { return {"auto", "on", "off"}; }

// train.preset
enum class TrainPreset { none, conservative, balanced, aggressive };
constexpr Words<4> words_of(TrainPreset) { return {"none", "conservative", "balanced", "aggressive"}; }

// comm.backend
enum class Backend { automatic, gloo, nccl };
constexpr Words<3> words_of(Backend) { return {"auto", "gloo", "nccl"}; }

// log.level
enum class LogLevel { debug, info, warning, error };
constexpr Words<4> words_of(LogLevel) { return {"debug", "info", "warn", "error"}; }

// log.progress
enum class Progress { automatic, bar, lines, none };
constexpr Words<4> words_of(Progress) { return {"auto", "bar", "lines", "none"}; }

// lora.targets: a projection of a layer, by the name that ends in its parameter's: "...q_proj.weight".
enum class Projection { q, k, v, o, gate, up, down };
constexpr Words<7> words_of(Projection) {
  return {"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"};
}

// Settings that are a word or something else stay texts; word_or() below tells which. The last enumerator is the rest.

// train.resume
enum class Resume { newest, never, path };
constexpr Words<2> words_of(Resume) { return {"auto", "never"}; }

// train.device
enum class DeviceKind { automatic, cpu, cuda, numbered };  // numbered: cuda:1
constexpr Words<3> words_of(DeviceKind) { return {"auto", "cpu", "cuda"}; }

// log.tensorboard
enum class Tensorboard { off, on, folder };
constexpr Words<2> words_of(Tensorboard) { return {"off", "on"}; }

inline constexpr std::string_view bytes_tokenizer = "bytes";     // data.tokenizer; else a file or folder
inline constexpr std::string_view tokenizers_template = "auto";  // data.chat_template: the tokenizer's own

// The word of a value: word_of(Schedule::zb_h1) is "zb-h1". Not for the last enumerator of a setting that is not always
// a word.
template <class E, class = decltype(words_of(E{}))>
std::string word_of(E value) {
  constexpr auto words = words_of(E{});
  return std::string(words.at(static_cast<std::size_t>(value)));
}

// The value of exactly this word, or nothing.
template <class E, class = decltype(words_of(E{}))>
std::optional<E> parse_word(std::string_view text) {
  constexpr auto words = words_of(E{});
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == text) return static_cast<E>(i);
  }
  return std::nullopt;
}

// The value of this word, or `otherwise` for a text that is none: word_or(train.resume, Resume::path).
template <class E, class = decltype(words_of(E{}))>
E word_or(std::string_view text, E otherwise) {
  return parse_word<E>(text).value_or(otherwise);
}

}  // namespace troika::config
