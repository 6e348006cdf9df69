#include "commands/export/arguments.h"

namespace troika::commands {

config::FlagTable export_flags(ExportArguments& a) {
  config::FlagTable table("troika export");
  table.usage("FROM TO [flags]");
  table.word("FROM", a.from, "A run (its newest checkpoint), a checkpoint, a model folder or an adapter's folder.")
      .familiar({"model.path"})
      .required();
  table.word("TO", a.to, "The folder to be made; it must not exist, or be empty.").required();
  table.add("dtype", a.type,
            "Type of the weights, rounded to nearest; auto: that of the folder the run began from, else fp32, and fp32 "
            "for an adapter.");
  table.add("merge", a.merge, "Add an adapter to its base and write the whole model, not the adapter alone.").alone();
  table.add("base", a.base, "The model beside an adapter.")
      .familiar({"model.base"})
      .shown("PATH")
      .unset("the one that the adapter names");
  table.add("max-shard-size", a.shard_bytes, "Bytes of tensors in one file; more make several files.")
      .unit("bytes")
      .range(1, 1e18)
      .shown("SIZE");
  table.add("tokenizer", a.tokenizer, "A folder with tokenizer.json, which goes along.")
      .familiar({"data.tokenizer"})
      .shown("PATH")
      .unset("the model's");
  table.add("threads", a.threads, "Threads that read; 0: all cores.").familiar({"train.threads"}).range(0, 4096);
  return table;
}

ExportArguments parse_export_arguments(const std::vector<std::string>& words) {
  ExportArguments a;
  const config::FlagTable table = export_flags(a);
  config::read_flags({&table}, words).finish();
  while (a.to.size() > 1 && a.to.back() == '/') a.to.pop_back();
  return a;
}

}  // namespace troika::commands
