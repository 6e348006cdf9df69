#include "train/run.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <random>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/say.h"
#include "inference/evaluator.h"
#include "plan/plan.h"
#include "tensor/tensor.h"
#include "tokenizer/tokenizer.h"
#include "train/run_start.h"
#include "weights/model_source.h"

namespace troika::train {
namespace {

// Tells the heartbeat client where the rank is, and whose microbatch the head computes.
class Watcher final : public executor::Observer {
 public:
  explicit Watcher(Session& session) : session_(session) {}
  int microbatch() const { return microbatch_; }

  void begins(std::int64_t step, const schedule::Instruction& instruction) override {
    session_.rank_activity().begins(step, instruction, base::monotonic_seconds());
    microbatch_ = instruction.microbatch;
  }

 private:
  Session& session_;
  int microbatch_ = -1;
};

std::string temporary_folder() {
  std::error_code error;
  const std::string folder = std::filesystem::temp_directory_path(error).string();
  if (error) throw base::ConfigError(base::say("TMPDIR is not a folder: name one, or keep the tokenized data with --data.cache"));
  return folder;
}

void remove_quietly(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

// A folder of this run that is there until all ranks of this host have mapped what is in it. Each rank shares a lock on a
// file beside it as long as it lives, so that the next run knows what a killed one has left, and removes it.
class Scratch {
 public:
  explicit Scratch(const std::string& name)
      : path_(temporary_folder() + "/" + prefix + name), lock_path_(path_ + lock_suffix), lock_(open_lock(lock_path_)) {
    ::flock(lock_, LOCK_SH);
    remove_what_others_left();
    make_private_folder(path_);
  }
  ~Scratch() {
    remove_quietly(path_);
    remove_quietly(lock_path_);
    if (lock_ >= 0) ::close(lock_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::string& path() const { return path_; }

 private:
  static constexpr const char* prefix = "troika-eval-";
  static constexpr const char* lock_suffix = ".lock";

  static int open_lock(const std::string& path) {
    return ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
  }

  void remove_what_others_left() const {
    const std::string folder = temporary_folder() + "/";
    for (const std::string& name : base::list_directory(folder)) {
      const std::size_t end = name.rfind(lock_suffix);
      if (name.rfind(prefix, 0) != 0 || end == std::string::npos || folder + name == lock_path_) continue;
      const int lock = ::open((folder + name).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
      if (lock < 0) continue;
      if (::flock(lock, LOCK_EX | LOCK_NB) == 0) {
        remove_quietly(folder + name.substr(0, end));
        remove_quietly(folder + name);
      }
      ::close(lock);
    }
  }

  const std::string path_, lock_path_;
  const int lock_;
};

std::string scratch_name() {
  std::random_device random;
  return fmt::format("{}-{:08x}{:08x}", ::getpid(), random(), random());
}

void check_request(const EvaluationRequest& request) {
  const config::Settings& s = request.resolved.settings;
  if (s.model.path.empty())
    throw base::ConfigError(
        base::say("model.path is not set; name a model folder, a checkpoint or a run with --model.path PATH, or as the first argument"));
  if (s.data.valid.empty())
    throw base::ConfigError(
        base::say("data.valid is not set; name a text file, JSONL, a folder or token shards with --data.valid PATH"));
  if (base::same_regular_file(request.logits, s.data.valid))
    throw base::ConfigError(base::say("--logits names the file of --data.valid, which it would overwrite: name another file"));
}

class Run {
 public:
  Run(Session& session, const EvaluationRequest& request)
      : session_(session), request_(request), settings_(request.resolved.settings), watcher_(session) {}

  EvaluationResult run() {
    meet();
    open();
    plan();
    EvaluationResult result;
    result.truncated = data_.truncated;
    result.evaluation = compute();
    session_.finish();
    return result;
  }

 private:
  void meet() {
    session_.join();
    machine_ = prepare_machine(request_);
    session_.at(0, records::Activity::agreeing);
    session_.agree("settings", settings_facts(settings_, "", machine_));
    connect(session_, request_, plan::mesh_of(settings_.parallel), machine_);
  }

  void open() {
    session_.at(0, records::Activity::opening_model);
    source_ = weights::open_model(settings_.model.path, world(), settings_.model.base);
    source_->check(settings_.model);
    for (const base::Text& note : source_->notes()) say(request_, base::say("note: {}", note));
    session_.at(0, records::Activity::preparing_data);
    const auto tokenizer = tokenizer::open_tokenizer(settings_.data.tokenizer);
    const std::string name = session_.collectives().broadcast_text("scratch folder", scratch_name);
    std::optional<Scratch> scratch;
    if (settings_.data.cache.empty()) scratch.emplace(name);
    data_ = open_data(request_,
                      {settings_.data.valid, scratch ? scratch->path() : settings_.data.cache,
                       data::Reading::evaluation, settings_.data},
                      *tokenizer);
    rendezvous::Facts facts;
    facts.values = {{"data", data_.samples->fingerprint()}, {std::string(base::Phrase("weights").english()), source_->fingerprint()}};
    session_.agree("data", facts);  // afterwards every rank has mapped what it needs of the scratch folder
  }

  void plan() {
    const std::int64_t most_per_rank = request_.logits.empty() ? plan::no_limit : 1;  // logits of one are much already
    const std::int64_t samples = data_.samples->samples();
    const data::Samples& all = *data_.samples;
    plan_ = plan::make_evaluation_plan(decided(request_.resolved, machine_),
                                       {data_.vocab, samples, data_.tokens, all.fingerprint(), samples, sizes_of_evaluation(all)},
                                       most_per_rank);
    if (!request_.logits.empty()) count_logits();
    check_free_memory(request_, plan_, machine_);
    check_messages(plan_, machine_);
    session_.agree("program", program_facts(plan_));
    for (const base::Text& line : plan::describe(plan_, place_of(machine_.device))) say(request_, line);
  }

  // Those of a microbatch, fp32, are made by the last stage and received by rank 0; tp ranks hold their parts beside the whole.
  void count_logits() {
    const std::int64_t rows = plan_.largest_rows({}).M;
    const std::int64_t bytes = 4 * rows * plan_.model().vocab * (plan_.shape.tp > 1 ? 2 : 1);
    for (plan::Memory& grid_rank : plan_.memory) {
      grid_rank.activations += bytes;
      grid_rank.at_once += bytes;
      grid_rank.with_logits += bytes;
      grid_rank.in_operations += bytes;
    }
  }

  inference::Evaluation compute() {
    model::OnLogits on_logits;
    if (!request_.logits.empty()) {
      const executor::Place place{request_.identity.world_rank, plan_.shape,
                                  mesh::coordinate_of(plan_.shape, request_.identity.world_rank)};
      logits_ = std::make_unique<inference::LogitsFile>(plan_, *data_.samples, request_.logits, place, world());
      on_logits = [this](const tensor::Tensor& logits_MV) { logits_->take(watcher_.microbatch(), logits_MV); };
    }
    const auto sources = on_logits ? std::vector<data::SourcePart>() : data_.parts;
    inference::EvaluationRank rank(plan_, *data_.samples, sources, session_.channels(), *machine_.streams, watcher_,
                                   on_logits);
    session_.at(0, records::Activity::loading_weights);
    rank.load([&](const auto& wanted) { source_->load(plan_.model(), wanted, world()); });
    const inference::Evaluation result = rank.evaluate([this](const std::vector<shape::Range>& round) { round_done(round); });
    if (logits_ != nullptr) logits_->finish();
    return result;
  }

  void round_done(const std::vector<shape::Range>& microbatches) {
    if (logits_ != nullptr) logits_->round_done(microbatches);
    if (settings_.log.progress == config::Progress::none || base::monotonic_seconds() - told_seconds_ < 1) return;
    told_seconds_ = base::monotonic_seconds();
    say(request_, base::say("evaluated {} of {}", microbatches.back().end(), base::counted_text(data_.samples->samples(), "sample")));
  }

  comm::Channel& world() { return *session_.channels().world; }

  Session& session_;
  const EvaluationRequest& request_;
  const config::Settings& settings_;
  Watcher watcher_;
  Machine machine_;
  std::unique_ptr<weights::ModelSource> source_;
  data::OpenedSamples data_;
  plan::Plan plan_;
  std::unique_ptr<inference::LogitsFile> logits_;
  double told_seconds_ = base::monotonic_seconds();
};

}  // namespace

void make_private_folder(const std::string& path) {
  struct stat facts {};
  bool known = false;
  do {  // another rank of the run, which has failed, may remove the folder between the two calls
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) break;
    known = ::lstat(path.c_str(), &facts) == 0;
  } while (!known && errno == ENOENT);
  if (known && S_ISDIR(facts.st_mode) && facts.st_uid == ::geteuid() && (facts.st_mode & 077) == 0) return;
  throw base::ConfigError(base::say(
      "'{}' cannot be created as a private folder of this user: name another TMPDIR, or keep the tokenized data with --data.cache",
      path));
}

EvaluationResult evaluate(const EvaluationRequest& request) {
  check_request(request);
  EvaluationRequest quiet = request;
  quiet.resolved.settings.train.out.clear();  // nothing is left there
  EvaluationResult result;
  const int exit_code = in_session(quiet, [&](Session& session) { result = Run(session, quiet).run(); });
  result.exit_code = exit_code;
  return result;
}

}  // namespace troika::train
