// Which files hold records, by their names and by their contents.
#pragma once

#include <string>
#include <string_view>

#include "data/corpus.h"

namespace troika::data {

// By the ending, below that of a compression, in small letters or capitals.
bool always_lines(std::string_view name);        // .jsonl, .ndjson, .jsonlines, .jl
bool is_jsonl(std::string_view name);            // .jsonl in small letters, as every version has read it
bool is_json(std::string_view name);             // .json
char separator_of(std::string_view name);        // of .csv ',', of .tsv a tab; else '\0'
bool named_like_records(std::string_view name);  // any of them

// An array where the first character says so, else lines.
FileKind kind_of_json(std::string_view first);

// What a file of an ending that tells nothing holds; `first`: how it begins. json_lines: its first two lines are an object each, or
// its only line is an object of a known format. json_array: of objects, the first of a known format. Else text.
FileKind kind_by_content(const std::string& path, std::string_view first);

}  // namespace troika::data
