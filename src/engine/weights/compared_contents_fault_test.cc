#include <gmock/gmock.h>

#include "base/error.h"
#include "base/file.h"
#include "base/mapping_guard.h"
#include "base/temporary_folder_test_support.h"
#include "weights/adapter_test_support.h"
#include "weights/folder_source.h"
#include "weights/weights_folder.h"

namespace troika::weights {
namespace {
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing_support::errors_of_ranks;

// Copies of one model, each on a disk of its own as far as the ranks can see.
class Copies : public testing::Test {
 protected:
  Copies() {
    for (const char* copy : {"/a", "/b", "/c"}) testing_support::write_model(folder_.path() + copy, model_);
  }
  // The copy of each rank by its name.
  std::vector<std::string> errors(const std::string& of_ranks) const {
    return errors_of_ranks(static_cast<int>(of_ranks.size()), [&](comm::Channel& world) {
      open_model(folder_.path() + "/" + of_ranks[static_cast<std::size_t>(world.rank())], world);
    });
  }
  std::string file(const char* copy) const { return folder_.path() + "/" + copy + "/model.safetensors"; }
  // A byte near the begin of a tensor, where the fingerprint does not look.
  void flip(const char* copy, const std::string& tensor) const {
    std::int64_t at = 0;
    {
      const WeightsFolder weights(folder_.path() + "/" + copy);
      at = weights.tensors().at(tensor).begin + 2;
    }
    std::string bytes = base::read_file(file(copy));
    bytes[static_cast<std::size_t>(at)] = static_cast<char>(bytes[static_cast<std::size_t>(at)] ^ 1);
    base::write_file_atomic(file(copy), bytes);
  }

  const base::TemporaryFolder folder_;
  const config::ModelSettings model_ = testing_support::tiny_llama();
};

TEST_F(Copies, OfWhichOneHasAFlippedByteAreToldApartWithTensorAndPlace) {
  EXPECT_THAT(errors("abca"), Each(""));
  const std::string tensor = "model.layers.1.mlp.down_proj.weight";
  flip("b", tensor);
  for (const std::string of_ranks : {"ab", "aabb", "abca"}) {
    const auto told = AllOf(HasSubstr("tensor '" + tensor + "' differs on rank"), HasSubstr("between bytes"),
                            HasSubstr(file("b")), HasSubstr("copy one folder to all hosts"));
    EXPECT_THAT(errors(of_ranks), Each(told)) << of_ranks;
  }
}

TEST_F(Copies, AreBlamedByTheMost) {
  flip("a", "model.layers.0.mlp.up_proj.weight");
  EXPECT_THAT(errors("abc"), Each(AllOf(HasSubstr("on rank 0's host"), HasSubstr("most of the 2 others"))));
}

TEST_F(Copies, ThatAllRanksSeeAreNotReadAsAWhole) {
  flip("b", "model.layers.0.mlp.up_proj.weight");
  EXPECT_THAT(errors("bbb"), Each(""));
}

}  // namespace
}  // namespace troika::weights
