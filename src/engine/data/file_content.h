// Guesses the content of a file from its beginning.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/language.h"
#include "data/corpus.h"

namespace troika::data {

enum class ForeignKind { binary, encoding };

// Content that is not text in UTF-8: its kind, and what to do with it.
struct Foreign {
  ForeignKind kind = ForeignKind::binary;
  base::Text what, remedy;
};

// `first`: the first bytes of the text of the file at `path`, decompressed where its ending says so. Told by the marks of formats
// (gzip, xz, ZIP, Parquet, ...), of encodings (UTF-16, UTF-32) and by NUL bytes. Nothing for text; bytes that are not UTF-8 are
// text all the same.
std::optional<Foreign> foreign_content(std::string_view first, const std::string& path);

// "'x.jsonl' is not text but gzip data: give its name the ending .gz".
base::Text describe(const Foreign& foreign, const std::string& path);

// The command that makes JSON lines of the table at `path`: by datasets for the format "arrow", else by pandas.read_`format`.
std::string table_command(const std::string& path, std::string_view format);

// By the ending, below that of a compression, in small letters or capitals.
bool always_lines(std::string_view name);        // .jsonl, .ndjson, .jsonlines, .jl
bool is_jsonl(std::string_view name);            // .jsonl in small letters, as every version has read it
bool is_json(std::string_view name);             // .json
char separator_of(std::string_view name);        // of .csv ',', of .tsv a tab; else '\0'
bool named_like_records(std::string_view name);  // any of them

// An array where the first character says so, else lines.
FileKind kind_of_json(std::string_view first);

// The content of a file whose ending tells nothing; `first`: how it begins. json_lines: its first two lines are an object each, or
// its only line is an object of a known format. json_array: of objects, the first of a known format. Else text.
FileKind kind_by_content(const std::string& path, std::string_view first);

}  // namespace troika::data
