// SPDX-License-Identifier: Apache-2.0
//
// For tests: bytes behind which, and before which, there is no memory, so that whoever reads there dies.

#ifndef PREFIXROUTE_TESTS_PAYLOAD_GUARDED_H_
#define PREFIXROUTE_TESTS_PAYLOAD_GUARDED_H_

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace prefixroute {

class Guarded {
 public:
  explicit Guarded(size_t max_bytes) : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))) {
    size_ = (max_bytes + page_ - 1) / page_ * page_ + 2 * page_;
    void* const memory = mmap(nullptr, size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    memory_ = static_cast<char*>(memory);
    if (mprotect(memory_ + page_, size_ - 2 * page_, PROT_READ | PROT_WRITE) != 0) std::abort();
  }
  ~Guarded() { munmap(memory_, size_); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  // A copy of `bytes` that ends where the memory ends.
  std::string_view AtEnd(std::string_view bytes) {
    char* const at = memory_ + size_ - page_ - bytes.size();
    if (!bytes.empty()) std::memcpy(at, bytes.data(), bytes.size());
    return {at, bytes.size()};
  }

 private:
  size_t page_;
  size_t size_;
  char* memory_;
};

}  // namespace prefixroute

#endif  // PREFIXROUTE_TESTS_PAYLOAD_GUARDED_H_
