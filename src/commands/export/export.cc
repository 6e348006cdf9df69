#include "commands/export/export.h"

#include <cstdio>

#include "base/error.h"
#include "base/say.h"
#include "base/text.h"
#include "base/units.h"
#include "weights/weights_folder.h"
#include "comm/channel.h"
#include "commands/export/gguf_file.h"
#include "commands/export/model_folder.h"
#include "tensor/device.h"
#include "weights/model_source.h"

namespace troika::commands {
namespace {

void refuse_without_adapter(const ExportArguments& a) {
  if (!a.merge && a.base.empty()) return;
  throw base::ConfigError(
      base::say("'{}' is a whole model without an adapter; leave {} out", a.from, a.merge ? "--merge" : "--base"));
}

// The weights of a base keep its type, in which what an adapter adds is rounded.
void note_rounding(const ExportArguments& a, ExportReport* report) {
  if (a.type != ExportType::automatic || report->dtype == "fp32") return;
  report->notes.push_back(base::say(
      "the sums of base and adapter are rounded to {}, the base's type: the model differs slightly from the unmerged base and adapter; --dtype fp32 avoids this",
      report->dtype));
}

ExportReport write_model(weights::ModelSource& source, const ExportArguments& a) {
  return is_gguf_name(a.to) ? write_gguf_file(source, a) : write_model_folder(source, a);
}

// An adapter alone as an adapter's folder, all else as a model folder or a GGUF file, which has no base beside it.
ExportReport write(const ExportArguments& a, comm::Channel& self) {
  if (a.type == ExportType::q8_0 && !is_gguf_name(a.to))
    throw base::ConfigError(base::say("--dtype q8_0 is a type of GGUF files; name one, as {}.gguf, or choose fp32, bf16 or fp16", a.to));
  weights::Weights weights = weights::open_weights(a.from, self);
  if (a.adapter && (weights.adapter == nullptr || a.merge))
    throw base::ConfigError(base::say("--adapter writes an adapter alone; leave it out to write a whole model"));
  if (a.adapter && is_gguf_name(a.to)) return write_gguf_adapter(*weights.adapter, a);
  if (weights.adapter != nullptr && !a.merge && !is_gguf_name(a.to)) return write_adapter_folder(*weights.adapter, a);
  if (weights.adapter != nullptr) {
    ExportReport report = write_model(*weights::merge_with_base(std::move(weights.adapter), a.base, self), a);
    note_rounding(a, &report);
    return report;
  }
  refuse_without_adapter(a);
  return write_model(*weights.model, a);
}

}  // namespace

int run_export(const std::vector<std::string>& arguments, base::Language language) {
  const ExportArguments a = parse_export_arguments(arguments);
  if (a.threads > 0) tensor::set_threads(static_cast<int>(a.threads));
  const auto self = comm::make_self_channel("export");
  const ExportReport report = write(a, *self);
  if (!report.notes.empty())
    std::fprintf(stderr, "%s\n", base::say("note:{}", weights::listed(report.notes)).in(language).c_str());
  std::fputs(base::say("wrote {}: {} tensors, {} parameters in {}, {}\nfiles: {}\n", a.to, report.tensors,
                       base::format_count(report.parameters), report.dtype, base::format_bytes(report.bytes),
                       base::join(report.files, ", "))
                 .in(language)
                 .c_str(),
             stdout);
  return 0;
}

config::FlagTable export_flags(ExportArguments& a) {
  config::FlagTable table("troika export");
  table.usage("FROM TO [flags]");
  table.word("FROM", a.from, "A run (its newest checkpoint), a checkpoint, a model folder, a GGUF file or an adapter folder.")
      .familiar({"model.path"})
      .required();
  table.word("TO", a.to, "The folder to create, which must be new or empty; or a file that ends in .gguf.").required();
  table.add("dtype", a.type,
            "Type of the weights, rounded to nearest; auto: that of the folder the run started from, else fp32; fp32 for an adapter; q8_0 in GGUF files alone.")
      .familiar({"type", "outtype"})
      .spelled("f32", "fp32")
      .spelled("f16", "fp16");
  table.add("merge", a.merge, "Merge an adapter into its base and write the whole model, not just the adapter; in a GGUF file always, but for --adapter.").alone();
  table.add("adapter", a.adapter, "Write an adapter alone as a GGUF file, to be used with its base by llama.cpp (--lora).").alone();
  table.add("base", a.base, "The base model of an adapter.")
      .familiar({"model.base"})
      .shown("PATH")
      .unset("the base that the adapter names");
  table.add("max-shard-size", a.shard_bytes, "Maximum bytes of tensors per file; more are split over several files.")
      .unit("bytes")
      .range(1, 1e18)
      .shown("SIZE");
  table.add("tokenizer", a.tokenizer, "A folder with the tokenizer.json to include.")
      .familiar({"data.tokenizer"})
      .shown("PATH")
      .unset("the model's");
  table.add("threads", a.threads, "Reader threads; 0: all cores.").familiar({"train.threads"}).range(0, 4096);
  return table;
}

ExportArguments parse_export_arguments(const std::vector<std::string>& words) {
  ExportArguments a = read_arguments(words, export_flags);
  while (a.to.size() > 1 && a.to.back() == '/') a.to.pop_back();
  return a;
}

}  // namespace troika::commands
