#include "commands/eval/arguments.h"

namespace troika::commands {

config::FlagTable eval_flags(EvalArguments& a) {
  config::FlagTable table("troika eval");
  table.usage("PATH --data.valid FILE [--json] [--logits FILE] [settings of train]");
  table.add("json", a.json, "Print one JSON object on stdout, nothing else.").alone();
  table
      .add("logits", a.logits,
           "Also write the logits of every position as safetensors, [samples, positions, vocabulary].")
      .shown("FILE")
      .unset("none");
  table.settings({"model.path", "model.base", "data.valid", "batch.seq_len", "data.tokenizer"});
  table.paragraph(
      "PATH is a folder: a Hugging Face model, an adapter, a checkpoint or a run's folder (its newest checkpoint). "
      "Each\n"
      "sample counts once, in any layout; on many ranks: troika launch --nproc-per-node 2 -- eval PATH ... --pp 2");
  table.paragraph(
      "Of the other settings, --pp, --dp, --tp, --cp, --zero, --micro-batch-size, --precision.compute, "
      "--train.threads\n"
      "and those of comm count; nothing is trained and no run's folder is written. Losses have the same bits in every\n"
      "layout of dp, pp and ZeRO with the same --micro-batch-size.");
  return table;
}

EvalArguments parse_eval_arguments(const std::vector<std::string>& words, const config::Environment& environment) {
  EvalArguments a;
  a.parsed = config::parse_settings(words, environment, eval_flags(a));
  return a;
}

}  // namespace troika::commands
