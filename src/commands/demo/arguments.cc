#include "commands/demo/arguments.h"

namespace troika::commands {

config::FlagTable demo_flags(DemoArguments& a) {
  config::FlagTable table("troika demo");
  table.usage("[DIR] [--steps N] [--text PATH] [--only-data]");
  table.word("DIR", a.folder, "The folder of tokenizer, tokens and run; one that a demo began is continued.");
  table.add("steps", a.steps, "Steps of the pipeline; the data-parallel run continues for a seventh of them.")
      .range(21, 1e9);
  table.add("text", a.texts, "Text to train on, a file or a folder; may be given several times.")
      .shown("PATH")
      .repeated()
      .unset("the C and C++ headers of this machine, else its licences, else those of Troika's parts");
  table.add("only-data", a.only_data, "End after tokenizer and tokens, for a training of your own.").alone();
  table.paragraph(
      "Trains a tokenizer, then a model of 3 layers with three processes as a pipeline, continues with two "
      "data-parallel "
      "from the\n"
      "same checkpoint, shows what each rank did in a step, a sample and the loss. Ctrl-C saves; the same command goes "
      "on.");
  return table;
}

DemoArguments parse_demo_arguments(const std::vector<std::string>& words) {
  DemoArguments a;
  const config::FlagTable table = demo_flags(a);
  config::read_flags({&table}, words).finish();
  return a;
}

}  // namespace troika::commands
