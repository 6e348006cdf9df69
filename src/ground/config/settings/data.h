// The data and how it becomes sequences of tokens. A setting is a member with its default and its row (rows.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "config/choices.h"
#include "config/settings/rows.h"

namespace troika::config {

struct DataSettings {
  static constexpr std::string_view section = "data";
  static constexpr auto title = base::Phrase("Text to train on");

  std::string train;       // sources, comma-separated: files, folders, token shards, or names in dataset_info.json
  std::string valid;       // the same, to evaluate on; empty: none
  double valid_share = 0;  // of the samples of train kept for evaluation; 1 and above: a count
  std::string folder;      // with dataset_info.json, whose names train and valid may use
  DataFormat format = DataFormat::automatic;
  std::vector<double> weights;  // of the sources of train, in their order; empty: 1 each
  Mix mix = Mix::concat;
  std::int64_t max_samples = 0;                    // of each source, its first ones; 0: all
  std::string chat_template{tokenizers_template};  // auto: the tokenizer's own; chatml, alpaca; or a Jinja file
  bool thinking = true;                            // enable_thinking of the template
  LossOn loss_on = LossOn::answers;
  TooLong too_long = TooLong::cut;
  ControlTokens control_tokens = ControlTokens::keep;
  bool packing = false;                    // several samples in one sequence
  bool dedup = true;                       // equal samples count once
  bool shuffle = true;                     // a new order every epoch
  std::string tokenizer{bytes_tokenizer};  // bytes, a folder with tokenizer.json, or the file
  std::string cache;                       // folder of prepared shards; empty: OUT/data
  std::string text_key = "text";           // of a JSONL object
  std::int64_t prefetch = 4;               // microbatches read ahead
  std::int64_t workers = 0;                // tokenizing threads; 0: all cores

  template <class Rows>
  static void add_rows(Rows& t) {
    using M = DataSettings;
    t.add("train", &M::train,
          "Training data, comma-separated: text, JSON or JSONL files (also .gz, .zst), folders, prepared shards, or "
          "names in dataset_info.json.")
        .familiar({"dataset"})
        .unset("none")
        .agree(Agreement::none);
    t.add("valid", &M::valid, "Evaluation data, in the same formats; every token counts once.")
        .familiar({"eval-dataset", "validation-file"})
        .unset("none; no evaluation")
        .agree(Agreement::none);
    t.add("valid_share", &M::valid_share,
          "Fraction of the samples of data.train held out for evaluation; 1 and above: a number of samples.")
        .familiar({"val-size"})
        .range(0, 1e12);
    t.add("folder", &M::folder, "Folder with dataset_info.json, whose names data.train and data.valid may use.")
        .familiar({"dataset-dir"})
        .unset("none")
        .agree(Agreement::none);
    t.add("format", &M::format, "Format of the data; auto: detected from the first record.")
        .spelled("openai", "messages");
    t.add("weights", &M::weights, "Weights of the sources of data.train, in order; data.mix defines their meaning.")
        .familiar({"interleave-probs"})
        .unset("1 each")
        .range(0, 1e6);
    t.add("mix", &M::mix,
          "concat: an epoch repeats each source as often as its weight; under, over: weights are proportions, and an epoch ends when the first (under) or the last (over) source is exhausted.")
        .familiar({"mix-strategy"})
        .spelled("interleave_under", "under")
        .spelled("interleave_over", "over");
    t.add("max_samples", &M::max_samples, "Use only the first N samples of each source; 0: all.")
        .familiar({"max-samples"})
        .range(0, bounds::tera);
    t.add("chat_template", &M::chat_template,
          "Chat template for conversations; auto: the tokenizer's own; chatml; alpaca; or a Jinja file.")
        .flags({"chat-template"})
        .agree(Agreement::word_or_path);
    t.add("thinking", &M::thinking, "Passed to the chat template as enable_thinking.").familiar({"enable-thinking"});
    t.add("loss_on", &M::loss_on, "Conversation tokens that the loss covers.");
    t.add("too_long", &M::too_long,
          "Conversations of more than batch.seq_len tokens: cut, truncate the end; drop, skip the conversation; error, reject the run.")
        .familiar({"too-long"});
    t.add("control_tokens", &M::control_tokens,
          "Control tokens of the tokenizer inside the text of a message: keep, as tokens; text, spelled out; refuse, the record is an error.")
        .familiar({"control-tokens"});
    t.add("packing", &M::packing, "Pack several samples into one sequence, each with its own attention and positions.")
        .familiar({"packing", "neat-packing"});
    t.add("dedup", &M::dedup, "Keep only the first of identical samples.");
    t.add("shuffle", &M::shuffle, "Reshuffle the samples in every epoch.");
    t.add("tokenizer", &M::tokenizer, "bytes, a folder with tokenizer.json or tokenizer.model, one of these files, or a GGUF file.")
        .spelled("byte", "bytes")
        .agree(Agreement::word_or_path);
    t.add("cache", &M::cache, "Folder for prepared (tokenized) shards.")
        .familiar({"tokenized-path"})
        .unset("data in the run's folder")
        .agree(Agreement::none);
    t.add("text_key", &M::text_key, "The key of a JSONL record for the text.");
    t.add("prefetch", &M::prefetch, "Microbatches prefetched ahead of the step.").range(0, 65536).agree(Agreement::none);
    t.add("workers", &M::workers, "Tokenizing threads; 0: all cores.")
        .familiar({"num-workers", "preprocessing-num-workers"})
        .range(0, 65536)
        .agree(Agreement::none);
  }
};

}  // namespace troika::config
