// The sources that data.train and data.valid name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/settings/settings.h"
#include "data/record_format.h"

namespace troika::data {

struct Source {
  std::string name;                  // as it is stated, for messages
  std::string path;                  // a file or folder that is there
  std::optional<RecordShape> shape;  // where it is stated; else the first record tells
  std::string text_key = "text";     // of records of text
  std::int64_t max_samples = 0;      // its first ones; 0: all
};

// `stated`: paths or names of dataset_info.json, comma-separated; a path that exists as it is written, commas
// included, is one. `settings` for folder, format, text_key and max_samples. DataError for what is neither, with the
// nearest name, for pipes, for files of a kind that is not read (Parquet, Excel), in folders too, unless the format is text, and
// as read_dataset_info. ConfigError for a format other than text that contradicts the entry of dataset_info.json.
std::vector<Source> find_sources(const std::string& stated, const config::DataSettings& settings);

// dataset_info.json: names for data sets, as LLaMA-Factory writes them. docs/formats/dataset-info.md lists the keys.
struct DatasetInfo {
  std::vector<std::string> names;
  std::optional<Source> found;  // the one asked for
};

// Looks `name` up in folder/dataset_info.json; without that file there are no names. DataError naming file, name and
// key: for what is malformed, for files that are not there or, by way of links too, not in the folder, and for what is not done:
// data that would have to be downloaded, preferences, pictures.
DatasetInfo read_dataset_info(const std::string& folder, const std::string& name);

}  // namespace troika::data
