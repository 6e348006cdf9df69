#include "commands/data/arguments.h"

namespace troika::commands {
namespace {

constexpr double most_count = 1e15;

void add_corpus_flags(config::FlagTable& table, CorpusArguments& a) {
  table.word("INPUT...", a.inputs, "Text files, .jsonl files, folders of them.").required();
  table.add("workers", a.workers, "Threads; 0: all cores. The result does not depend on it.").range(0, 65536);
  table.add("text-key", a.text_key, "The key of a JSON line that holds the text.");
}

void add_tokenizer_flag(config::FlagTable& table, std::string& tokenizer) {
  table.add("tokenizer", tokenizer, "bytes, a folder with tokenizer.json, or the file.").shown("PATH").required();
}

void add_out_flag(config::FlagTable& table, std::string& out) {
  table.add("out", out, "Folder to write.").shown("DIR").required();
}

}  // namespace

config::FlagTable prepare_flags(PrepareArguments& a) {
  config::FlagTable table("troika data prepare");
  table.usage("INPUT... --tokenizer bytes|DIR --out DIR [flags]");
  add_corpus_flags(table, a);
  add_tokenizer_flag(table, a.tokenizer);
  add_out_flag(table, a.out);
  return table;
}

config::FlagTable tokenizer_flags(TokenizerArguments& a) {
  config::FlagTable table("troika data tokenizer");
  table.usage("INPUT... --out DIR [flags]");
  add_corpus_flags(table, a);
  add_out_flag(table, a.out);
  table.add("vocab", a.vocab, "Tokens of the vocabulary, the 256 bytes and <|endoftext|> among them.").range(257, 1e9);
  return table;
}

config::FlagTable encode_flags(EncodeArguments& a) {
  config::FlagTable table("troika data encode");
  table.usage("INPUT... --tokenizer bytes|DIR [flags]");
  add_corpus_flags(table, a);
  add_tokenizer_flag(table, a.tokenizer);
  table.add("stats", a.statistics, "Instead of the ids: how many tokens, how fast.").alone();
  return table;
}

config::FlagTable decode_flags(DecodeArguments& a) {
  config::FlagTable table("troika data decode");
  table.usage("[FILE] --tokenizer bytes|DIR [--jsonl]");
  table.word("FILE", a.ids, "A line of ids per document, as encode prints them; -: standard input.");
  add_tokenizer_flag(table, a.tokenizer);
  table.add("jsonl", a.json_lines, "One {\"text\": ...} per line of ids instead of the bytes alone.").alone();
  return table;
}

config::FlagTable inspect_flags(InspectArguments& a) {
  config::FlagTable table("troika data inspect");
  table.usage("[CONFIG.yaml] --data.train FILE [settings of train] [flags]");
  table.usage("SHARDS [--samples N] [--tokenizer bytes|DIR]");
  table.add("samples", a.samples, "So many, evenly spread.").range(0, most_count).unset("3; of SHARDS none");
  table.add("sample", a.sample, "The one with this index.").range(0, most_count).unset("evenly spread ones");
  table.add("ids", a.ids, "Token ids too.").alone();
  table.add("color", a.colors, "Colors for what carries loss, instead of marks.");
  table.add("tokenizer", a.tokenizer, "With SHARDS: shows the documents as text; bytes, a folder or tokenizer.json.")
      .shown("PATH")
      .unset("none: as ids");
  table.settings({"data.train", "data.tokenizer", "batch.seq_len"});
  table.paragraph(
      "Opens the data as `troika train` with the same settings does, into the same cache, and shows samples as text; "
      "what\ncarries loss is green, or in double brackets. data.valid is shown where data.train is not given. With "
      "prepared\nSHARDS: verifies them and shows documents.");
  return table;
}

}  // namespace troika::commands
