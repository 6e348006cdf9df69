#include "host/nvidia.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/temporary_folder_test_support.h"

namespace troika::host {
namespace {

// A made-up /proc and /dev.
struct FakeDevices {
  FakeDevices(const std::string& name, const std::vector<std::string>& files)
      : root(base::temporary_folder() + "/nvidia/" + name) {
    base::remove_tree(root);
    base::make_directories(root + "/proc/driver/nvidia");
    base::make_directories(root + "/dev");
    for (const std::string& file : files) base::write_file_atomic(root + "/" + file, "");
  }
  NvidiaDriver driver() const { return nvidia_driver(root + "/proc", root + "/dev"); }
  std::optional<int> devices(const std::optional<std::string>& visible = std::nullopt) const {
    return nvidia_devices(visible, root + "/dev");
  }
  std::string root;
};

TEST(Nvidia, WithoutADriverThereIsNoDevice) {
  const FakeDevices machine("none", {"dev/null", "dev/nvram"});
  EXPECT_EQ(machine.driver(), NvidiaDriver::absent);
  EXPECT_EQ(machine.devices(), 0);
}

TEST(Nvidia, DevicesAreTheirNumberedFiles) {
  const FakeDevices machine("two", {"proc/driver/nvidia/version", "dev/nvidia0", "dev/nvidia1", "dev/nvidiactl",
                                    "dev/nvidia-uvm", "dev/nvidia-modeset"});
  EXPECT_EQ(machine.driver(), NvidiaDriver::loaded);
  EXPECT_EQ(machine.devices(), 2);
  EXPECT_EQ(machine.devices("1"), 1);
  EXPECT_EQ(machine.devices(""), 0);
}

TEST(Nvidia, TheDriverTellsItsVersion) {
  const FakeDevices machine("version", {"proc/driver/nvidia/version"});
  EXPECT_EQ(nvidia_driver_version(machine.root + "/proc"), std::nullopt);
  for (const char* module : {"x86_64 Kernel Module  ", "Open Kernel Module for x86_64  "}) {
    base::write_file_atomic(machine.root + "/proc/driver/nvidia/version",
                            std::string("NVRM version: NVIDIA UNIX ") + module +
                                "535.104.05  Sat Aug 19 01:15:15 UTC 2023\nGCC version:  gcc version 12.2.0 (Debian)\n");
    EXPECT_EQ(nvidia_driver_version(machine.root + "/proc"), 535);
  }
  EXPECT_EQ(nvidia_driver_version(machine.root + "/nowhere"), std::nullopt);
}

TEST(Nvidia, ADriverMayShowNoDevice) {
  const FakeDevices machine("driver alone", {"dev/nvidiactl"});
  EXPECT_EQ(machine.driver(), NvidiaDriver::loaded);
  EXPECT_EQ(machine.devices(), 0);
}

TEST(Nvidia, WindowsAndJetsonDoNotTellHowMany) {
  for (const char* file : {"dev/dxg", "dev/nvhost-ctrl-gpu"}) {
    const FakeDevices machine("unknown", {file});
    EXPECT_EQ(machine.driver(), NvidiaDriver::loaded) << file;
    EXPECT_EQ(machine.devices(), std::nullopt) << file;
    EXPECT_EQ(machine.devices("0"), std::nullopt) << file;
  }
}

TEST(Nvidia, VisibleDevicesEndAtTheFirstThatIsNone) {
  EXPECT_EQ(visible_devices(4, "0,1,2,3"), 4);
  EXPECT_EQ(visible_devices(4, " 3 , 1"), 2);
  EXPECT_EQ(visible_devices(2, "1,2,0"), 1);
  EXPECT_EQ(visible_devices(2, "-1,0"), 0);
  EXPECT_EQ(visible_devices(2, "NoDevFiles"), 0);
  EXPECT_EQ(visible_devices(1, "MIG-5f9b,MIG-77aa"), 2);
  EXPECT_EQ(visible_devices(8, "GPU-8932f937-d72c"), 1);
}

}  // namespace
}  // namespace troika::host
