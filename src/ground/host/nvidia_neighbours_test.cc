#include "host/nvidia.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include "base/file.h"
#include "base/temporary_folder_test_support.h"

namespace troika::host {
namespace {
using testing::ElementsAre;
using testing::IsEmpty;

// A made-up /proc and /sys: devices are folders of a PCI tree, and links lead to them.
class FakeMachine {
 public:
  explicit FakeMachine(const std::string& name) : root_(base::temporary_folder() + "/neighbours/" + name) {
    base::remove_tree(root_);
    for (const char* folder : {"/proc/driver/nvidia", "/sys/bus/pci/devices", "/sys/class"})
      base::make_directories(root_ + folder);
  }

  void gpu(const std::string& branch, const std::string& address, const std::string& cores, const std::string& node,
           const std::string& id = "") const {
    const std::string folder = device(branch, node);
    base::write_file_atomic(folder + "/local_cpulist", cores + "\n");
    link(folder, "/sys/bus/pci/devices/" + address);
    base::make_directories(root_ + "/proc/driver/nvidia/gpus/" + address);
    base::write_file_atomic(root_ + "/proc/driver/nvidia/gpus/" + address + "/information",
                            "Model: \t\t NVIDIA H200\nGPU UUID: \t " + id + "\nDevice Minor: \t 0\n");
  }
  void nic(const std::string& kind, const std::string& name, const std::string& branch, const std::string& node) const {
    base::make_directories(root_ + "/sys/class/" + kind + "/" + name);
    link(device(branch, node), "/sys/class/" + kind + "/" + name + "/device");
  }
  void interface_without_device(const std::string& name) const {
    base::make_directories(root_ + "/sys/class/net/" + name);
  }

  std::vector<NvidiaNeighbours> neighbours(const std::optional<std::string>& visible = std::nullopt) const {
    return nvidia_neighbours(visible, root_ + "/proc", root_ + "/sys");
  }

 private:
  std::string device(const std::string& branch, const std::string& node) const {
    const std::string folder = root_ + "/sys/devices/" + branch;
    base::make_directories(folder);
    base::write_file_atomic(folder + "/numa_node", node + "\n");
    return folder;
  }
  void link(const std::string& to, const std::string& from) const {
    ASSERT_EQ(::symlink(to.c_str(), (root_ + from).c_str()), 0);
  }

  const std::string root_;
};

FakeMachine two_sockets(const std::string& name) {
  FakeMachine machine(name);
  machine.gpu("pci0000:17/0000:17:01.0/0000:1b:00.0", "0000:1b:00.0", "0-3,8-11", "0", "GPU-aaaa-1");
  machine.gpu("pci0000:c9/0000:c9:01.0/0000:cb:00.0", "0000:cb:00.0", "4-7,12-15", "1", "GPU-bbbb-2");
  return machine;
}

TEST(NvidiaNeighbours, AreTheCoresOfTheNodeAndTheNicOfTheBranch) {
  const FakeMachine machine = two_sockets("infiniband");
  machine.nic("infiniband", "mlx5_0", "pci0000:17/0000:17:01.0/0000:1c:00.0", "0");
  machine.nic("infiniband", "mlx5_1", "pci0000:17/0000:17:02.0/0000:1d:00.0", "0");
  machine.nic("infiniband", "mlx5_2", "pci0000:c9/0000:c9:01.0/0000:cc:00.0", "1");
  machine.nic("net", "eth0", "pci0000:17/0000:17:01.0/0000:1e:00.0", "0");
  const auto found = machine.neighbours();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].address, "0000:1b:00.0");
  EXPECT_EQ(found[0].model, "NVIDIA H200");
  EXPECT_THAT(found[0].cores, ElementsAre(0, 1, 2, 3, 8, 9, 10, 11));
  EXPECT_THAT(found[0].nics, ElementsAre("mlx5_0"));
  EXPECT_THAT(found[1].cores, ElementsAre(4, 5, 6, 7, 12, 13, 14, 15));
  EXPECT_THAT(found[1].nics, ElementsAre("mlx5_2"));
  EXPECT_EQ(describe(found[1]).english, "GPU 0000:cb:00.0, cores 4-7,12-15, network mlx5_2");
}

TEST(NvidiaNeighbours, WithoutInfiniBandAreInterfacesAndWithoutACommonRootThoseOfTheNode) {
  const FakeMachine machine = two_sockets("ethernet");
  machine.nic("net", "eth0", "pci0000:17/0000:17:05.0/0000:30:00.0", "0");
  machine.nic("net", "eth1", "pci0000:e0/0000:e0:05.0/0000:e1:00.0", "1");
  machine.interface_without_device("lo");
  const auto found = machine.neighbours();
  EXPECT_THAT(found[0].nics, ElementsAre("eth0"));
  EXPECT_THAT(found[1].nics, ElementsAre("eth1"));
}

TEST(NvidiaNeighbours, FollowTheVariableOfVisibleDevices) {
  const FakeMachine machine = two_sockets("visible");
  const auto addresses = [&](const std::string& visible) {
    std::vector<std::string> all;
    for (const NvidiaNeighbours& device : machine.neighbours(visible)) all.push_back(device.address);
    return all;
  };
  EXPECT_THAT(addresses("1,0"), ElementsAre("0000:cb:00.0", "0000:1b:00.0"));
  EXPECT_THAT(addresses("GPU-bbbb"), ElementsAre("0000:cb:00.0"));
  EXPECT_THAT(addresses("0,7,1"), ElementsAre("0000:1b:00.0"));
  EXPECT_THAT(addresses("MIG-cccc"), IsEmpty());
  EXPECT_THAT(addresses(""), IsEmpty());
}

TEST(NvidiaNeighbours, OfAMachineThatDoesNotTellAreNone) {
  const FakeMachine nothing("nothing");
  EXPECT_THAT(nothing.neighbours(), IsEmpty());
  const FakeMachine machine("bare");
  machine.gpu("pci0000:17/0000:1b:00.0", "0000:1b:00.0", "what", "-1");
  const auto found = machine.neighbours();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0].cores, IsEmpty());
  EXPECT_THAT(found[0].nics, IsEmpty());
  EXPECT_EQ(describe(found[0]).english, "GPU 0000:1b:00.0, no particular cores, no nearby network device");
}

TEST(ParseCores, ReadsRangesAndRefusesTheRest) {
  EXPECT_THAT(parse_cores("0-2,7,4-5\n"), ElementsAre(0, 1, 2, 4, 5, 7));
  EXPECT_THAT(parse_cores("3"), ElementsAre(3));
  for (const char* wrong : {"", "a", "3-1", "1-", "-2", "1,,2", "1-99999999"})
    EXPECT_THAT(parse_cores(wrong), IsEmpty()) << wrong;
}

}  // namespace
}  // namespace troika::host
