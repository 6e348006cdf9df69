#include "commands/export/model_folder.h"

#include <ATen/ATen.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "base/error.h"
#include "base/file.h"
#include "checkpoint/conversion.h"
#include "checkpoint/folder_writer.h"
#include "comm/self_channel.h"
#include "model/layout.h"
#include "train/companions.h"
#include "train/published_config.h"

namespace troika::commands {
namespace {

using checkpoint::DType;

constexpr std::int64_t group_elements = 16 << 20, buffer_elements = 1 << 18;

DType dtype_of(const std::string& word) {
  return word == "bf16" ? DType::bf16 : word == "fp16" ? DType::f16 : DType::f32;
}

// Removes what it has made unless it was kept.
class PartialFolder {
 public:
  explicit PartialFolder(const std::string& to) : to_(to), path_(to + ".partial") {
    if (base::file_exists(to) || !base::list_directory(to).empty())
      throw base::ConfigError(fmt::format("'{}' is there already; name a folder that does not exist or is empty", to));
    if (base::file_exists(path_) || base::directory_exists(path_))
      throw base::ConfigError(
          fmt::format("'{}' is left of an export that did not end, or is written right now; remove it first", path_));
    base::make_directories(path_);
  }
  ~PartialFolder() {
    std::error_code ignored;  // the error that ends the export matters more
    if (!kept_) std::filesystem::remove_all(path_, ignored);
  }
  PartialFolder(const PartialFolder&) = delete;
  PartialFolder& operator=(const PartialFolder&) = delete;

  const std::string& path() const { return path_; }
  void keep() {
    base::rename_path(path_, to_);
    kept_ = true;
  }

 private:
  const std::string to_, path_;
  bool kept_ = false;
};

// Elements [begin, begin + count) of a tensor.
struct Piece {
  const model::ParameterInfo* info;
  std::int64_t begin, count;
};

// All elements of all tensors in order, in groups of at most group_elements.
std::vector<std::vector<Piece>> groups_of(const std::vector<model::ParameterInfo>& infos) {
  std::vector<std::vector<Piece>> groups;
  std::int64_t room = 0;
  for (const auto& info : infos) {
    for (std::int64_t begin = 0; begin < info.elements();) {
      if (room == 0) {
        groups.emplace_back();
        room = group_elements;
      }
      const std::int64_t count = std::min(room, info.elements() - begin);
      groups.back().push_back({&info, begin, count});
      begin += count;
      room -= count;
    }
  }
  return groups;
}

class WeightsExport {
 public:
  WeightsExport(train::ModelSource& source, DType dtype, ExportReport* report)
      : source_(source), infos_(model::all_parameters(source.model())), dtype_(dtype), report_(*report) {}

  void write(const std::string& folder, std::int64_t most_bytes) {
    std::vector<checkpoint::TensorEntry> entries;
    for (const auto& info : infos_) entries.push_back({info.name, dtype_, info.shape, 0, 0});
    checkpoint::FolderWriter writer(folder, std::move(entries), most_bytes);
    for (const auto& group : groups_of(infos_)) write_group(group, writer);
    for (const std::string& name : writer.finish()) report_.files.push_back(name);
    report_.tensors = static_cast<std::int64_t>(infos_.size());
    report_.bytes = report_.parameters * checkpoint::bytes_of(dtype_);
    note_overflows();
  }

 private:
  void write_group(const std::vector<Piece>& group, checkpoint::FolderWriter& writer) {
    std::vector<checkpoint::Slice> slices;
    for (const Piece& piece : group) {
      slices.push_back({piece.info->name,
                        piece.info->shape,
                        {piece.begin, piece.count, piece.count, 1},
                        at::empty({piece.count}, at::kFloat)});
    }
    source_.load(source_.model(), slices, *self_);
    for (const checkpoint::Slice& slice : slices) write_slice(slice, writer);
  }

  void write_slice(const checkpoint::Slice& slice, checkpoint::FolderWriter& writer) {
    const float* values = slice.data.data_ptr<float>();
    const std::int64_t count = slice.data.numel();
    for (std::int64_t at = 0; at < count; at += buffer_elements) {
      const std::int64_t now = std::min(buffer_elements, count - at);
      overflowed_[slice.name] += checkpoint::narrow(values + at, now, dtype_, buffer_.data());
      writer.write(buffer_.data(), now * checkpoint::bytes_of(dtype_));
    }
    report_.parameters += count;
  }

  void note_overflows() {
    for (const auto& info : infos_) {
      if (overflowed_[info.name] == 0) continue;
      report_.notes.push_back(
          fmt::format("{} of the {} numbers of '{}' are too large for {} and are infinite now; --dtype "
                      "fp32 keeps them",
                      overflowed_[info.name], info.elements(), info.name, report_.dtype));
    }
  }

  train::ModelSource& source_;
  const std::vector<model::ParameterInfo> infos_;
  const DType dtype_;
  ExportReport& report_;
  const std::unique_ptr<comm::Channel> self_ = comm::make_self_channel("export");
  std::vector<std::byte> buffer_ = std::vector<std::byte>(buffer_elements * 4);
  std::map<std::string, std::int64_t> overflowed_;  // numbers of each tensor
};

std::string name_in(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// The files that go along, by the names they get.
std::map<std::string, std::string> companions(const train::ModelSource& source, const std::string& tokenizer) {
  std::map<std::string, std::string> files;
  const std::string spec = tokenizer.empty() ? source.tokenizer() : tokenizer;
  if (base::file_exists(spec)) files["tokenizer.json"] = spec;
  const auto says_how_to_generate = [](const std::string& path) { return name_in(path) == "generation_config.json"; };
  for (const std::string& path : source.companions())  // how to generate is the model's, whatever the tokenizer
    if (tokenizer.empty() || says_how_to_generate(path)) files.emplace(name_in(path), path);
  for (const std::string& path : train::companions_in(train::folder_of_tokenizer(tokenizer)))
    if (!says_how_to_generate(path)) files.emplace(name_in(path), path);
  return files;
}

std::string without_tokenizer(const std::string& spec) {
  if (spec == "bytes") return "the model reads bytes, for which there are no tokenizer files";
  if (spec.empty()) return "no tokenizer was found beside the model; --tokenizer DIR takes one along";
  return fmt::format(
      "there is no tokenizer.json at '{}', where the model's tokenizer was; --tokenizer DIR takes one along", spec);
}

void write_other_files(const train::ModelSource& source, const ExportRequest& request, const std::string& folder,
                       ExportReport* report) {
  const std::string config = source.config_json();
  std::map<std::string, std::string> texts{
      {"config.json", train::published_config(source.model(), report->dtype, config)},
      {"generation_config.json", train::published_generation_config(config)}};
  for (const auto& [name, path] : companions(source, request.tokenizer)) texts[name] = base::read_file(path);
  if (texts.count("tokenizer.json") == 0)
    report->notes.push_back(without_tokenizer(request.tokenizer.empty() ? source.tokenizer() : request.tokenizer));
  for (const auto& [name, text] : texts) {
    base::write_file_atomic(folder + "/" + name, text);
    report->files.push_back(name);
  }
}

}  // namespace

ExportReport write_model_folder(train::ModelSource& source, const ExportRequest& request) {
  const std::string& tokenizer = request.tokenizer;
  if (!tokenizer.empty() && tokenizer != "bytes" && !base::file_exists(tokenizer) &&
      !base::file_exists(tokenizer + "/tokenizer.json"))
    throw base::ConfigError(fmt::format("there is no tokenizer.json in '{}' (--tokenizer); check the path", tokenizer));
  ExportReport report;
  report.dtype = request.dtype == "auto" ? source.dtype() : request.dtype;
  PartialFolder partial(request.to);
  write_other_files(source, request, partial.path(), &report);
  WeightsExport(source, dtype_of(report.dtype), &report).write(partial.path(), request.most_bytes);
  partial.keep();
  return report;
}

}  // namespace troika::commands
