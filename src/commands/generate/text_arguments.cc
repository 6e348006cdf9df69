#include "commands/generate/text_arguments.h"

#include <algorithm>

#include "base/say.h"

namespace troika::commands {
namespace {

constexpr double smallest_share = 0.000001;

void add_model_flags(config::FlagTable& table, TextArguments& a) {
  table.word("PATH", a.path, "A model folder (config.json, *.safetensors), an adapter's folder, a run or a checkpoint.")
      .familiar({"model.path"})
      .required();
  table.add("base", a.base, "The model beside an adapter.")
      .familiar({"model.base"})
      .shown("PATH")
      .unset("the one that the adapter names");
  table.add("tokenizer", a.tokenizer, "bytes, a folder with tokenizer.json, or the file.")
      .familiar({"data.tokenizer"})
      .shown("PATH")
      .unset("the model's");
}

void add_sampling_flags(config::FlagTable& table, TextArguments& a) {
  table.add("max-new-tokens", a.new_tokens, "The most tokens to draw.").familiar({"tokens"}).range(1, 1000000);
  table.add("temperature", a.temperature, "1: as trained; lower: likelier; 0: always the likeliest.")
      .range(0, 100)
      .unset("generation_config.json, or 1");
  table.add("top-k", a.top_k, "Only the k likeliest tokens; 0: all.")
      .range(0, 10000000)
      .unset("generation_config.json, or 0");
  table.add("top-p", a.top_p, "Only the likeliest tokens that together reach p.")
      .range(smallest_share, 1)
      .unset("generation_config.json, or 1");
  table.add("min-p", a.min_p, "Only tokens at least p times as likely as the likeliest.")
      .range(0, 1)
      .unset("generation_config.json, or 0");
  table.add("repetition-penalty", a.repetition_penalty, "Above 1: tokens that have come before are less likely.")
      .range(0.01, 100)
      .unset("generation_config.json, or 1");
  table.add("generation-config", a.advice,
            "auto: what is not given is as the model's generation_config.json says; none: that file is passed over.");
  table.add("seed", a.seed, "The same seed gives the same text.");
}

void add_stop_flags(config::FlagTable& table, TextArguments& a) {
  table.add("stop", a.stop_texts, "The text ends before this; may be given several times.").repeated().any_word();
  table
      .add("stop-id", a.stop_ids,
           "Drawing this token ends the text; may be given several times. The end marks of the tokenizer and of the "
           "model always do.")
      .repeated()
      .range(0, 0x7fffffff);
}

void add_machine_flags(config::FlagTable& table, TextArguments& a) {
  table
      .add("precision", a.precision,
           "bf16 and fp16 take half the memory, and are faster where reading weights is the limit.")
      .familiar({"precision.compute"});
  table.add("device", a.device, "auto, cpu, cuda, or one device such as cuda:1.")
      .familiar({"train.device"})
      .words(words_of(config::DeviceKind{}));
  table.add("threads", a.threads, "Threads of the computation; 0: all cores.")
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
}

}  // namespace troika::commands
