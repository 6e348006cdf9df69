#include "commands/data/data.h"

#include <map>

#include "base/clock.h"
#include "base/error.h"
#include "base/say.h"
#include "base/units.h"
#include "commands/data/arguments.h"
#include "commands/data/encode.h"
#include "commands/data/inspect.h"
#include "commands/data/inspect_samples.h"
#include "commands/data/shown_progress.h"
#include "commands/data/tokenizer_folder.h"
#include "commands/stop_signals.h"
#include "data/corpus_bpe.h"
#include "data/prepare.h"
#include "data/shard_index.h"

namespace troika::commands {
namespace {

struct Streams {
  std::FILE* out;
  std::FILE* progress;
};

void print(const base::Text& text, base::Language language, std::FILE* out) {
  std::fputs((text.in(language) + "\n").c_str(), out);
}

// The arguments of a part, read with its table.
template <class Arguments>
Arguments read(config::FlagTable (*flags)(Arguments&), const Words& words) {
  Arguments a;
  const config::FlagTable table = flags(a);
  config::read_flags({&table}, words).finish();
  return a;
}

base::Text note_of_encodings(const std::vector<std::string>& files) {
  if (files.size() == 1)
    return base::say("note: 1 file is not UTF-8 and tokenized byte by byte ('{}'): convert with iconv what is text",
                     files.front());
  return base::say(
      "note: {} files are not UTF-8 and tokenized byte by byte ('{}', ...): convert with iconv what is text",
      files.size(), files.front());
}

base::Text prepared(const PrepareArguments& given, base::Language language, std::FILE* progress) {
  const auto tokenizer = tokenizer::open_tokenizer(given.tokenizer);
  const data::OnProgress show = shown_progress(base::say("tokenizing").in(language), progress);
  data::PrepareOptions options;
  options.text_key = given.text_key;
  options.workers = given.workers;
  const double start = base::monotonic_seconds();
  const data::PrepareReport report = data::prepare(given.inputs, *tokenizer, given.out, options, show);
  const double seconds = base::monotonic_seconds() - start;
  if (report.reused) {
    return base::say("'{}' already holds this data: {} in {}", given.out, base::counted_text(report.tokens, "token"),
                     base::counted_text(report.documents, "document"));
  }
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

base::Text trained_tokenizer(const TokenizerArguments& given, base::Language language, std::FILE* progress) {
  check_tokenizer_folder(given.out, given.vocab);
  const data::OnProgress show = shown_progress(base::say("counting words").in(language), progress);
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
        "fewer than the {} asked for: no further pair of tokens stands together twice in this text", given.vocab));
  if (left_out_bytes > 0)
    lines.push_back(base::say(
        "{} were not counted: of different pieces without a break that are longer than 256 bytes, the first {} are",
        base::format_bytes(left_out_bytes), base::format_bytes(static_cast<std::int64_t>(options.most_long_bytes))));
  return base::lines(lines);
}

void run_prepare(const Call& call, const Streams& to) {
  const base::Text stopped = base::say("troika: stopped; the same command continues where it was");
  const StopSignals signals({stopped.in(call.language) + "\n", ""});
  print(prepared(read(prepare_flags, call.words), call.language, to.progress), call.language, to.out);
}

void run_tokenizer(const Call& call, const Streams& to) {
  print(trained_tokenizer(read(tokenizer_flags, call.words), call.language, to.progress), call.language, to.out);
}

void run_encode(const Call& call, const Streams& to) {
  const EncodeArguments a = read(encode_flags, call.words);
  const EncodeOptions options{a.tokenizer, a.text_key, a.workers};
  if (a.statistics) {
    print(encode_statistics(a.inputs, options), call.language, to.out);
  } else {
    encode_texts(a.inputs, options, to.out);
  }
}

void run_decode(const Call& call, const Streams& to) {
  const DecodeArguments a = read(decode_flags, call.words);
  decode_ids(a.ids, a.tokenizer, a.json_lines ? DecodedForm::json_lines : DecodedForm::bytes, to.out);
}

// SHARDS is the first word; all else is about the samples of a run with the settings of train.
void run_inspect(const Call& call, const Streams& to) {
  if (call.words.empty() || !data::looks_like_shards(call.words.front()))
    return inspect_samples(call.words, call.environment, call.language, to.out, to.progress);
  InspectArguments a;
  const config::FlagTable table = inspect_flags(a);
  config::FlagReading reading = config::read_flags({&table}, {call.words.begin() + 1, call.words.end()});
  for (const char* name : {"sample", "ids", "color"}) {
    if (reading.states(name)) reading.refuse(base::say("--{} is for the samples of a run; leave it out with prepared shards", name));
  }
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

}  // namespace troika::commands
