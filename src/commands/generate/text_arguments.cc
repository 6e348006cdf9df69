#include "commands/generate/text_arguments.h"

#include <algorithm>

#include "base/file.h"
#include "base/say.h"

namespace troika::commands {
namespace {

constexpr double smallest_share = 0.000001;

void add_model_flags(config::FlagTable& table, TextArguments& a) {
  table.word("PATH", a.path, "A model folder (config.json, *.safetensors), a GGUF file, an adapter folder, a run or a checkpoint.")
      .familiar({"model.path"})
      .required();
  table.add("base", a.base, "The base model of an adapter.")
      .familiar({"model.base"})
      .shown("PATH")
      .unset("the base that the adapter names");
  table.add("tokenizer", a.tokenizer, "bytes, a folder with tokenizer.json, or the file.")
      .familiar({"data.tokenizer"})
      .shown("PATH")
      .unset("the model's");
}

void add_sampling_flags(config::FlagTable& table, TextArguments& a) {
  table.add("max-new-tokens", a.new_tokens, "Maximum number of tokens to generate.").familiar({"tokens"}).range(1, 1000000);
  table.add("temperature", a.temperature, "1: as trained; lower: more predictable; 0: always the most likely token.")
      .range(0, 100)
      .unset("generation_config.json, or 1");
  table.add("top-k", a.top_k, "Sample only from the k most likely tokens; 0: all.")
      .range(0, 10000000)
      .unset("generation_config.json, or 0");
  table.add("top-p", a.top_p, "Sample only from the most likely tokens that together reach p.")
      .range(smallest_share, 1)
      .unset("generation_config.json, or 1");
  table.add("min-p", a.min_p, "Sample only tokens at least p times as likely as the most likely.")
      .range(0, 1)
      .unset("generation_config.json, or 0");
  table.add("repetition-penalty", a.repetition_penalty, "Above 1: makes tokens that occurred before less likely.")
      .range(0.01, 100)
      .unset("generation_config.json, or 1");
  table.add("generation-config", a.advice,
            "auto: take flags not given from the model's generation_config.json; none: ignore that file.");
  table.add("seed", a.seed, "The same seed gives the same text.");
}

void add_stop_flags(config::FlagTable& table, TextArguments& a) {
  table.add("stop", a.stop_texts, "End the text before this string; may be given several times.").repeated().any_word();
  table
      .add("stop-id", a.stop_ids,
           "Sampling this token ends the text; may be given several times. The end tokens of the tokenizer and the model always do.")
      .repeated()
      .range(0, 0x7fffffff);
}

void add_machine_flags(config::FlagTable& table, TextArguments& a) {
  table
      .add("precision", a.precision,
           "bf16 and fp16 take half the memory and are faster when reading weights is the bottleneck.")
      .familiar({"precision.compute"});
  table.add("device", a.device, "auto, cpu, cuda, or one device such as cuda:1.")
      .familiar({"train.device"})
      .words(words_of(config::DeviceKind{}));
  table.add("threads", a.threads, "Compute threads; 0: all cores.")
      .familiar({"train.threads"})
      .range(0, 4096);
}

}  // namespace

void add_text_flags(config::FlagTable& table, TextArguments& a) {
  add_model_flags(table, a);
  add_sampling_flags(table, a);
  add_stop_flags(table, a);
  add_machine_flags(table, a);
}

void check_text_arguments(const TextArguments& a, config::FlagReading* reading) {
  if (std::count(a.stop_texts.begin(), a.stop_texts.end(), "") > 0)
    reading->refuse(base::say("--stop: the text to stop at is empty; give it at least one character"));
  if (a.input.has_value() != a.output.has_value()) reading->refuse(base::say("--input and --output belong together: give both"));
  if (a.input && a.output && base::same_regular_file(*a.input, *a.output))
    reading->refuse(base::say("--output names the file of --input, whose prompts would be lost: name another file with --output"));
}

}  // namespace troika::commands
