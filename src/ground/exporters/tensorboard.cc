#include "exporters/tensorboard.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/host_name.h"
#include "base/say.h"
#include "base/cause.h"
#include "base/text.h"
#include "config/config.h"
#include "config/fields.h"
#include "records/line_file.h"

namespace troika::exporters {
namespace {

const std::vector<std::string>& result_tags() {
  static const std::vector<std::string> tags = {"loss", "valid_loss"};
  return tags;
}

// The records at the beginning of every file.
std::string opening_records(const TensorboardRun& run, double time, std::int64_t after_step) {
  return version_record(time) + start_record(time, after_step + 1) +
         text_record(time, after_step, "config", fmt::format("```yaml\n{}```\n", run.config)) +
         hyper_parameters_record(time, run.parameters, result_tags()) +
         hyper_parameters_start_record(time, run.parameters);
}

// One event file. Threads: that of the disk.
class EventFile {
 public:
  explicit EventFile(std::string folder) : folder_(std::move(folder)) {}
  ~EventFile() {
    if (file_ >= 0) ::close(file_);
  }
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  void open(double time);
  // All or nothing: a record that was written in part is taken back. A file that is gone or cannot be cut gets no more.
  void append(const std::string& records);

  // The next two from any thread. The first thing that went wrong counts.
  void fail(base::Text what) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!std::exchange(told_, true)) trouble_ = std::move(what);
  }
  base::Text trouble() {  // since the last call
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(trouble_, {});
  }

 private:
  const std::string folder_;
  std::string path_;
  int file_ = -1;
  std::int64_t bytes_ = 0;  // of whole records
  std::mutex mutex_;        // guards the next
  base::Text trouble_;
  bool told_ = false;
};

void EventFile::open(double time) {
  try {
    base::make_directories(folder_);
  } catch (const base::DataError& error) {
    return fail(base::text_of(error));
  }
  const std::int64_t stamp = time_behind_others(folder_, static_cast<std::int64_t>(time));
  path_ = fmt::format("{}/{}", folder_, event_file_name(stamp, base::host_name(), ::getpid()));
  file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644);
  if (file_ < 0) fail(base::say("cannot create '{}': {}", path_, base::system_cause(errno)));
}

void EventFile::append(const std::string& records) {
  if (file_ < 0) return;
  ssize_t count = 0;
  do count = ::write(file_, records.data(), records.size());
  while (count < 0 && errno == EINTR);
  if (count == static_cast<ssize_t>(records.size())) {
    bytes_ += count;
    return;
  }
  fail(base::say("cannot write to '{}': {}", path_, base::system_cause(count < 0 ? errno : ENOSPC)));
  if (count <= 0 || ::ftruncate(file_, bytes_) == 0) return;
  ::close(file_);
  file_ = -1;
}

// With the digits of metrics.jsonl, so that both say the same.
metrics::StepMetrics as_written(const metrics::StepMetrics& row) {
  return metrics::parse_step_metrics(to_json(row), "a row");
}

class TensorboardSink : public metrics::RowSink {
 public:
  explicit TensorboardSink(TensorboardRun run)
      : run_(std::move(run)), file_(std::make_shared<EventFile>(run_.folder)) {}
  ~TensorboardSink() override { finish_as(SessionEnd::failure); }

  void begin_after(std::int64_t step) override {
    const double now = base::wall_seconds();
    if (!std::exchange(opened_, true)) {
      disk_.post([file = file_, now] { file->open(now); });
      post(opening_records(run_, now, step));
    } else {
      post(start_record(now, step + 1));
    }
  }

  base::Text append(const metrics::StepMetrics& row) override {
    post(scalars_record(base::wall_seconds(), row.step, scalars_of(as_written(row))));
    const base::Text trouble = file_->trouble();
    return trouble.empty() ? trouble : base::say("{}; the run continues, but TensorBoard will not show every step", trouble);
  }

  void finish() override { finish_as(SessionEnd::success); }

 private:
  void post(std::string records) {
    constexpr int most_waiting = 1000;
    if (*waiting_ >= most_waiting) return file_->fail(base::say("the disk of '{}' does not respond", run_.folder));
    ++*waiting_;
    disk_.post([file = file_, waiting = waiting_, records = std::move(records)] {
      --*waiting;
      file->append(records);
    });
  }
  void finish_as(SessionEnd end) {
    if (opened_ && !std::exchange(finished_, true)) post(hyper_parameters_end_record(base::wall_seconds(), end));
  }

  const TensorboardRun run_;
  const std::shared_ptr<EventFile> file_;
  const std::shared_ptr<std::atomic<int>> waiting_ = std::make_shared<std::atomic<int>>(0);
  bool opened_ = false, finished_ = false;
  records::BackgroundDisk disk_;
};

// When the steps were done, as far as the records tell.
class StepTimes {
 public:
  explicit StepTimes(const records::RunReader& run) {
    for (const records::Event& event : run.events()) {
      if (event.kind != records::EventKind::start || event.step < 0) continue;
      begins_.erase(begins_.lower_bound(event.step), begins_.end());  // an earlier attempt's that this one repeats
      begins_[event.step] = event.time;
    }
    if (!begins_.empty() || run.steps().empty()) return;
    double seconds = 0;
    for (const auto& row : run.steps()) seconds += row.step_seconds;
    struct stat facts {};
    const std::string rows = run.folder() + "/metrics.jsonl";
    const double last = ::stat(rows.c_str(), &facts) == 0 ? static_cast<double>(facts.st_mtime) : base::wall_seconds();
    begins_[run.steps().front().step - 1] = last - seconds;
  }

  double begin() const { return begins_.empty() ? base::wall_seconds() : begins_.begin()->second; }
  double after(const metrics::StepMetrics& row) {
    const auto next = begins_.find(row.step - 1);
    now_ = (next == begins_.end() ? now_ : next->second) + row.step_seconds;
    return now_;
  }

 private:
  std::map<std::int64_t, double> begins_;  // when the step behind this one began
  double now_ = 0;
};

}  // namespace

std::string tensorboard_folder(const config::Settings& settings) {
  using config::Tensorboard;
  const Tensorboard where = config::word_or(settings.log.tensorboard, Tensorboard::folder);
  if (where == Tensorboard::off || settings.train.out.empty() || settings.log.tensorboard.empty()) return "";
  return where == Tensorboard::on ? settings.train.out + "/tensorboard" : settings.log.tensorboard;
}

std::vector<HyperParameter> hyper_parameters_of(const std::string& yaml) {
  std::vector<HyperParameter> parameters;
  std::optional<config::Settings> settings;
  try {
    settings = config::settings_from_yaml(yaml, "config.yaml");
  } catch (const base::Error&) {  // of another version
    return {};
  }
  for (const config::Field& field : config::fields()) {
    if (field.agreement != config::Agreement::value || field.is_list()) continue;
    const std::string text = config::get_text(field, *settings);
    double number = 0;
    if (field.is_truth())
      parameters.push_back({field.key(), text == "true"});
    else if (!field.is_text() && base::parse_double(text, &number))
      parameters.push_back({field.key(), number});
    else
      parameters.push_back({field.key(), text});
  }
  return parameters;
}

Scalars scalars_of(const metrics::StepMetrics& row) {
  float loss = 0;
  std::memcpy(&loss, &row.loss_bits, sizeof loss);
  Scalars scalars = {{"loss", loss},
                     {"grad_norm", row.grad_norm},
                     {"lr", row.lr},
                     {"tokens", static_cast<double>(row.tokens)},
                     {"tokens_total", static_cast<double>(row.tokens_total)},
                     {"step_seconds", row.step_seconds},
                     {"tokens_per_second", row.tokens_per_second},
                     {"memory_bytes", static_cast<double>(row.memory_bytes)}};
  for (const auto& [name, value] : row.extra) scalars.emplace_back(name, value);
  return scalars;
}

std::unique_ptr<metrics::RowSink> make_tensorboard_sink(TensorboardRun run) {
  return std::make_unique<TensorboardSink>(std::move(run));
}

std::string write_tensorboard(const records::RunReader& run, const TensorboardRun& to) {
  base::make_directories(to.folder);
  for (const std::string& name : base::list_directory(to.folder))
    if (name.find("tfevents") != std::string::npos)
      throw base::ConfigError(base::say("'{}' already has event files ({}); name another folder", to.folder, name));
  StepTimes times(run);
  const std::int64_t before = run.steps().empty() ? 0 : run.steps().front().step - 1;
  std::string all = opening_records(to, times.begin(), before);
  double last = times.begin();
  for (const metrics::StepMetrics& row : run.steps()) {
    last = times.after(row);
    all += scalars_record(last, row.step, scalars_of(row));
  }
  const auto life = run.state() ? run.state()->life : records::Life::finished;
  if (life == records::Life::finished || life == records::Life::stopped || life == records::Life::failed)
    all += hyper_parameters_end_record(last, life == records::Life::failed ? SessionEnd::failure : SessionEnd::success);
  const std::string path = fmt::format(
      "{}/{}", to.folder, event_file_name(static_cast<std::int64_t>(times.begin()), base::host_name(), ::getpid()));
  base::write_file_atomic(path, all);
  return path;
}

}  // namespace troika::exporters
