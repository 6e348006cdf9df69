#include "data/opened_source.h"

#include <optional>
#include <utility>

#include "base/cause.h"
#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "base/units.h"
#include "data/prepare.h"
#include "data/sequence_samples.h"
#include "data/sequences.h"
#include "data/shard_index.h"
#include "data/source_shape.h"
#include "data/token_stream.h"
#include "data/tokenized_lines.h"

namespace troika::data {
namespace {

base::Text counted(std::int64_t count, base::Phrase one, base::Phrase many) {
  return base::say(count == 1 ? one : many, count);
}

std::shared_ptr<const TokenStream> open_stream(const Source& source, JsonFiles json_files, const Opening& opening) {
  if (looks_like_shards(source.path)) return open_shards(source.path, opening.tokenizer);
  PrepareOptions options;
  options.text_key = source.text_key;
  options.workers = opening.settings.workers;
  options.max_documents = source.max_samples;
  options.json_files = json_files;
  return prepare_once({source.path}, opening.tokenizer, opening.cache, options, opening.on_progress);
}

// As the end of the line that counts what is read; "" when nothing was.
base::Text left_out(std::vector<base::Text> parts, const LeftOut& files) {
  if (!files.empty()) parts.push_back(files.text());
  return parts.empty() ? base::Text{} : base::say("; left out: {}", base::join(parts, ", ", "，"));
}

// A single file of shards does not tell.
std::int64_t dropped_bytes(const TokenStream& stream) {
  return base::file_exists(index_path(stream.path())) ? read_shard_index(stream.path()).dropped_bytes : 0;
}

OpenedSource open_text(const Source& source, const SourceShape& found, const Opening& opening) {
  const auto stream = open_stream(source, found.json_files, opening);
  OpenedSource opened{nullptr, stream->vocab_size(), stream->tokens(), 0, {}};
  opened.samples = std::make_shared<const TokenSamples>(
      stream, opening.seq_len, source.name, opening.reading == Reading::training ? Tail::left_out : Tail::kept);
  opened.report = {base::say("'{}': text, {} in {}, {} of {} ids{}", source.name,
                             counted(stream->tokens(), base::Phrase("{} token"), base::Phrase("{} tokens")),
                             counted(stream->documents(), base::Phrase("{} document"), base::Phrase("{} documents")),
                             counted(opened.samples->samples(), base::Phrase("{} sample"), base::Phrase("{} samples")),
                             opening.seq_len, left_out({}, found.left_out))};
  if (!found.not_utf8.empty())
    opened.report.push_back(
        base::say(found.not_utf8.size() == 1 ? base::Phrase("note: {1} file of '{0}' is not UTF-8 and is trained on byte by byte ('{2}'): convert it with iconv if it is text") : base::Phrase("note: {1} files of '{0}' are not UTF-8 and are trained on byte by byte ('{2}', ...): convert them with iconv if they are text"), source.name,
                  found.not_utf8.size(), found.not_utf8.front()));
  if (const std::int64_t bytes = dropped_bytes(*stream); bytes > 0)
    opened.report.push_back(
        base::say("'{}': bytes left out, because the vocabulary lacks tokens for {} of the 256: {}", source.name, opening.tokenizer.lacking_bytes(), bytes));
  if (opening.settings.packing) opened.report.push_back(base::say("'{}': data.packing has no effect because its samples are already full", source.name));
  if (const std::int64_t bytes = stream->unverified_bytes(); bytes > 0)
    opened.report.push_back(base::say("note: {0} in '{1}' have no hashes of their pieces, so damage shows only if an id is outside the vocabulary; 'troika data prepare' with the same input and --out checks them once and adds the hashes", base::format_bytes(bytes), stream->path()));
  if (source.max_samples > 0 && looks_like_shards(source.path))
    opened.report.push_back(base::say("'{}': data.max_samples is ignored for prepared shards", source.name));
  return opened;
}

// Several to a sample, or one.
void arrange(WithTargets taught, const Source& source, const Opening& opening,
             OpenedSource* opened) {
  const std::int64_t count = taught.sequences->count();
  using Packing = SequenceSamples::Packing;
  const auto packing = opening.settings.packing ? Packing::several : Packing::none;
  const auto samples =
      std::make_shared<const SequenceSamples>(std::move(taught), opening.seq_len, packing);
  opened->tokens = samples->tokens();
  opened->truncated = samples->truncated();
  opened->samples = samples;
  if (packing == Packing::none) return;
  const double each = static_cast<double>(count) / static_cast<double>(samples->samples());
  opened->report.push_back(base::say("'{}': packed, {} of {} ids with {:.1f} sequences each, {:.1f} % full", source.name,
                                     counted(samples->samples(), base::Phrase("{} sample"), base::Phrase("{} samples")),
                                     opening.seq_len, each, 100 * samples->fill()));
}

void report_truncated(const Source& source, const Opening& opening, std::int64_t sequences, OpenedSource* opened) {
  if (opened->truncated == 0) return;
  opened->report.push_back(base::say("note: {0} of {1} samples in '{2}' are longer than {3} ids and are truncated, which loses their ends and end tokens; a larger --seq-len keeps them whole, --data.too-long drop leaves them out", opened->truncated, sequences, source.name, opening.seq_len));
}

// The sequences that data.too_long leaves. `find_first` finds the first that is longer than a sample.
std::shared_ptr<const Sequences> fitting(const std::shared_ptr<const Sequences>& all, const Source& source,
                                         const Opening& opening, const std::function<LongRecord()>& find_first) {
  if (opening.settings.too_long == config::TooLong::cut) return all;
  const auto whole = not_longer(all, opening.seq_len);
  if (whole != all && opening.settings.too_long == config::TooLong::error) {
    const LongRecord first = find_first();
    throw base::DataError(base::say("{} has {} tokens, and data.too_long is error: set a --seq-len larger than {}, or --data.too-long drop or cut", first.origin, first.ids, opening.seq_len));
  }
  if (whole->count() == 0)
    throw base::DataError(base::say("every sample of '{}' is longer than {} ids, and data.too_long is drop: set a larger --seq-len", source.name, opening.seq_len));
  return whole;
}

// `what` and `left_out` are before and after the counts of the first line of the report.
OpenedSource open_sequences(WithTargets taught, const base::Text& what, const base::Text& left_out,
                            const Source& source, const Opening& opening) {
  const std::int64_t kept = taught.sequences->count(), targets = taught.targets;
  OpenedSource opened;
  arrange(std::move(taught), source, opening, &opened);
  const base::Text counts =
      base::say("'{}': {}{} with {}, {} of them with loss{}", source.name, what, counted(kept, base::Phrase("{} sample"), base::Phrase("{} samples")),
                counted(opened.tokens, base::Phrase("{} token"), base::Phrase("{} tokens")), targets, left_out);
  opened.report.insert(opened.report.begin(), counts);
  report_truncated(source, opening, kept, &opened);
  return opened;
}

OpenedSource open_tokenized(const Source& source, const Opening& opening) {
  const Corpus corpus = record_files(source);
  const CorpusFile& file = corpus.files.front();
  if (corpus.files.size() != 1 || file.kind != FileKind::json_lines)
    throw base::DataError(base::say("'{}': token ids are read from one file with an object per line", source.path));
  const std::int64_t vocab = opening.vocab > 0 ? opening.vocab : opening.tokenizer.vocab_size();
  const auto all_lines = std::make_shared<const TokenizedLines>(file.path, vocab, opening.cache);
  std::shared_ptr<const Sequences> lines = all_lines;
  if (source.max_samples > 0) lines = first_sequences(lines, source.max_samples);
  check_targets(*lines, opening.seq_len, source.name);
  const auto fit = fitting(lines, source, opening, [&] {
    std::int64_t first = 0;
    while (lines->length(first) <= opening.seq_len) ++first;
    return LongRecord{all_lines->origin(first), lines->length(first)};
  });
  check_targets(*fit, opening.seq_len, source.name);
  WithTargets taught = with_targets(fit, opening.seq_len);
  std::vector<base::Text> parts;
  if (const std::int64_t longer = lines->count() - fit->count(); longer > 0)
    parts.push_back(base::say("{} longer than {} ids", longer, opening.seq_len));
  if (const std::int64_t without = fit->count() - taught.sequences->count(); without > 0)
    parts.push_back(base::say("{} without a label within {} ids", without, opening.seq_len));
  OpenedSource opened = open_sequences(std::move(taught), base::say("token ids, "),
                                       left_out(std::move(parts), corpus.left_out), source, opening);
  opened.vocab = vocab;
  return opened;
}

// The records that were left out, and why.
std::vector<base::Text> records_left_out(const SequenceCounts& counts, std::int64_t longer, std::int64_t behind,
                                         std::int64_t seq_len) {
  std::vector<base::Text> parts;
  if (counts.duplicates > 0)
    parts.push_back(
        base::say(counts.duplicates == 1 ? base::Phrase("{} duplicate") : base::Phrase("{} duplicates"), counts.duplicates));
  if (counts.without_answer > 0) parts.push_back(base::say("{} without an answer", counts.without_answer));
  if (longer > 0) parts.push_back(base::say("{} longer than {} ids", longer, seq_len));
  if (behind > 0) parts.push_back(base::say("{} whose answers begin after {} ids", behind, seq_len));
  return parts;
}

OpenedSource open_conversations(const Source& source, const RecordShape& shape, const Opening& opening) {
  Corpus corpus = record_files(source);
  corpus.scratch = opening.cache;
  const Encoding encoding{opening.tokenizer, opening.chat_template(), opening.settings.loss_on, shape,
                          opening.settings.control_tokens};
  const Equal equal = opening.settings.dedup ? Equal::first_kept : Equal::all_kept;
  const auto file = tokenize_once(corpus, encoding, opening.cache,
                                  {opening.settings.workers, source.max_samples, equal}, opening.on_progress);
  const SequenceCounts& counts = file->counts();
  const auto fit = fitting(file, source, opening, [&] {
    const std::optional<LongRecord> first = find_longer(corpus, encoding, opening.seq_len);
    if (!first) throw base::DataError(base::say("'{}' was changed while it was being read: start again", source.path));
    return *first;
  });
  WithTargets taught = with_targets(fit, opening.seq_len);
  const std::int64_t kept = taught.sequences->count(), longer = counts.sequences - fit->count();
  if (kept == 0) throw base::DataError(base::say("every answer of '{}' begins after {} ids: set a larger --seq-len", source.path, opening.seq_len),
      base::Cause::no_training_tokens);
  const base::Text what = base::say("{}, {} as ", word_of(shape.format),
                                    counted(counts.records, base::Phrase("{} record"), base::Phrase("{} records")));
  OpenedSource opened = open_sequences(
      std::move(taught), what,
      left_out(records_left_out(counts, longer, fit->count() - kept, opening.seq_len), corpus.left_out), source,
      opening);
  for (base::Text& line : file->findings().report(source.name, opening.settings.control_tokens))
    opened.report.push_back(std::move(line));
  opened.vocab = opening.tokenizer.vocab_size();
  if (const std::int64_t bytes = opening.tokenizer.lacking_bytes(); bytes > 0)
    opened.report.push_back(base::say("'{}': the vocabulary lacks tokens for {} of the 256 bytes; they are left out of its texts", source.name, bytes));
  return opened;
}

}  // namespace

OpenedSource open_source(const Source& source, const Opening& opening) {
  const SourceShape found = shape_of_source(source);
  switch (found.shape.format) {
    case Format::text:
      return open_text(source, found, opening);
    case Format::tokenized:
      return open_tokenized(source, opening);
    default:
      return open_conversations(source, found.shape, opening);
  }
}

}  // namespace troika::data
