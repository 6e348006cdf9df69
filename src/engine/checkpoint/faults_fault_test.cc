// Damage, interruption and bad input: noticed, named, and the last good checkpoint is used.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>

#include "base/error.h"
#include "base/file.h"
#include "checkpoint/layouts_test_support.h"
#include "comm/channel.h"
#include "tensor/libtorch_test_support.h"

namespace troika::checkpoint {
using namespace testing_support;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

// Three hosts without a shared disk, with the checkpoints of steps 10 and 20.
class Damage : public testing::Test {
 protected:
  void SetUp() override {
    for (int i = 0; i < 3; ++i) roots_.push_back(fresh_folder("host" + std::to_string(i)) + "/checkpoints");
    save_all(roots_, 3, 10, Cut::whole, Cut::flat);
    save_all(roots_, 3, 20, Cut::flat, Cut::whole);
  }
  std::string at(int host, const std::string& file) const {
    return roots_[static_cast<std::size_t>(host)] + "/step-00000020/" + file;
  }
  // Step 10 must be used and every rank must say why not 20.
  void expect_fallback(const std::string& reason) const {
    expect_loads(roots_, 3, Cut::columns, 10);
    run_ranks(3, [&](comm::Channel& world) {
      const auto found = find_newest(roots_[static_cast<std::size_t>(world.rank())], world);
      ASSERT_TRUE(found.has_value());
      ASSERT_EQ(found->rejected.size(), 1U);
      EXPECT_THAT(found->rejected[0].english, testing::AllOf(testing::StartsWith("step-00000020: "), HasSubstr(reason)));
    });
  }
  void for_each_manifest(const std::function<void(const std::string& path)>& damage) const {
    for (int host = 0; host < 3; ++host) damage(at(host, "manifest.json"));
  }
  std::vector<std::string> roots_;
};

static void flip_byte(const std::string& path, std::size_t position) {
  std::string content = base::read_file(path);
  content[position] = static_cast<char>(content[position] ^ 1);
  base::write_file_atomic(path, content);
}

TEST_F(Damage, NewestIsUsedWhenNothingIsWrong) { expect_loads(roots_, 3, Cut::columns, 20); }

TEST_F(Damage, DeathBetweenPartsAndManifest) {
  for_each_manifest([](const std::string& path) { base::remove_tree(path); });
  expect_fallback("the manifest is missing");
}

// The folders of the other disks have their names before rank 0's has.
TEST_F(Damage, DeathBeforeTheLastRenameIsASaveThatNeverWas) {
  for_each_manifest([](const std::string& path) { base::remove_tree(path); });
  base::rename_path(at(0, ""), roots_[0] + "/step-00000020.partial");
  run_ranks(3, [&](comm::Channel& world) {
    const auto found = find_newest(roots_[static_cast<std::size_t>(world.rank())], world);
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->facts.step, 10);
    EXPECT_TRUE(found->rejected.empty());
  });
  for (const std::string& root : roots_) base::remove_tree(root + "/step-00000010");
  run_ranks(3, [&](comm::Channel& world) {
    std::vector<base::Text> rejected;
    EXPECT_FALSE(find_newest(roots_[static_cast<std::size_t>(world.rank())], world, &rejected).has_value());
    EXPECT_TRUE(rejected.empty()) << "there is nothing to repair, so a run begins";
  });
  save_all(roots_, 3, 20, Cut::flat, Cut::whole);
  expect_loads(roots_, 3, Cut::columns, 20);
}

TEST_F(Damage, OneHostsManifestIsEnough) {
  base::remove_tree(at(0, "manifest.json"));
  flip_byte(at(1, "manifest.json"), 100);
  expect_loads(roots_, 3, Cut::columns, 20);
}

TEST_F(Damage, TruncatedPart) {
  const std::string part = at(1, "model/model-00002-of-00003.safetensors");
  base::write_file_atomic(part, base::read_file(part).substr(0, 500));
  expect_fallback("part model/model-00002-of-00003.safetensors is damaged (500 bytes instead of ");
}

TEST_F(Damage, FlippedByteInAnyPart) {
  const std::string part = at(2, "state/state-00003-of-00003.safetensors");
  flip_byte(part, base::read_file(part).size() - 1);
  expect_fallback("part state/state-00003-of-00003.safetensors is damaged (its hash differs) on rank 2's disk");
}

TEST_F(Damage, MissingPart) {
  base::remove_tree(at(1, "state/state-00002-of-00003.safetensors"));
  expect_fallback("part state/state-00002-of-00003.safetensors is missing; it was written on ");
}

TEST_F(Damage, DamagedManifest) {
  for_each_manifest([](const std::string& path) { flip_byte(path, base::read_file(path).find("seed: 7") + 6); });
  expect_fallback("its own hash differs");
}

TEST_F(Damage, TruncatedManifest) {
  for_each_manifest(
      [](const std::string& path) { base::write_file_atomic(path, base::read_file(path).substr(0, 100)); });
  expect_fallback("not valid JSON");
}

TEST_F(Damage, NothingLeftIsNothingFoundWithTheReasons) {
  for (const std::string& root : roots_) {
    for (const char* step : {"/step-00000010/", "/step-00000020/"}) base::remove_tree(root + step + "manifest.json");
  }
  run_ranks(3, [&](comm::Channel& world) {
    std::vector<base::Text> rejected;
    EXPECT_FALSE(find_newest(roots_[static_cast<std::size_t>(world.rank())], world, &rejected).has_value());
    EXPECT_EQ(rejected.size(), 2U);
  });
}

TEST_F(Damage, NamedFolderThatIsDamagedIsAnErrorOnAllRanks) {
  flip_byte(at(0, "state/state-00001-of-00003.safetensors"), 300);
  const auto errors = errors_of_ranks(3, [&](comm::Channel& world) { open_at(at(world.rank(), ""), world); });
  EXPECT_THAT(errors, Each(HasSubstr("state-00001-of-00003.safetensors is damaged")));
}

TEST_F(Damage, GoodCopyOnAnotherDiskStandsInForADamagedOne) {
  const std::string part = "model/model-00002-of-00003.safetensors";
  base::write_file_atomic(at(0, part), base::read_file(at(1, part)));
  flip_byte(at(1, part), 2000);
  expect_loads(roots_, 3, Cut::columns, 20);
}

TEST_F(Damage, LeftoversOfADeadSaveAreReplacedAndOtherUnfinishedOnesRemoved) {
  for (const std::string& root : roots_) {
    base::make_directories(root + "/step-00000025.partial/model");
    base::make_directories(root + "/step-00000030.partial/model");
    base::write_file_atomic(root + "/step-00000030.partial/model/model-00001-of-00009.safetensors", "half");
    base::append_file(root + "/.disk-00000-00", "");
  }
  save_all(roots_, 3, 30, Cut::flat, Cut::flat);
  EXPECT_THAT(base::list_directory(roots_[1]), ElementsAre("step-00000020", "step-00000030"));
  EXPECT_THAT(base::list_directory(roots_[1] + "/step-00000030/model"),
              ElementsAre("config.json", "model-00002-of-00003.safetensors", "model.safetensors.index.json"));
  expect_loads(roots_, 3, Cut::columns, 30);
}

TEST_F(Damage, LaterStepsAreSetAsideSoThatTheStepJustSavedIsTheNewest) {
  for (int twice = 0; twice < 2; ++twice) {
    save_all(roots_, 3, 20, Cut::flat, Cut::whole);
    save_all(roots_, 3, 15, Cut::flat, Cut::flat);
    for (const std::string& root : roots_)
      EXPECT_THAT(base::list_directory(root), ElementsAre("step-00000010", "step-00000015", "step-00000020.left"));
    expect_loads(roots_, 3, Cut::columns, 15);
    run_ranks(3, [&](comm::Channel& world) {
      const std::string& root = roots_[static_cast<std::size_t>(world.rank())];
      EXPECT_EQ(open_at(root + "/step-00000020.left", world).facts.step, 20);
    });
    for (const std::string& root : roots_) base::remove_tree(root + "/step-00000015");
  }
}

TEST_F(Damage, SavingTheSameStepAgainReplacesIt) {
  save_all(roots_, 2, 20, Cut::columns, Cut::columns);  // host 2 keeps its old part and is not asked
  expect_loads({roots_[0], roots_[1]}, 2, Cut::whole, 20);
  expect_loads(roots_, 3, Cut::whole, 20);  // back with an old part, which does not fit the manifest
}

TEST(Saving, KeepsTheNewestAndAlwaysThisOne) {
  const std::string root = fresh_folder("run") + "/checkpoints";
  for (const std::int64_t step : {10, 20, 30, 40})
    run_ranks(2, [&](comm::Channel& world) {
      SaveRequest request = request_for(root, step, Cut::whole, Cut::whole, world);
      request.keep = step == 40 ? 0 : 3;
      save(request, world);
      const std::size_t expected = step == 30 ? 3 : step == 40 ? 1 : static_cast<std::size_t>(step / 10);
      EXPECT_EQ(base::list_directory(root).size(), expected);
    });
  EXPECT_THAT(base::list_directory(root), ElementsAre("step-00000040"));
}

TEST(Saving, ProtectedStepsStayBesidesTheNewest) {
  const std::string root = fresh_folder("run") + "/checkpoints";
  for (const std::int64_t step : {10, 20, 30, 40, 50})
    run_ranks(2, [&](comm::Channel& world) {
      SaveRequest request = request_for(root, step, Cut::whole, Cut::whole, world);
      request.keep = 1;
      request.protect = {step == 50 ? std::int64_t{30} : std::int64_t{10}, 30, 70};
      save(request, world);
    });
  EXPECT_THAT(base::list_directory(root), ElementsAre("step-00000030", "step-00000050"));
}

TEST(Saving, UnfinishedOnesDoNotCountAsKept) {
  const std::string root = fresh_folder("run") + "/checkpoints";
  for (const std::int64_t step : {10, 20, 30}) {
    save_all({root}, 2, step, Cut::whole, Cut::whole);  // keeps 2
    if (step == 20) base::remove_tree(root + "/step-00000020/manifest.json");
  }
  EXPECT_THAT(base::list_directory(root), ElementsAre("step-00000010", "step-00000020", "step-00000030"));
}

TEST(Saving, DiskErrorIsReportedOnAllRanksAndNoManifestAppears) {
  const std::string good = fresh_folder("good") + "/checkpoints", bad = fresh_folder("bad") + "/checkpoints";
  base::write_file_atomic(bad, "a file where the folder should be");
  const auto errors = errors_of_ranks(3, [&](comm::Channel& world) {
    save(request_for(world.rank() == 1 ? bad : good, 10, Cut::flat, Cut::flat, world), world);
  });
  EXPECT_THAT(errors, Each(testing::AllOf(testing::StartsWith("rank 1 on "), HasSubstr("cannot create folder"),
                                          HasSubstr(bad))));
  EXPECT_FALSE(base::file_exists(good + "/step-00000010/manifest.json"));
}

// Rank 1's disk fails; what the others have written would take the room of later saves.
TEST(Saving, WhatAFailedSaveHasWrittenIsRemovedFromEveryDisk) {
  std::vector<std::string> roots;
  for (int host = 0; host < 3; ++host) roots.push_back(fresh_folder("host" + std::to_string(host)) + "/checkpoints");
  save_all(roots, 3, 10, Cut::flat, Cut::flat);
  for (const std::string& root : roots)
    base::make_directories(root + "/step-00000015.partial/model");  // of a killed one
  const std::string long_name(300, 'x');                            // no file may have it
  const auto errors = errors_of_ranks(3, [&](comm::Channel& world) {
    SaveRequest request = request_for(roots[static_cast<std::size_t>(world.rank())], 20, Cut::flat, Cut::flat, world);
    if (world.rank() == 1) request.model_files = {{long_name, "{}"}};
    save(request, world);
  });
  EXPECT_THAT(errors, Each(testing::AllOf(testing::StartsWith("rank 1 on "), HasSubstr(long_name))));
  for (const std::string& root : roots)
    for (const char* partial : {"/step-00000015.partial", "/step-00000020.partial"})
      EXPECT_TRUE(base::list_directory(root + partial).empty()) << root << partial;
  expect_loads(roots, 3, Cut::whole, 10);
}

TEST(Saving, EveryDiskGetsTheManifestAndAllFilesOfTheModelFolderThatHoldNoTensors) {
  const std::vector<std::string> roots{fresh_folder("host0") + "/checkpoints", fresh_folder("host1") + "/checkpoints"};
  run_ranks(4, [&](comm::Channel& world) {  // two ranks on each host
    SaveRequest request =
        request_for(roots[static_cast<std::size_t>(world.rank() / 2)], 10, Cut::whole, Cut::flat, world);
    request.model_files = {{"chat_template.jinja", "{{ messages }}"}, {"tokenizer.json", "{}"}};
    save(request, world);
  });
  for (const std::string file : {"manifest.json", "model/config.json", "model/model.safetensors.index.json",
                                 "model/chat_template.jinja", "model/tokenizer.json"}) {
    const std::string path = "/step-00000010/" + file;
    EXPECT_EQ(base::read_file(roots[0] + path), base::read_file(roots[1] + path)) << file;
  }
  EXPECT_EQ(base::read_file(roots[1] + "/step-00000010/model/tokenizer.json"), "{}");
  EXPECT_THAT(base::read_file(roots[1] + "/step-00000010/manifest.json"),
              testing::AllOf(HasSubstr("model/tokenizer.json"), HasSubstr(base::hash_bytes("{}"))));
}

// A limit on file sizes makes the write fail in the middle of a part, as a full disk does.
TEST(Saving, FullDiskWhileWritingAPartLeavesTheLastCheckpointInUse) {
  const std::string root = fresh_folder("run") + "/checkpoints";
  save_all({root}, 2, 10, Cut::flat, Cut::flat);
  rlimit old{}, small{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  small = {600, old.rlim_max};
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto errors = errors_of_ranks(
      2, [&](comm::Channel& world) { save(request_for(root, 20, Cut::flat, Cut::flat, world), world); });
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &old), 0);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_THAT(errors, Each(testing::AllOf(HasSubstr("cannot write"), HasSubstr("files here may have at most 600 B"))));
  expect_loads({root}, 3, Cut::whole, 10);
}

TEST(Saving, SlicesThatDoNotCoverATensorAreOurBugOnAllRanks) {
  const std::string root = fresh_folder("run");
  const auto try_to_save = [&](const std::function<void(SaveRequest&)>& spoil) {
    return errors_of_ranks(2, [&](comm::Channel& world) {
      SaveRequest request = request_for(root, 10, Cut::flat, Cut::flat, world);
      if (world.rank() == 1) spoil(request);
      save(request, world);
    });
  };
  EXPECT_THAT(try_to_save([](SaveRequest& r) { r.weights.erase(r.weights.begin()); }),
              Each(HasSubstr("222 of the 444 elements")));
  EXPECT_THAT(try_to_save([](SaveRequest& r) { r.weights[0].region.offset -= 1; }),
              Each(HasSubstr("both save 1 elements")));
  EXPECT_THAT(try_to_save([](SaveRequest& r) { r.weights[0].shape = {12, 37}; }), Each(HasSubstr("has shape")));
  EXPECT_THAT(
      try_to_save([](SaveRequest& r) { r.weights[0].data = tensor::theirs(r.weights[0].data).to(at::kDouble); }),
      Each(HasSubstr("not a contiguous fp32 vector")));
  EXPECT_FALSE(base::directory_exists(root + "/step-00000010"));
}

TEST(Loading, WrongNamesAndShapesAreErrorsOnAllRanks) {
  const std::string root = fresh_folder("run");
  save_all({root}, 2, 10, Cut::whole, Cut::flat);
  const auto try_to_load = [&](const std::string& name, const std::vector<std::int64_t>& shape) {
    return errors_of_ranks(2, [&](comm::Channel& world) {
      const std::int64_t numel = element_count(shape);
      std::vector<Slice> wanted;
      if (world.rank() == 1) wanted.push_back({name, shape, {0, numel, numel, 1}, at::empty({numel}, at::kFloat)});
      load(*find_newest(root, world), wanted, world);
    });
  };
  EXPECT_THAT(try_to_load("model.norm.wait", {1}),
              Each(HasSubstr("no tensor 'model.norm.wait' (the nearest is 'model.norm.weight')")));
  EXPECT_THAT(try_to_load("model.embed_tokens.weight", {40, 12}),
              Each(HasSubstr("[37, 12] in the checkpoint and [40, 12]")));
}

TEST(Opening, SingleProcessFindsARunACheckpointsFolderOrAStep) {
  const std::string run = fresh_folder("run"), root = run + "/checkpoints";
  save_all({root}, 3, 10, Cut::whole, Cut::flat);
  save_all({root}, 2, 20, Cut::flat, Cut::whole);
  const auto self = comm::make_self_channel("self");
  EXPECT_EQ(open_any(run, *self).facts.step, 20);
  EXPECT_EQ(open_any(run + "/", *self).path, root + "/step-00000020");
  EXPECT_EQ(open_any(root, *self).facts.step, 20);
  EXPECT_EQ(open_any(root + "/step-00000010/", *self).facts.step, 10);
  EXPECT_EQ(open_any(root + "/step-00000010", *self).facts.settings_yaml, "seed: 7\n");
  EXPECT_EQ(open_any(run, *self).parts.size(), 4U);
  EXPECT_EQ(open_any(run, *self).facts.extra.at("tokens_seen"), "2000");
  EXPECT_THROW(open_any(run + "/nowhere", *self), base::DataError);
  EXPECT_THROW(open_any(root + "/step-00000010/model", *self), base::DataError);
}

TEST(Opening, CheckpointOnAReadOnlyDiskOpens) {
  const std::string root = fresh_folder("run");
  save_all({root}, 2, 10, Cut::whole, Cut::flat);
  ::chmod(root.c_str(), 0555);
  expect_loads({root}, 2, Cut::flat, 10);
  ::chmod(root.c_str(), 0755);
}

}  // namespace troika::checkpoint
