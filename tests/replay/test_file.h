// SPDX-License-Identifier: Apache-2.0
//
// Files for the tests of the replay.

#ifndef PREFIXROUTE_TESTS_REPLAY_TEST_FILE_H_
#define PREFIXROUTE_TESTS_REPLAY_TEST_FILE_H_

#include <unistd.h>
#include <zlib.h>

#include <fstream>
#include <sstream>
#include <string>

#include "gtest/gtest.h"

namespace prefixroute::replay {

// A path that no other test uses, even of those that run at the same time.
inline std::string TestPath(const std::string& name) {
  const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
  return testing::TempDir() + "prefixroute_" + std::to_string(getpid()) + "_" + test->name() + "_" + name;
}

inline std::string WriteFile(const std::string& name, const std::string& content) {
  std::string path = TestPath(name);
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

inline std::string ReadFile(const std::string& path) {
  std::ostringstream content;
  content << std::ifstream(path, std::ios::binary).rdbuf();
  return content.str();
}

inline std::string WriteGzip(const std::string& name, const std::string& content) {
  std::string path = TestPath(name);
  gzFile file = gzopen(path.c_str(), "wb1");
  EXPECT_EQ(gzwrite(file, content.data(), static_cast<unsigned>(content.size())), static_cast<int>(content.size()));
  EXPECT_EQ(gzclose(file), Z_OK);
  return path;
}

}  // namespace prefixroute::replay

#endif  // PREFIXROUTE_TESTS_REPLAY_TEST_FILE_H_
