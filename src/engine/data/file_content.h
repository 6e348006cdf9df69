// Guesses the content of a file from its beginning.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/language.h"

namespace troika::data {

enum class ForeignKind { binary, encoding };

// What is not text in UTF-8: what it is, and what to do with it.
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

}  // namespace troika::data
