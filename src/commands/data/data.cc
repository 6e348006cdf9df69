#include "commands/data/data.h"

#include <map>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/units.h"
#include "commands/signals.h"
#include "data/prepare.h"
#include "data/shard_index.h"
#include "metrics/progress.h"
#include "tokenizer/tokenizer_json.h"

namespace troika::commands {
namespace {

struct Streams {
  std::FILE* out;
  std::FILE* progress;
};

void print(const base::Text& text, base::Language language, std::FILE* out) {
  std::fputs((text.in(language) + "\n").c_str(), out);
}

base::Text note_of_encodings(const std::vector<std::string>& files) {
  if (files.size() == 1)
    return base::say("note: 1 file is not UTF-8 and tokenized byte by byte ('{}'): if it is text, convert it with iconv",
                     files.front());
  return base::say(
      "note: {} files are not UTF-8 and tokenized byte by byte ('{}', ...): if they are text, convert them with iconv",
      files.size(), files.front());
}

base::Text prepared(const PrepareArguments& given, base::Language language, std::FILE* progress) {
  const auto tokenizer = tokenizer::open_tokenizer(given.tokenizer);
  const data::OnProgress show = shown_progress(base::say("tokenizing"), progress, language);
  data::PrepareOptions options;
  options.text_key = given.text_key;
  options.workers = given.workers;
  const double start = base::monotonic_seconds();
  const data::PrepareReport report = data::prepare(given.inputs, *tokenizer, given.out, options, show);
  const double seconds = base::monotonic_seconds() - start;
  if (report.reused)
    return base::say("'{}' already holds this data: {} in {}", given.out, base::counted_text(report.tokens, "token"),
                     base::counted_text(report.documents, "document"));
  std::vector<base::Text> parts{
      base::say("{} in {} from {} in {}, {} in '{}'; left out: {}, {}", base::counted_text(report.tokens, "token"),
                base::counted_text(report.documents, "document"), base::format_bytes(report.bytes),
                base::format_duration(seconds), base::counted_text(report.shards, "shard"), given.out,
                base::counted_text(report.duplicate_documents, "duplicate document"),
                base::counted_text(report.left_out.count(data::Why::binary), "binary file"))};
  if (const base::Text others = report.left_out.text_beside_binary(); !others.empty()) parts.push_back(others);
  if (report.dropped_bytes > 0)
    parts.push_back(base::say("{} (the vocabulary has no token for {} of the 256)",
                              base::counted_text(report.dropped_bytes, "byte"), tokenizer->lacking_bytes()));
  std::vector<base::Text> lines{base::join(parts, ", ", "，")};
  if (!report.not_utf8.empty()) lines.push_back(note_of_encodings(report.not_utf8));
  return base::lines(lines);
}

[[noreturn]] void refuse_folder(const std::string& folder, const std::string& file) {
  throw base::ConfigError(base::say(
      "the folder '{}' already holds another tokenizer (its '{}' differs): choose another --out, or remove it", folder,
      file));
}

bool is_of_tokenizer(const std::string& name) {
  for (const std::string file : {"tokenizer.json", "tokenizer_config.json"}) {
    if (name == file || name.rfind(file + ".tmp.", 0) == 0) return true;  // the latter of a process that was killed
  }
  return false;
}

// -1: it cannot be read.
std::int64_t ids_in(const std::string& path) {
  try {
    return static_cast<std::int64_t>(tokenizer::load_tokenizer_json(path).tokens.size());
  } catch (const base::DataError&) {
    return -1;
  }
}

// Before the training: it never writes over anything. ConfigError unless `folder` is absent, empty, or holds the files of a tokenizer
// alone, with at most `vocab` ids.
void check_tokenizer_folder(const std::string& folder, std::int64_t vocab) {
  if (base::file_exists(folder))
    throw base::ConfigError(base::say("'{}' is a file: give --out a new or empty folder", folder));
  for (const std::string& name : base::list_directory(folder)) {
    if (is_of_tokenizer(name)) continue;
    throw base::ConfigError(base::say(
        "the folder '{}' already contains other files ('{}'): give --out a new or empty folder", folder, name));
  }
  const std::string path = folder + "/tokenizer.json";
  if (!base::file_exists(path)) return;
  const std::int64_t ids = ids_in(path);
  if (ids < 0 || ids > vocab) refuse_folder(folder, "tokenizer.json");
}

enum class Saved { now, before };

// Writes the files of the tokenizer where they are missing. Saved::before: all were there, and equal. ConfigError for others.
Saved save_tokenizer_once(const tokenizer::BpeModel& model, const std::string& folder) {
  const auto files = tokenizer::tokenizer_files(model);
  bool all = true;
  for (const auto& [name, content] : files) {
    const std::string path = folder + "/" + name;
    if (!base::file_exists(path)) {
      all = false;
    } else if (base::read_file(path) != content) {
      refuse_folder(folder, name);
    }
  }
  if (all) return Saved::before;
  tokenizer::save_tokenizer(model, folder);
  return Saved::now;
}

base::Text trained_tokenizer(const TokenizerArguments& given, base::Language language, std::FILE* progress) {
  check_tokenizer_folder(given.out, given.vocab);
  const data::OnProgress show = shown_progress(base::say("counting words"), progress, language);
  tokenizer::BpeTrainerOptions options;
  options.vocab_size = given.vocab;
  options.workers = given.workers;
  options.text_key = given.text_key;
  const double start = base::monotonic_seconds();
  const auto [model, left_out_bytes] = data::train_bpe_on_files(given.inputs, options, show);
  const double seconds = base::monotonic_seconds() - start;
  std::vector<base::Text> lines{
      save_tokenizer_once(model, given.out) == Saved::before
          ? base::say("'{}' already holds this tokenizer: {} tokens", given.out, model.tokens.size())
          : base::say("a vocabulary of {} tokens in '{}', trained in {}", model.tokens.size(), given.out,
                      base::format_duration(seconds))};
  if (static_cast<std::int64_t>(model.tokens.size()) < given.vocab)
    lines.push_back(base::say(
        "fewer than the {} requested: no other pair of tokens occurs twice in this text", given.vocab));
  if (left_out_bytes > 0)
    lines.push_back(base::say(
        "{} were not counted: of distinct unbroken pieces longer than 256 bytes, only the first {} are",
        base::format_bytes(left_out_bytes), base::format_bytes(static_cast<std::int64_t>(options.most_long_bytes))));
  return base::lines(lines);
}

void run_prepare(const Call& call, const Streams& to) {
  const base::Text stopped = base::say("troika: stopped; rerun the same command to resume");
  const StopSignals signals({stopped.in(call.language) + "\n", ""});
  print(prepared(read_arguments(call.words, prepare_flags), call.language, to.progress), call.language, to.out);
}

void run_tokenizer(const Call& call, const Streams& to) {
  print(trained_tokenizer(read_arguments(call.words, tokenizer_flags), call.language, to.progress), call.language, to.out);
}

void run_encode(const Call& call, const Streams& to) {
  const EncodeArguments a = read_arguments(call.words, encode_flags);
  if (a.statistics) {
    print(encode_statistics(a), call.language, to.out);
  } else {
    encode_texts(a, to.out);
  }
}

void run_decode(const Call& call, const Streams& to) {
  decode_ids(read_arguments(call.words, decode_flags), to.out);
}

// SHARDS is the first word; all else is about the samples of a run with the settings of train.
void run_inspect(const Call& call, const Streams& to) {
  if (call.words.empty() || !data::looks_like_shards(call.words.front()))
    return inspect_samples(call.words, call.environment, call.language, to.out, to.progress);
  InspectArguments a;
  const config::FlagTable table = inspect_flags(a);
  config::FlagReading reading = config::read_flags({&table}, {call.words.begin() + 1, call.words.end()});
  for (const char* name : {"sample", "ids", "color"})
    if (reading.states(name))
      reading.refuse(base::say("--{} applies to a run's samples; leave it out with prepared shards", name));
  reading.finish();
  std::fputs(inspect_shards(call.words.front(), a.samples.value_or(0), a.tokenizer, call.language).c_str(), to.out);
}

}  // namespace

int run_data(const Call& call, std::FILE* out, std::FILE* progress) {
  static const std::map<std::string_view, void (*)(const Call&, const Streams&)> runs = {{"prepare", run_prepare},
                                                                                         {"tokenizer", run_tokenizer},
                                                                                         {"encode", run_encode},
                                                                                         {"decode", run_decode},
                                                                                         {"inspect", run_inspect}};
  runs.at(call.part->name)(call, {out, progress});
  return 0;
}

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
  table.add("vocab", a.vocab, "Tokens in the vocabulary, including the 256 bytes and <|endoftext|>.").range(257, 1e9);
  return table;
}

config::FlagTable encode_flags(EncodeArguments& a) {
  config::FlagTable table("troika data encode");
  table.usage("INPUT... --tokenizer bytes|DIR [flags]");
  add_corpus_flags(table, a);
  add_tokenizer_flag(table, a.tokenizer);
  table.add("stats", a.statistics, "Print the token count and speed instead of the ids.").alone();
  return table;
}

config::FlagTable decode_flags(DecodeArguments& a) {
  config::FlagTable table("troika data decode");
  table.usage("[FILE] --tokenizer bytes|DIR [--jsonl]");
  table.word("FILE", a.ids, "One line of ids per document, as printed by encode; -: standard input.");
  add_tokenizer_flag(table, a.tokenizer);
  table.add("jsonl", a.json_lines, "Print one {\"text\": ...} per line of ids instead of bare bytes.").alone();
  return table;
}

config::FlagTable inspect_flags(InspectArguments& a) {
  config::FlagTable table("troika data inspect");
  table.usage("[CONFIG.yaml] --data.train FILE [settings of train] [flags]");
  table.usage("SHARDS [--samples N] [--tokenizer bytes|DIR]");
  table.add("samples", a.samples, "Show this many samples, evenly spread.").range(0, most_count).unset("3; none for SHARDS");
  table.add("sample", a.sample, "Show the sample with this index.").range(0, most_count).unset("evenly spread samples");
  table.add("ids", a.ids, "Show token ids too.").alone();
  table.add("color", a.colors, "Mark tokens with loss by color instead of brackets.");
  table.add("tokenizer", a.tokenizer, "With SHARDS: show documents as text; bytes, a folder or tokenizer.json.")
      .shown("PATH")
      .unset("none: show ids");
  table.settings({"data.train", "data.tokenizer", "batch.seq_len"});
  table.paragraph(
      "Opens the data as `troika train` does with the same settings, uses the same cache, and shows samples as text; tokens\nwith loss are green or in double brackets. data.valid is shown if data.train is not given. With prepared\nSHARDS: verifies them and shows documents.");
  return table;
}

data::OnProgress shown_progress(const base::Text& what, std::FILE* to, base::Language language) {
  if (to == nullptr) return {};
  const auto shown = std::make_shared<metrics::JobProgress>(
      to, metrics::progress_style(config::Progress::automatic, to), 10, language);
  return [shown, what](const data::Progress& now) {
    const base::Text who = now.maker.empty() ? what : base::say("{}: {}", now.maker, what);
    shown->show({who, now.done_bytes, now.total_bytes, now.tokens, now.parts_reused}, base::monotonic_seconds());
  };
}

}  // namespace troika::commands
